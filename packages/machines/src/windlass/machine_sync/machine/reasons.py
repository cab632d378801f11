"""The reasons of `Synchronized` of a Machine, and which refused write has which reason."""

from enum import StrEnum
from typing import Final

from windlass.api import capi, mapi
from windlass.machine_sync.mirroring.reports import Reports, Written
from windlass.machine_sync.mirroring.synchronized import Verdict


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


_REPORTS: Final = Reports(
    what="machine",
    written={
        mapi.Machine: Written("Machine API machine", Reason.FAILED_TO_CREATE_MAPI, Reason.FAILED_TO_UPDATE_MAPI),
        capi.Machine: Written("Cluster API machine", Reason.FAILED_TO_CREATE_CAPI, Reason.FAILED_TO_UPDATE_CAPI),
    },
    infra=Written("Cluster API infra machine", Reason.FAILED_TO_CREATE_INFRA, Reason.FAILED_TO_UPDATE_INFRA),
    mirror_removed=Reason.MIRROR_REMOVED,
    reported_on=capi.Machine,
)

admitted = _REPORTS.admitted
blame = _REPORTS.blame
failed = _REPORTS.failed
refused = _REPORTS.refused
removed = _REPORTS.removed
stopped = _REPORTS.stopped
