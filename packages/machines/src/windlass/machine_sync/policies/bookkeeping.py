"""Users may not change the annotations of Machine sync, because other policies and its decisions rely on them.

Machine sync and these policies believe annotations only on an object that has the sync finalizer. On UPDATE:

| object had the finalizer | users may not |
|---|---|
| yes | change annotations under `sync.machine.openshift.io/`, or remove the finalizer |
| no | add or change such annotations, or add the finalizer: the object would look like a mirror of ours |

The API's controllers may change finalizers: OpenShift's operator adds this one, and others write the whole list.

Everything may be removed in one request: that releases the object before Machine sync is uninstalled. The other
policies no longer protect a released mirror: if it is unpaused, two controllers act on one instance. So releasing needs
its own right, the verb `release` on the object, and so does each of the changes above. No role of OpenShift or
Kubernetes names it; only cluster administrators have it, because they may do everything.
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

_HAD_IT: Final = f"{_FINALIZER} in oldObject.metadata.?finalizers.orValue([])"
_HAS_IT: Final = f"{_FINALIZER} in object.metadata.?finalizers.orValue([])"
_CONCERNED: Final = f"{_HAD_IT} ||\n{_HAS_IT} ||\nobject.metadata.?annotations.orValue({{}}).exists(k, {_RECORD})"
_UNCHANGED: Final = unchanged("variables.annotations", "variables.oldAnnotations", where=_RECORD)
_NOTHING_ADDED: Final = (
    f"variables.annotations.filter(k, {_RECORD}).all(k, variables.oldAnnotations[?k] == optional.of("
    "variables.annotations[k]))"
)
_MAY_RELEASE: Final = f"authorizer.requestResource.check({literal(RELEASE)}).allowed()"
_RELEASED: Final = f"!({_HAS_IT}) && !variables.annotations.exists(k, {_RECORD}) &&\n  {_MAY_RELEASE}"
MESSAGE: Final = (
    "Cannot add, modify or delete any sync.machine.openshift.io/* annotation. This is because Machine sync keeps its "
    f"own record there; to release the object, which needs the right to {RELEASE} it, remove all of them together with "
    f"the finalizer {SYNC_FINALIZER}."
)
KEPT_FINALIZER: Final = (
    f"Cannot remove the finalizer {SYNC_FINALIZER}. This is because Machine sync removes it when the mirror is cleaned "
    f"up; to release the object, which needs the right to {RELEASE} it, remove it together with all "
    "sync.machine.openshift.io/* annotations."
)
FORGED: Final = (
    f"Cannot add any sync.machine.openshift.io/* annotation or the finalizer {SYNC_FINALIZER}. This is because the "
    "object would look like a mirror of Machine sync, which nobody else may change; only Machine sync adds them."
)


def policies(
    namespaces: Namespaces,
    *,
    infra_machines: Iterable[type[KubernetesObject]],
    exempt: tuple[str, ...],
    exempt_holders: tuple[str, ...],
) -> tuple[Policy, ...]:
    """One for each namespace. `infra_machines`: the kinds of the platforms. `exempt_holders`: users who may add and
    remove the finalizer."""
    sides: tuple[tuple[str, str, tuple[type[KubernetesObject], ...]], ...] = (
        ("machine-api-sync-annotations", namespaces.machine_api, (mapi.Machine, mapi.MachineSet)),
        ("cluster-api-sync-annotations", namespaces.cluster_api, (capi.Machine, capi.MachineSet, *infra_machines)),
    )
    variables = {**metadata_variables(), "holds": f"request.userInfo.username in {literal(exempt_holders)}"}
    return tuple(
        Policy(
            name=name,
            kinds=kinds,
            namespace=namespace,
            exempt=exempt,
            when={"is-concerned": _CONCERNED},
            variables=variables,
            rules=(
                Rule(f"!({_HAD_IT}) || ({_UNCHANGED}) ||\n({_RELEASED})", MESSAGE),
                Rule(f"!({_HAD_IT}) || {_HAS_IT} || variables.holds ||\n{_MAY_RELEASE}", KEPT_FINALIZER),
                Rule(
                    f"{_HAD_IT} || ({_NOTHING_ADDED} &&\n(!({_HAS_IT}) || variables.holds)) ||\n{_MAY_RELEASE}", FORGED
                ),
            ),
        )
        for name, namespace, kinds in sides
    )
