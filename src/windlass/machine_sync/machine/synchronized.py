"""What `Synchronized` says of a Machine: its reasons, and which of them a refused write is."""

from datetime import datetime
from enum import StrEnum

from windlass.api import capi, mapi
from windlass.kube.plan import AddFinalizer, Create, Delete, Merge, Plan, RemoveFinalizers, Result, target_of
from windlass.kube.seen import metadata_of
from windlass.machine_sync.machine.snapshot import MachineSnapshot
from windlass.machine_sync.mirroring import synchronized
from windlass.machine_sync.mirroring.synchronized import Fault, Verdict


class Reason(StrEnum):
    """Reasons of the `Synchronized` condition of a Machine."""

    RESOURCE_SYNCHRONIZED = "ResourceSynchronized"
    PROGRESSING_TO_CREATE_INFRA = "ProgressingToCreateCAPIInfraMachine"
    FAILED_TO_GET_INFRA = "FailedToGetCAPIInfraResources"
    FAILED_TO_CONVERT_TO_MAPI = "FailedToConvertCAPIMachineToMAPI"
    FAILED_TO_CONVERT_TO_CAPI = "FailedToConvertMAPIMachineToCAPI"
    FAILED_TO_CREATE_MAPI = "FailedToCreateMAPIMachine"
    FAILED_TO_UPDATE_MAPI = "FailedToUpdateMAPIMachine"
    FAILED_TO_CREATE_CAPI = "FailedToCreateCAPIMachine"
    FAILED_TO_UPDATE_CAPI = "FailedToUpdateCAPIMachine"
    FAILED_TO_CREATE_INFRA = "FailedToCreateCAPIInfraMachine"
    FAILED_TO_UPDATE_INFRA = "FailedToUpdateCAPIInfraMachine"


FROM_CLUSTER_API = Verdict(True, Reason.RESOURCE_SYNCHRONIZED, "Successfully synchronized CAPI Machine to MAPI")
FROM_MACHINE_API = Verdict(True, Reason.RESOURCE_SYNCHRONIZED, "Successfully synchronized MAPI Machine to CAPI")
RECREATING = Verdict(None, Reason.PROGRESSING_TO_CREATE_INFRA, "Progressing to synchronize MAPI Machine to CAPI")


def failed(seen: MachineSnapshot, fault: Fault, *, now: datetime) -> Plan:
    """Say so on the Machine API Machine as a condition, or, without one, on the Cluster API Machine as an Event."""
    source = metadata_of(seen.cluster_api)
    aim = target_of(capi.Machine, source) if source is not None else None
    return synchronized.failed(fault, seen.machine_api, source=aim, now=now)


def refused(seen: MachineSnapshot, result: Result, *, now: datetime) -> Plan:
    """The API server refused a write of the last round for good: report which, and come back later."""
    reason, what = _blame(result)
    return failed(seen, Fault(reason, f"{what}: {result.error}"), now=now)


def blame(result: Result) -> str:
    """Which write was refused, and what the API server said."""
    return f"{_blame(result)[1]}: {result.error}"


def _blame(result: Result) -> tuple[Reason, str]:
    action = result.action
    if action.target.kind is mapi.Machine:
        api, made, changed = "Machine API machine", Reason.FAILED_TO_CREATE_MAPI, Reason.FAILED_TO_UPDATE_MAPI
    elif action.target.kind is capi.Machine:
        api, made, changed = "Cluster API machine", Reason.FAILED_TO_CREATE_CAPI, Reason.FAILED_TO_UPDATE_CAPI
    else:
        api = "Cluster API infra machine"
        made, changed = Reason.FAILED_TO_CREATE_INFRA, Reason.FAILED_TO_UPDATE_INFRA
    match action:
        case Create():
            return made, f"unable to ensure {api}: failed to create {api}"
        case AddFinalizer():
            return changed, f"failed to ensure sync finalizer on {action.target}"
        case Merge():
            what = "status" if action.part else api
            return changed, f"unable to ensure {api}: failed to update {what}"
        case RemoveFinalizers() | Delete():
            verb = "remove finalizers from" if isinstance(action, RemoveFinalizers) else "delete"
            return changed, f"failed to {verb} {action.target}"
    return changed, f"failed to {action.verb} {action.target}"
