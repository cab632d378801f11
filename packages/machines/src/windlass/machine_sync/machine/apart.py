"""Two Machines of one name that were never mirrored: each is deleted alone, and neither becomes the other's mirror.

| authority | deleted | condition | what happens |
|---|---|---|---|
| any | either | their names conflict (`mirroring.belongs`) | only that one goes |
| MachineAPI | the Machine of the Machine API | Cluster API's does not have our finalizer | only that one goes |
| MachineAPI | the Machine of Cluster API | the same, or the other one was never mirrored | only that one goes |
| ClusterAPI | the Machine of the Machine API | one of them does not have our finalizer | only that one goes |

The MachineSets of one name may be two as well. If the mirror of a machine belonged to the other set, that set would
count it as a replica, and delete machines that exceed its replicas. So for decisions about a machine of such a set,
neither set exists: the machine gets no mirror, and the deletion of a mirror that it has does not reach it.
"""

from datetime import datetime

from msgspec.structs import replace

from windlass.api import capi, mapi
from windlass.api.meta import ObjectMeta, OwnerReference
from windlass.kube.control.plan import Plan
from windlass.kube.control.seen import Absent, Present, Unreadable, metadata_of
from windlass.machine_sync.constants import MACHINE_API, MACHINE_API_FINALIZER
from windlass.machine_sync.machine.reasons import Reason
from windlass.machine_sync.machine.snapshot import MachineSnapshot, set_owner
from windlass.machine_sync.mirroring.alone import NEVER_MIRRORED, deleted_alone
from windlass.machine_sync.mirroring.belongs import are_two_sets, is_mirror, was_mirrored
from windlass.machine_sync.mirroring.finalizers import let_go
from windlass.machine_sync.mirroring.synchronized import Fault, authority, fill_authority, report_only


def without_two_sets(seen: MachineSnapshot) -> MachineSnapshot:
    """The snapshot for decisions: if the MachineSets are two, both are absent, and `two_sets` says so."""
    owner = _set_of_authority(seen)
    if owner is None or not are_two_sets(seen.machine_api_set, seen.cluster_api_set):
        return seen
    absent = Absent(confirmed=True)
    return replace(seen, machine_api_set=absent, cluster_api_set=absent, two_sets=owner.name)


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


def _set_of_authority(seen: MachineSnapshot) -> OwnerReference | None:
    """The MachineSet of the Machine that is the authority, or the only one."""
    ours, theirs = metadata_of(seen.machine_api), metadata_of(seen.cluster_api)
    if ours is not None and (theirs is None or _under_machine_api(seen, theirs)):
        return set_owner(ours, mapi.MachineSet.RESOURCE.api_version)
    return set_owner(theirs, capi.MachineSet.RESOURCE.api_version) if theirs is not None else None


def _under_machine_api(seen: MachineSnapshot, other: ObjectMeta) -> bool:
    if not isinstance(seen.machine_api, Present):
        return is_mirror(other)
    return authority(seen.machine_api.object) == MACHINE_API
