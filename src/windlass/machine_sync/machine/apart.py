"""Two Machines of one name that were never mirrored: each is deleted alone, and neither becomes the other's mirror.

| authority | deleted | condition | what happens |
|---|---|---|---|
| any | either | their names conflict (`mirroring.belongs`) | only that one goes |
| MachineAPI | the Machine of the Machine API | Cluster API's does not have our finalizer | only that one goes |
| MachineAPI | the Machine of Cluster API | the same, or the other one was never mirrored | only that one goes |
| ClusterAPI | the Machine of the Machine API | one of them does not have our finalizer | only that one goes |
"""

from datetime import datetime

from windlass.api import capi, mapi
from windlass.kube.control.plan import Plan
from windlass.kube.control.seen import Present, Unreadable, metadata_of
from windlass.machine_sync.constants import MACHINE_API_FINALIZER
from windlass.machine_sync.machine.reasons import Reason
from windlass.machine_sync.machine.snapshot import MachineSnapshot
from windlass.machine_sync.mirroring.alone import NEVER_MIRRORED, deleted_alone
from windlass.machine_sync.mirroring.belongs import was_mirrored
from windlass.machine_sync.mirroring.finalizers import let_go
from windlass.machine_sync.mirroring.synchronized import Fault, fill_authority, report_only


def in_conflict(seen: MachineSnapshot, found: Present[mapi.Machine], why: str, *, now: datetime) -> Plan:
    """The names of the two conflict: `why` is reported, and each is deleted without the other."""
    undecided = not found.object.status.authoritative_api
    if found.deleting:
        if undecided and found.object.spec.provider_id:
            return fill_authority(found, "")  # It has an instance, which only its own API can delete.
        theirs = (MACHINE_API_FINALIZER,) if undecided else ()  # Its controllers do not act while it is undecided.
        return Plan.of(let_go(mapi.Machine, found, *theirs, why=NEVER_MIRRORED))
    plan = report_only(Fault(Reason.NAME_CONFLICT, why, retry=False), found, now=now)
    going = metadata_of(seen.cluster_api)
    if going is None or going.deletion_timestamp is None:
        return plan
    infra = let_go(seen.platform.infra_machine, seen.infra_machine, why=NEVER_MIRRORED)
    released = Plan.of(infra, let_go(capi.Machine, seen.cluster_api, why=NEVER_MIRRORED))
    return Plan((*plan.actions, *released.actions), plan.next)


def deleted_under_machine_api(seen: MachineSnapshot, found: Present[mapi.Machine] | Unreadable) -> Plan | None:
    """The Machine API is authoritative. None: neither is being deleted, or Cluster API's is the mirror."""
    return deleted_alone(found, seen.cluster_api, kind=mapi.Machine, other_kind=capi.Machine)


def deleted_under_cluster_api(seen: MachineSnapshot, found: Present[mapi.Machine] | Unreadable) -> Plan | None:
    """Cluster API is authoritative. None: the Machine of the Machine API is not being deleted, or is the mirror."""
    other = metadata_of(seen.cluster_api)
    if other is None or other.deletion_timestamp is not None or found.metadata.deletion_timestamp is None:
        return None
    if was_mirrored(other) and was_mirrored(found.metadata):
        return None
    return Plan.of(let_go(mapi.Machine, seen.machine_api, MACHINE_API_FINALIZER, why=NEVER_MIRRORED))
