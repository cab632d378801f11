"""The reasons of `Synchronized` of a MachineSet, and which refused write has which reason."""

from enum import StrEnum
from typing import Final

from windlass.api import capi, mapi
from windlass.machine_sync.mirroring.reports import Reports, Written
from windlass.machine_sync.mirroring.synchronized import Verdict


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


_REPORTS: Final = Reports(
    what="MachineSet",
    written={
        mapi.MachineSet: Written("MAPI machine set", Reason.FAILED_TO_UPDATE_MAPI, Reason.FAILED_TO_UPDATE_MAPI),
        capi.MachineSet: Written("CAPI machine set", Reason.FAILED_TO_CREATE_CAPI, Reason.FAILED_TO_UPDATE_CAPI),
    },
    infra=Written("CAPI infra machine template", Reason.FAILED_TO_CREATE_TEMPLATE, Reason.FAILED_TO_UPDATE_TEMPLATE),
    mirror_removed=Reason.MIRROR_REMOVED,
)

admitted = _REPORTS.admitted
blame = _REPORTS.blame
failed = _REPORTS.failed
refused = _REPORTS.refused
removed = _REPORTS.removed
stopped = _REPORTS.stopped
