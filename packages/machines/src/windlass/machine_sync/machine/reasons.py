"""The reasons of `Synchronized` of a Machine, and which refused write has which reason."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final

from windlass.api import capi, mapi
from windlass.api.meta import KubernetesObject
from windlass.kube.control.plan import Plan, Result, target_of
from windlass.kube.control.seen import metadata_of
from windlass.machine_sync.machine.snapshot import MachineSnapshot
from windlass.machine_sync.mirroring import synchronized
from windlass.machine_sync.mirroring.synchronized import Fault, Verdict, Written


class Reason(StrEnum):
    """Reasons of the `Synchronized` condition of a Machine."""

    RESOURCE_SYNCHRONIZED = "ResourceSynchronized"
    MIRROR_REMOVED = "MirrorRemoved"
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
    NAME_CONFLICT = "NameConflict"


FROM_CLUSTER_API = Verdict(True, Reason.RESOURCE_SYNCHRONIZED, "Successfully synchronized CAPI Machine to MAPI")
FROM_MACHINE_API = Verdict(True, Reason.RESOURCE_SYNCHRONIZED, "Successfully synchronized MAPI Machine to CAPI")
RECREATING = Verdict(None, Reason.PROGRESSING_TO_CREATE_INFRA, "Progressing to synchronize MAPI Machine to CAPI")


def failed(seen: MachineSnapshot, fault: Fault, *, now: datetime) -> Plan:
    """Report the fault: as a condition of the Machine API Machine, or, without one, as an Event of the Cluster API
    Machine."""
    source = metadata_of(seen.cluster_api)
    aim = target_of(capi.Machine, source) if source is not None else None
    return synchronized.failed(fault, seen.machine_api, source=aim, now=now)


def refused(seen: MachineSnapshot, result: Result, *, now: datetime) -> Plan:
    """The API server refused a write of the last round, not just temporarily: report which, and try again later."""
    return failed(seen, removed(seen) if seen.removal.cause else blame(result), now=now)


def removed(seen: MachineSnapshot) -> Fault:
    """The mirror is being deleted, or cannot be created, and no user wants that: its kind or namespace goes."""
    reason = Reason.MIRROR_REMOVED
    if seen.removal.unknown:
        reason = Reason.FAILED_TO_UPDATE_MAPI if seen.removal.of_machine_api else Reason.FAILED_TO_UPDATE_CAPI
    return Fault(reason, seen.removal.remains("machine"))


def blame(result: Result) -> Fault:
    """Which write was refused, and what the API server said."""
    kind = result.action.target.kind
    return synchronized.blame(result, _written(kind))


def admitted(seen: MachineSnapshot, plan: Plan, *, now: datetime) -> Plan:
    """`plan`, or the report of a fault if it would write more annotations than an API server accepts."""
    fault = synchronized.oversized(plan, _written)
    return plan if fault is None else failed(seen, fault, now=now)


def _written(kind: type[KubernetesObject]) -> Written:
    return _WRITTEN.get(kind, _INFRA)


_WRITTEN: Final[Mapping[type[KubernetesObject], Written]] = {
    mapi.Machine: Written("Machine API machine", Reason.FAILED_TO_CREATE_MAPI, Reason.FAILED_TO_UPDATE_MAPI),
    capi.Machine: Written("Cluster API machine", Reason.FAILED_TO_CREATE_CAPI, Reason.FAILED_TO_UPDATE_CAPI),
}
_INFRA: Final = Written("Cluster API infra machine", Reason.FAILED_TO_CREATE_INFRA, Reason.FAILED_TO_UPDATE_INFRA)
