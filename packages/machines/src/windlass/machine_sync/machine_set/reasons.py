"""The reasons of `Synchronized` of a MachineSet, and which refused write has which reason."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final

from windlass.api import capi, mapi
from windlass.api.meta import KubernetesObject
from windlass.kube.control.plan import Plan, Result
from windlass.machine_sync.machine_set.snapshot import MachineSetSnapshot
from windlass.machine_sync.mirroring import synchronized
from windlass.machine_sync.mirroring.synchronized import Fault, Verdict, Written


class Reason(StrEnum):
    """Reasons of the `Synchronized` condition of a MachineSet."""

    RESOURCE_SYNCHRONIZED = "ResourceSynchronized"
    MIRROR_REMOVED = "MirrorRemoved"
    FAILED_TO_GET_CAPI = "FailedToGetCAPIMachineSet"
    FAILED_TO_GET_INFRA = "FailedToGetCAPIInfraResources"
    FAILED_TO_CONVERT_TO_MAPI = "FailedToConvertCAPIMachineSetToMAPI"
    FAILED_TO_CONVERT_TO_CAPI = "FailedToConvertMAPIMachineSetToCAPI"
    FAILED_TO_UPDATE_MAPI = "FailedToUpdateMAPIMachineSet"
    FAILED_TO_CREATE_CAPI = "FailedToCreateCAPIMachineSet"
    FAILED_TO_UPDATE_CAPI = "FailedToUpdateCAPIMachineSet"
    FAILED_TO_CREATE_TEMPLATE = "FailedToCreateCAPIInfraMachineTemplate"
    FAILED_TO_UPDATE_TEMPLATE = "FailedToUpdateCAPIInfraMachineTemplate"
    NAME_CONFLICT = "NameConflict"


FROM_CLUSTER_API = Verdict(True, Reason.RESOURCE_SYNCHRONIZED, "Successfully synchronized CAPI MachineSet to MAPI")
FROM_MACHINE_API = Verdict(True, Reason.RESOURCE_SYNCHRONIZED, "Successfully synchronized MAPI MachineSet to CAPI")


def failed(seen: MachineSetSnapshot, fault: Fault, *, now: datetime) -> Plan:
    """Report the fault on the Machine API MachineSet, which exists whenever there is something to mirror."""
    return synchronized.failed(fault, seen.machine_api, source=None, now=now)


def refused(seen: MachineSetSnapshot, result: Result, *, now: datetime) -> Plan:
    """The API server refused a write of the last round, not just temporarily: report which, and try again later."""
    return failed(seen, removed(seen) if seen.removal.cause else blame(result), now=now)


def removed(seen: MachineSetSnapshot) -> Fault:
    """The mirror is being deleted, or cannot be created, and no user wants that: its kind or namespace goes."""
    reason = Reason.MIRROR_REMOVED
    if seen.removal.unknown:
        reason = Reason.FAILED_TO_UPDATE_MAPI if seen.removal.of_machine_api else Reason.FAILED_TO_UPDATE_CAPI
    return Fault(reason, seen.removal.remains("MachineSet"))


def blame(result: Result) -> Fault:
    """Which write was refused, and what the API server said."""
    kind = result.action.target.kind
    return synchronized.blame(result, _written(kind))


def admitted(seen: MachineSetSnapshot, plan: Plan, *, now: datetime) -> Plan:
    """`plan`, or the report of a fault if it would write more annotations than an API server accepts."""
    fault = synchronized.oversized(plan, _written)
    return plan if fault is None else failed(seen, fault, now=now)


def _written(kind: type[KubernetesObject]) -> Written:
    return _WRITTEN.get(kind, _TEMPLATE)


_WRITTEN: Final[Mapping[type[KubernetesObject], Written]] = {
    mapi.MachineSet: Written("MAPI machine set", Reason.FAILED_TO_UPDATE_MAPI, Reason.FAILED_TO_UPDATE_MAPI),
    capi.MachineSet: Written("CAPI machine set", Reason.FAILED_TO_CREATE_CAPI, Reason.FAILED_TO_UPDATE_CAPI),
}
_TEMPLATE: Final = Written(
    "CAPI infra machine template", Reason.FAILED_TO_CREATE_TEMPLATE, Reason.FAILED_TO_UPDATE_TEMPLATE
)
