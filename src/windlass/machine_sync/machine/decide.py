"""Which case a machine is: who exists, who is authoritative, what follows.

| Machine API | Cluster API | status.authoritativeAPI | what follows |
|---|---|---|---|
| - | - | | nothing |
| - | being deleted | | our finalizers come off (`deletion.of_source_alone`) |
| - | not owned by a v1beta2 MachineSet | | nothing: an independent machine |
| - | owned by a MachineSet without a twin in the Machine API, or by an earlier one of its name | | nothing |
| - | owned by a MachineSet with a twin | | a mirror is created, authority ClusterAPI |
| exists | any | empty | taken for what spec says, which the next status write makes so |
| exists | any | MachineAPI, Migrating, unknown | nothing |
| exists | exists | ClusterAPI | deletion, else the mirror is brought up to date |
| being deleted | - | ClusterAPI | the mirror is let go |
| exists | - | ClusterAPI | Synchronized=False, CAPIMachineNotFound |
"""

from datetime import datetime

from windlass.api import capi, mapi
from windlass.api.meta import ObjectMeta
from windlass.kube.plan import Emit, Plan
from windlass.kube.seen import NotServedKind, Present, Unreadable
from windlass.machine_sync.constants import CLUSTER_API, EVENT_SOURCE, MACHINE_API
from windlass.machine_sync.machine import deletion, mirror
from windlass.machine_sync.machine.snapshot import MachineSnapshot, metadata_of, set_owner, target_of
from windlass.machine_sync.machine.synchronized import Fault, Reason, authority, failed, fill_authority, refused


def decide(seen: MachineSnapshot, *, now: datetime) -> Plan:
    """What to do about one machine."""
    for side in (seen.mirror, seen.source):
        if isinstance(side, NotServedKind):
            return Plan.nothing(side.why)
    if seen.last.failed is not None:
        return refused(seen, seen.last.failed, now=now)
    if isinstance(seen.mirror, Unreadable):
        return _unreadable_mirror(seen.mirror)
    source = metadata_of(seen.source)
    if isinstance(seen.mirror, Present):
        return _mirrored(seen, seen.mirror, source, now=now)
    if source is None:
        return Plan.nothing("the machine exists in neither API")
    return _unmirrored(seen, source, now=now)


def _unmirrored(seen: MachineSnapshot, source: ObjectMeta, *, now: datetime) -> Plan:
    if source.deletion_timestamp is not None:
        return deletion.of_source_alone(seen, source)
    owner = set_owner(source, capi.MachineSet.RESOURCE.api_version)
    if owner is None:
        return Plan.nothing("an independent Cluster API machine: no v1beta2 MachineSet owns it")
    twin = metadata_of(seen.mirror_set)
    if twin is None:
        return Plan.nothing(f"its MachineSet {owner.name} does not exist in the Machine API")
    if twin.deletion_timestamp is not None:
        return Plan.nothing(f"its MachineSet {owner.name} is being deleted in the Machine API")
    source_set = metadata_of(seen.source_set)
    if source_set is not None and source_set.uid != owner.uid:
        return Plan.nothing(f"its owner is an earlier MachineSet {owner.name}, with another uid than today's")
    return _converted(seen, now=now)


def _mirrored(
    seen: MachineSnapshot, mapi_machine: Present[mapi.Machine], source: ObjectMeta | None, *, now: datetime
) -> Plan:
    said = authority(mapi_machine.object)
    if said == MACHINE_API:
        return fill_authority(mapi_machine, "the Machine API is authoritative")
    if said != CLUSTER_API:
        return Plan.nothing(f"status.authoritativeAPI is {said!r}: no side may be written")
    if source is None:
        if mapi_machine.deleting:
            return deletion.of_mirror_alone(seen, mapi_machine.metadata)
        fault = Fault(Reason.CAPI_MACHINE_NOT_FOUND, "Cluster API machine not found", retry=False)
        return failed(seen, fault, now=now)
    going = deletion.of_both(seen, source, mapi_machine.metadata)
    return going if going is not None else _converted(seen, now=now)


def _converted(seen: MachineSnapshot, *, now: datetime) -> Plan:
    if isinstance(seen.source, Present):
        return mirror.create_or_update(seen, seen.source, now=now)
    assert isinstance(seen.source, Unreadable)
    text = f"failed to convert Cluster API machine to Machine API machine: {seen.source.why}"
    return failed(seen, Fault(Reason.FAILED_TO_CONVERT, text, retry=False), now=now)


def _unreadable_mirror(found: Unreadable) -> Plan:
    note = f"This Machine cannot be read, so it is not synchronized: {found.why}. Mend the field or delete the Machine."
    aim = target_of(mapi.Machine, found.metadata)
    return Plan.of(Emit(target=aim, type="Warning", reason="SynchronizationError", note=note, source=EVENT_SOURCE))
