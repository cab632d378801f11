"""Users may not change the spec of a mirror, or the metadata that Machine sync keeps on it.

| on UPDATE of | while | may not change |
|---|---|---|
| Machine, MachineSet of the Machine API | status.authoritativeAPI is ClusterAPI | the spec, except authoritativeAPI |
| Machine, MachineSet of Cluster API | annotation authoritative-api is MachineAPI, beside our finalizer | the spec |
| all of them | | labels and annotations of either API |
| all of them | | a mirrored label, except to the mirrored value |
| Machines | | label machine-template-hash |

OpenShift's policies read both facts, authority and mirrored labels, from the object of the other API. Ours read them
from the object itself, where Machine sync records them; `bookkeeping` keeps users from changing the record.
"""

from typing import Final

from msgspec import Struct

from windlass.api import capi, mapi
from windlass.api.meta import KubernetesObject
from windlass.capability.manifests.cel import annotation_is, literal, metadata_variables, unchanged
from windlass.capability.manifests.policy import Policy, Rule
from windlass.machine_sync.constants import (
    AUTHORITY_ANNOTATION,
    CLUSTER_API,
    MACHINE_API,
    MIRRORED_LABELS_ANNOTATION,
    SYNC_FINALIZER,
    Namespaces,
)
from windlass.machine_sync.policies.authority import authority_is

_OWNED_LABEL: Final = (
    "k.startsWith('machine.openshift.io') || k.startsWith('kubernetes.io') || k.contains('cluster.x-k8s.io/')"
)
_OWNED_ANNOTATION: Final = (
    "k.startsWith('machine.openshift.io') || k.contains('cluster.x-k8s.io') || k.contains('clusters.x-k8s.io')"
)
_IS_HELD: Final = f"{literal(SYNC_FINALIZER)} in oldObject.metadata.?finalizers.orValue([])"
_TEMPLATE_HASH: Final = literal("machine-template-hash")
_SPECS: Final = {"spec": "object.?spec.orValue({})", "oldSpec": "oldObject.?spec.orValue({})"}


class _Side(Struct, frozen=True):
    """The differences between the two APIs: `authority` is the name of the other one."""

    authority: str
    while_mirror: str
    spec: Rule
    namespace: str


def policies(namespaces: Namespaces, *, exempt: tuple[str, ...]) -> tuple[Policy, ...]:
    """One for each of the four kinds."""
    machine_api = _Side(
        authority="Cluster API",
        while_mirror=authority_is(CLUSTER_API),
        spec=Rule(
            unchanged("variables.spec", "variables.oldSpec", where="k != 'authoritativeAPI'"),
            "You may only modify spec.authoritativeAPI. Any other change inside .spec is not allowed. "
            f"{_because('Cluster API')}",
        ),
        namespace=namespaces.machine_api,
    )
    cluster_api = _Side(
        authority="Machine API",
        while_mirror=f"{annotation_is(AUTHORITY_ANNOTATION, MACHINE_API)} &&\n{_IS_HELD}",
        spec=Rule("variables.spec == variables.oldSpec", f"Changing .spec is not allowed. {_because('Machine API')}"),
        namespace=namespaces.cluster_api,
    )
    return (
        _policy("machine-api-machine-vap", mapi.Machine, machine_api, exempt=exempt),
        _policy("machine-api-machine-set-vap", mapi.MachineSet, machine_api, exempt=exempt),
        _policy("cluster-api-machine-vap", capi.Machine, cluster_api, exempt=exempt),
        _policy("cluster-api-machine-set-vap", capi.MachineSet, cluster_api, exempt=exempt),
    )


def _policy(name: str, kind: type[KubernetesObject], side: _Side, *, exempt: tuple[str, ...]) -> Policy:
    is_machine = kind.RESOURCE.kind == "Machine"
    return Policy(
        name=name,
        kinds=(kind,),
        namespace=side.namespace,
        exempt=exempt,
        when={"is-a-mirror": side.while_mirror},
        variables={**_SPECS, **metadata_variables(), "mirrored": _MIRRORED},
        rules=(
            side.spec,
            Rule(
                unchanged("variables.labels", "variables.oldLabels", where=_OWNED_LABEL),
                "Cannot add, modify or delete any machine.openshift.io/*, kubernetes.io/* or cluster.x-k8s.io/* label. "
                f"{_because(side.authority)}",
            ),
            Rule(
                unchanged("variables.annotations", "variables.oldAnnotations", where=_OWNED_ANNOTATION),
                "Cannot add, modify or delete any machine.openshift.io/* or cluster.x-k8s.io/* or clusters.x-k8s.io/* "
                f"annotation. {_because(side.authority)}",
            ),
            Rule(
                _AS_MIRRORED,
                f"Cannot modify a {side.authority} controlled label except to match the {side.authority} mirrored "
                f"{'machine' if is_machine else 'MachineSet'}. {_because(side.authority)}",
            ),
            *((_KEEPS_TEMPLATE_HASH,) if is_machine else ()),
        ),
    )


def _because(authority: str) -> str:
    return f"This is because status.authoritativeAPI is set to {authority}."


_MIRRORED: Final = (
    f"variables.oldAnnotations[?{literal(MIRRORED_LABELS_ANNOTATION)}].orValue('')"
    "\n  .split(',').filter(p, p.contains('=')).map(p, p.split('=', 2))"
)
"""Pairs of key and value: the labels that were copied from the other API."""

_AS_MIRRORED: Final = (
    "variables.mirrored.all(p, variables.labels[?p[0]] == variables.oldLabels[?p[0]] ||\n"
    "  variables.labels[?p[0]] == optional.of(p[1]))"
)

_KEEPS_TEMPLATE_HASH: Final = Rule(
    f"variables.labels[?{_TEMPLATE_HASH}] == variables.oldLabels[?{_TEMPLATE_HASH}]",
    "Setting the 'machine-template-hash' label is forbidden.",
)
