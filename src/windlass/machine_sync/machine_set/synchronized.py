"""What `Synchronized` says of a MachineSet: its reasons, and which of them a refused write is."""

from datetime import datetime
from enum import StrEnum

from windlass.api import capi, mapi
from windlass.kube.plan import AddFinalizer, Create, Delete, Merge, Plan, RemoveFinalizers, Result
from windlass.machine_sync.machine_set.snapshot import MachineSetSnapshot
from windlass.machine_sync.mirroring import synchronized
from windlass.machine_sync.mirroring.synchronized import Fault, Verdict


class Reason(StrEnum):
    """Reasons of the `Synchronized` condition of a MachineSet."""

    RESOURCE_SYNCHRONIZED = "ResourceSynchronized"
    FAILED_TO_GET_CAPI = "FailedToGetCAPIMachineSet"
    FAILED_TO_GET_INFRA = "FailedToGetCAPIInfraResources"
    FAILED_TO_CONVERT_TO_MAPI = "FailedToConvertCAPIMachineSetToMAPI"
    FAILED_TO_CONVERT_TO_CAPI = "FailedToConvertMAPIMachineSetToCAPI"
    FAILED_TO_UPDATE_MAPI = "FailedToUpdateMAPIMachineSet"
    FAILED_TO_CREATE_CAPI = "FailedToCreateCAPIMachineSet"
    FAILED_TO_UPDATE_CAPI = "FailedToUpdateCAPIMachineSet"
    FAILED_TO_CREATE_TEMPLATE = "FailedToCreateCAPIInfraMachineTemplate"
    FAILED_TO_UPDATE_TEMPLATE = "FailedToUpdateCAPIInfraMachineTemplate"


FROM_CLUSTER_API = Verdict(True, Reason.RESOURCE_SYNCHRONIZED, "Successfully synchronized CAPI MachineSet to MAPI")
FROM_MACHINE_API = Verdict(True, Reason.RESOURCE_SYNCHRONIZED, "Successfully synchronized MAPI MachineSet to CAPI")


def failed(seen: MachineSetSnapshot, fault: Fault, *, now: datetime) -> Plan:
    """Say so on the Machine API MachineSet, which is there whenever there is something to mirror."""
    return synchronized.failed(fault, seen.machine_api, source=None, now=now)


def refused(seen: MachineSetSnapshot, result: Result, *, now: datetime) -> Plan:
    """The API server refused a write of the last round for good: report which, and come back later."""
    return failed(seen, Fault(*blame(result)), now=now)


def blame(result: Result) -> tuple[Reason, str]:
    """The reason that a refused write is, and the text that says what was refused and why."""
    action = result.action
    if action.target.kind is mapi.MachineSet:
        what, made, changed = "MAPI machine set", Reason.FAILED_TO_UPDATE_MAPI, Reason.FAILED_TO_UPDATE_MAPI
    elif action.target.kind is capi.MachineSet:
        what, made, changed = "CAPI machine set", Reason.FAILED_TO_CREATE_CAPI, Reason.FAILED_TO_UPDATE_CAPI
    else:
        what = "CAPI infra machine template"
        made, changed = Reason.FAILED_TO_CREATE_TEMPLATE, Reason.FAILED_TO_UPDATE_TEMPLATE
    match action:
        case Create():
            return made, f"unable to ensure {what}: failed to create {what}: {result.error}"
        case AddFinalizer():
            return changed, f"failed to ensure sync finalizer on {action.target}: {result.error}"
        case Merge():
            part = "status" if action.part else what
            return changed, f"unable to ensure {what}: failed to update {part}: {result.error}"
        case RemoveFinalizers() | Delete():
            verb = "remove finalizers from" if isinstance(action, RemoveFinalizers) else "delete"
            return changed, f"failed to {verb} {action.target}: {result.error}"
    return changed, f"failed to {action.verb} {action.target}: {result.error}"
