"""The fields of a mirror that belong to Cluster API's MachineSet controller, because it writes them to the machines of
its set.

A machine whose authority is the Machine API may belong to a set whose authority is Cluster API. The controller of that
set ignores the pause of a machine: it writes each change of its template to all machines, mirrors included.

| on | it writes |
|---|---|
| Machine and infra machine | labels and annotations of the template |
| Machine | the owner reference to the set (`owners`) |
| Machine | `minReadySeconds`, `readinessGates`, `taints`, `deletion`, `bootstrap.dataSecretName` |

So these fields are not changed while that set acts and owns the machine. Otherwise the two controllers would overwrite
each other without end.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from windlass.api import capi
from windlass.api.meta import OwnerReference
from windlass.kube.control.seen import Present, Seen
from windlass.machine_sync.constants import BOOKKEEPING, PAUSED_ANNOTATION
from windlass.machine_sync.mirroring.metadata import NOTHING_CLAIMED, Claimed

OWNED: Final[Mapping[str, Any]] = {
    "clusterName": None,
    "bootstrap.dataSecretName": None,
    "infrastructureRef": None,
    "providerID": None,
    "failureDomain": None,
    "deletion.nodeDeletionTimeoutSeconds": None,
    "taints": None,
}
"""The spec fields of a Cluster API Machine that follow the Machine API: those that conversion sets.

All other fields (version, minReadySeconds, ...) have no counterpart there, and stay as they are.
"""
_PROPAGATED: Final = ("bootstrap.dataSecretName", "deletion.nodeDeletionTimeoutSeconds", "taints")
"""The propagated fields that the set writes too."""


def owned_spec(of_set: Seen[capi.MachineSet], owners: Iterable[OwnerReference]) -> Mapping[str, Any]:
    """The spec fields of an existing mirror with these owners that are ours. `of_set`: the set of its machine."""
    if _acting(of_set, owners) is None:
        return OWNED
    return {path: default for path, default in OWNED.items() if path not in _PROPAGATED}


def claimed_metadata(of_set: Seen[capi.MachineSet], owners: Iterable[OwnerReference]) -> Claimed:
    """The labels and annotations of a mirror with these owners that are not ours. `of_set`: the set of its machine."""
    acting = _acting(of_set, owners)
    if acting is None:
        return NOTHING_CLAIMED
    template = acting.spec.template.metadata
    return Claimed(frozenset(template.labels), frozenset(template.annotations).difference(BOOKKEEPING))


def _acting(of_set: Seen[capi.MachineSet], owners: Iterable[OwnerReference]) -> capi.MachineSet | None:
    """The set, unless it is not there, is paused or is not among the owners."""
    if not isinstance(of_set, Present) or PAUSED_ANNOTATION in of_set.metadata.annotations:
        return None
    if all(owner.uid != of_set.metadata.uid for owner in owners):
        return None
    return of_set.object
