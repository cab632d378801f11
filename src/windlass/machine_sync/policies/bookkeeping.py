"""What Machine sync writes down on an object is its own: other policies, and its next decision, take it for true.

On UPDATE of an object that has the sync finalizer or the annotation authoritative-api, annotations under
`sync.machine.openshift.io/` stay as they are. They may all go together with the finalizer: that is how machines are
let go before Machine sync is uninstalled.
"""

from collections.abc import Iterable
from typing import Final

from windlass.api import capi, mapi
from windlass.api.meta import KubernetesObject
from windlass.machine_sync.constants import AUTHORITY_ANNOTATION, SYNC_FINALIZER, Namespaces
from windlass.machine_sync.policies.cel import literal, metadata_variables, unchanged
from windlass.machine_sync.policies.policy import Policy, Rule

_RECORD: Final = f"k.startsWith({literal(AUTHORITY_ANNOTATION.partition('/')[0] + '/')})"
_FINALIZER: Final = literal(SYNC_FINALIZER)

_HELD: Final = (
    f"{_FINALIZER} in oldObject.metadata.?finalizers.orValue([]) ||\n"
    f"{literal(AUTHORITY_ANNOTATION)} in oldObject.metadata.?annotations.orValue({{}})"
)
_UNCHANGED: Final = unchanged("variables.annotations", "variables.oldAnnotations", where=_RECORD)
_LET_GO: Final = (
    f"!({_FINALIZER} in object.metadata.?finalizers.orValue([])) && !variables.annotations.exists(k, {_RECORD})"
)
MESSAGE: Final = (
    "Cannot add, modify or delete any sync.machine.openshift.io/* annotation. This is because Machine sync keeps its "
    f"own record there; to release the object remove all of them together with the finalizer {SYNC_FINALIZER}."
)


def policies(
    namespaces: Namespaces, *, infra_machines: Iterable[type[KubernetesObject]], exempt: tuple[str, ...]
) -> tuple[Policy, ...]:
    """One for each namespace. `infra_machines`: the kinds of the platforms."""
    sides: tuple[tuple[str, str, tuple[type[KubernetesObject], ...]], ...] = (
        ("machine-api-sync-annotations", namespaces.machine_api, (mapi.Machine, mapi.MachineSet)),
        ("cluster-api-sync-annotations", namespaces.cluster_api, (capi.Machine, capi.MachineSet, *infra_machines)),
    )
    return tuple(
        Policy(
            name=name,
            kinds=kinds,
            namespace=namespace,
            exempt=exempt,
            when={"is-held": _HELD},
            variables=metadata_variables(),
            rules=(Rule(f"({_UNCHANGED}) ||\n({_LET_GO})", MESSAGE),),
        )
        for name, namespace, kinds in sides
    )
