"""Users may not change the annotations of Machine sync, because other policies and its decisions rely on them.

On UPDATE of an object that has the sync finalizer or the annotation authoritative-api, annotations under
`sync.machine.openshift.io/` may not change. They may all be removed together with the finalizer: that releases the
object before Machine sync is uninstalled.

The other policies no longer protect a released mirror: if it is unpaused, two controllers act on one instance. So
releasing needs its own right, the verb `release` on the object. No role of OpenShift or Kubernetes names it; only
cluster administrators have it, because they may do everything.
"""

from collections.abc import Iterable
from typing import Final

from windlass.api import capi, mapi
from windlass.api.meta import KubernetesObject
from windlass.capability.manifests.cel import literal, metadata_variables, unchanged
from windlass.capability.manifests.policy import Policy, Rule
from windlass.machine_sync.constants import AUTHORITY_ANNOTATION, SYNC_FINALIZER, Namespaces

RELEASE: Final = "release"
"""The verb that RBAC must allow a user who removes our annotations from an object."""

_RECORD: Final = f"k.startsWith({literal(AUTHORITY_ANNOTATION.partition('/')[0] + '/')})"
_FINALIZER: Final = literal(SYNC_FINALIZER)

_HELD: Final = (
    f"{_FINALIZER} in oldObject.metadata.?finalizers.orValue([]) ||\n"
    f"{literal(AUTHORITY_ANNOTATION)} in oldObject.metadata.?annotations.orValue({{}})"
)
_UNCHANGED: Final = unchanged("variables.annotations", "variables.oldAnnotations", where=_RECORD)
_RELEASED: Final = (
    f"!({_FINALIZER} in object.metadata.?finalizers.orValue([])) && !variables.annotations.exists(k, {_RECORD}) &&\n"
    f"  authorizer.requestResource.check({literal(RELEASE)}).allowed()"
)
MESSAGE: Final = (
    "Cannot add, modify or delete any sync.machine.openshift.io/* annotation. This is because Machine sync keeps its "
    f"own record there; to release the object, which needs the right to {RELEASE} it, remove all of them together with "
    f"the finalizer {SYNC_FINALIZER}."
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
            rules=(Rule(f"({_UNCHANGED}) ||\n({_RELEASED})", MESSAGE),),
        )
        for name, namespace, kinds in sides
    )
