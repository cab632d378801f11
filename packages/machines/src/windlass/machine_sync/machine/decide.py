"""Decides what to do about a machine, by which objects exist and which is authoritative.

| Machine API | Cluster API | status.authoritativeAPI | what follows |
|---|---|---|---|
| - | - | | nothing |
| - | being deleted | | our finalizers are removed (`deletion.of_source_alone`) |
| - | marked as a mirror | | an Event: its Machine was deleted by force; it stays paused (`deletion.of_left_behind`) |
| - | not owned by a v1beta2 MachineSet | | nothing: an independent machine |
| - | owned by a MachineSet that the Machine API does not have, or by an earlier one of its name | | nothing |
| - | owned by a MachineSet of the name of another one in the Machine API | | nothing (`without_two_sets`) |
| - | owned by a MachineSet that the Machine API has too | | a mirror is created, authority ClusterAPI |
| exists | of its name, but another machine | | neither is written; a condition says so (`mirroring.belongs`) |
| exists | any | empty | spec is used, and the next status write fills it in |
| exists | - or marked as a mirror | empty, spec ClusterAPI | becomes ClusterAPI, before anything acts because of it |
| exists | any | Migrating | authority moves forward or back (`mirroring.migration`) |
| exists | recreated | ClusterAPI | Migrating and back, which lets the recorded generation go down |
| exists | any | MachineAPI | deletion, else the Cluster API mirror is brought up to date |
| exists | marked as a mirror | ClusterAPI | the mark is removed, and the pause if it is ours (`migration.released`) |
| exists | exists | ClusterAPI | deletion, else the Machine API mirror is brought up to date |
| being deleted | - | ClusterAPI | the mirror is released |
| exists | - | ClusterAPI | its first Cluster API Machine is created, not paused |
| exists | any | unknown | nothing |

When the mirror is up to date and spec names the other authority, authority begins to move. A Machine that goes to the
Machine API has that one's finalizer by then. While the deletion of an authority waits, its mirror is kept up to date.
"""

from datetime import datetime
from typing import Final

from msgspec.structs import replace

from windlass.api import capi, mapi
from windlass.api.meta import ObjectMeta, OwnerReference
from windlass.kube.control.plan import AddFinalizer, Merge, Plan, WaitFor, target
from windlass.kube.control.seen import Absent, NotServedKind, Present, Unreadable, metadata_of
from windlass.machine_sync.constants import (
    AUTHORITY_ANNOTATION,
    CLUSTER_API,
    CLUSTER_API_FINALIZER,
    MACHINE_API,
    MACHINE_API_FINALIZER,
    MIGRATING,
    PAUSED_ANNOTATION,
)
from windlass.machine_sync.conversion.machine_to_cluster_api import PROVISIONED_PHASES
from windlass.machine_sync.machine import (
    collected,
    deletion,
    infra_owner,
    looking,
    mirror_in_cluster_api,
    mirror_in_machine_api,
    owners,
)
from windlass.machine_sync.machine.reasons import Reason, admitted, blame, failed, refused
from windlass.machine_sync.machine.snapshot import MachineSnapshot, set_owner
from windlass.machine_sync.mirroring import belongs, migration, taints
from windlass.machine_sync.mirroring.alone import NEVER_MIRRORED, deleted_alone
from windlass.machine_sync.mirroring.belongs import are_two_sets, is_mirror, was_mirrored
from windlass.machine_sync.mirroring.finalizers import let_go
from windlass.machine_sync.mirroring.synchronized import Fault, authority, fill_authority, report_only, unreadable

PROVISIONING: Final = "Provisioning"


def decide_asking(seen: MachineSnapshot, *, now: datetime) -> Plan:
    """The plan for one machine, from what the caches say; it asks for what else it relies on."""
    return decide(looking.looked(seen), now=now)


def decide(seen: MachineSnapshot, *, now: datetime) -> Plan:
    """The plan for one machine, from all that it relies on."""
    for side in (seen.machine_api, seen.cluster_api):
        if isinstance(side, NotServedKind):
            return Plan.nothing(side.why)
    _ask_for_step(seen, now=now)
    seen = without_two_sets(infra_owner.without_others(seen))
    stopped = seen.last.failed
    match seen.machine_api:
        case Present() as found if found.object.status.authoritative_api == MIGRATING:
            return proceed(seen, found, now=now) if stopped is None else migration.stuck(found, blame(stopped))
        case _ if stopped is not None:
            return refused(seen, stopped, now=now)
        case Unreadable() as found:
            return _unreadable(seen, found, now=now)
        case Present() as found:
            plan = _mirrored(seen, found, now=now)
            return _with_move(seen, found, plan)
    source = metadata_of(seen.cluster_api)
    if source is None:
        return Plan.nothing("the machine exists in neither API")
    return _unmirrored(seen, source, now=now)


def _ask_for_step(seen: MachineSnapshot, *, now: datetime) -> None:
    """While authority moves, the next step relies on objects as the API server has them in this round."""
    found = seen.machine_api
    if isinstance(found, Present) and found.object.status.authoritative_api == MIGRATING:
        looking.ask_for(seen, migration.relied_upon(seen.move, proceed(seen, found, now=now), seen.last))


def proceed(seen: MachineSnapshot, found: Present[mapi.Machine], *, now: datetime) -> Plan:
    """The next step of a machine whose authority moves."""

    def in_sync() -> bool:
        # A mirror that the collector takes away is lost. As the authority it would take the machine along.
        if seen.move.source == MACHINE_API:
            mirror = metadata_of(seen.cluster_api)
            lost = (
                mirror is not None and mirror.deletion_timestamp is not None and collected.in_cluster_api(seen, mirror)
            )
            return not lost and migration.up_to_date(_from_machine_api(seen, found, now=now))
        lost = found.deleting and collected.in_machine_api(seen, found.metadata)
        return not lost and migration.up_to_date(_from_cluster_api(seen, now=now))

    return migration.proceed(seen.move, in_sync=in_sync, now=now)


def _unmirrored(seen: MachineSnapshot, source: ObjectMeta, *, now: datetime) -> Plan:
    if source.deletion_timestamp is not None:
        return deletion.of_source_alone(seen)
    if belongs.may_be_left_over(source):
        return deletion.of_left_behind(source)
    owner = set_owner(source, capi.MachineSet.RESOURCE.api_version)
    if owner is None:
        return Plan.nothing("an independent Cluster API machine: no v1beta2 MachineSet owns it")
    if seen.two_sets:
        return Plan.nothing(owners.of_two_sets(seen.two_sets))
    twin = metadata_of(seen.machine_api_set)
    if twin is None:
        return Plan.nothing(f"its MachineSet {owner.name} does not exist in the Machine API")
    if twin.deletion_timestamp is not None:
        return Plan.nothing(f"its MachineSet {owner.name} is being deleted in the Machine API")
    source_set = metadata_of(seen.cluster_api_set)
    if source_set is not None and source_set.uid != owner.uid:
        return Plan.nothing(f"its owner is an earlier MachineSet {owner.name}, with another uid than today's")
    return _from_cluster_api(seen, now=now)


def _mirrored(seen: MachineSnapshot, found: Present[mapi.Machine], *, now: datetime) -> Plan:
    """A Machine of the Machine API whose authority is not moving."""
    if why := belongs.name_conflict(found, seen.cluster_api):
        return in_conflict(seen, found, why, now=now)
    source = metadata_of(seen.cluster_api)
    said = authority(found.object)
    if said == MACHINE_API:
        if (alone := deleted_under_machine_api(seen, found)) is not None:
            return alone
        if (going := deletion.of_machine_api(seen, found.metadata, now=now)) is not None:
            if going.needed or not deletion.in_work(found.metadata, MACHINE_API_FINALIZER):
                return going
            return _meanwhile(seen, going, mirror_in_cluster_api.while_deleted(seen, found, now=now))
        first = migration.unheard(found, now=now) or migration.recreated(seen.move)
        return first if first is not None else _from_machine_api(seen, found, now=now)
    if said != CLUSTER_API:
        return Plan.nothing(f"status.authoritativeAPI is {said!r}: no side may be written")
    if source is not None and AUTHORITY_ANNOTATION in source.annotations:
        return _filled(found) or migration.released(seen.move)
    if source is not None:
        if (alone := deleted_under_cluster_api(seen, found)) is not None:
            return alone
        if (going := deletion.of_both(seen, source, found.metadata, now=now)) is not None:
            if going.needed or not deletion.in_work(source, CLUSTER_API_FINALIZER):
                return going
            return _meanwhile(seen, going, _from_cluster_api(seen, now=now))
        first = migration.unheard(found, now=now) or migration.recreated(seen.move)
        return first if first is not None else _from_cluster_api(seen, now=now)
    if found.deleting:
        return deletion.of_mirror_alone(seen, now=now)
    return _filled(found) or admitted(seen, mirror_in_cluster_api.create_unpaused(seen, found, now=now), now=now)


def _meanwhile(seen: MachineSnapshot, going: Plan, copying: Plan) -> Plan:
    """`going`, a deletion that waits, for a drain or a hook; and meanwhile what brings the mirror up to date, if that
    can be done."""
    writes = [action for action in copying.actions if isinstance(action, Merge)]
    failed = not writes or (writes[-1].part and not migration.synchronizes(writes[-1]))
    if failed or migration.recreated(seen.move) is not None:
        return going
    return Plan.of(*writes).then(going.next)


def _filled(found: Present[mapi.Machine]) -> Plan | None:
    """Fill an empty authority from spec before Cluster API may act: others fill it too, from an older spec."""
    return None if found.object.status.authoritative_api else fill_authority(found, "")


def _with_move(seen: MachineSnapshot, found: Present[mapi.Machine], plan: Plan) -> Plan:
    """`plan`, or the first step of a move of authority if `plan` does nothing but record the generation."""
    move = seen.move
    if not move.requested or found.deleting:
        return plan
    noted = migration.noted(move, plan)
    if noted is None or not migration.is_synchronized(move, authority=move.status, noted=noted):
        return plan
    there = [meta for part in move.parts if (meta := part.metadata) is not None]
    if len(there) < len(move.parts) or any(meta.deletion_timestamp is not None for meta in there):
        return plan.then(WaitFor("its Cluster API objects to exist and not be deleted before authority moves"))
    if lost := _lost_taints(seen, found):
        return plan.then(WaitFor(f"its taints to be in Cluster API before authority moves: {lost}"))
    if _being_provisioned(seen, found):
        return plan.then(WaitFor("the machine to be provisioned before authority moves"))
    if not migration.taken_up(move, seen.cluster):
        return plan.then(WaitFor(f"the controllers of {move.status} to take up their work before authority moves on"))
    if move.spec == MACHINE_API and MACHINE_API_FINALIZER not in found.metadata.finalizers:
        return Plan((*plan.actions, _held_by_machine_api(found)), plan.next)
    return migration.begin(move, plan)


def _lost_taints(seen: MachineSnapshot, found: Present[mapi.Machine]) -> str:
    mirror = seen.cluster_api
    return taints.lost(found.object.spec.taints, mirror.object.spec.taints) if isinstance(mirror, Present) else ""


def _held_by_machine_api(found: Present[mapi.Machine]) -> AddFinalizer:
    """A Machine that a user made has had no finalizer of the Machine API. Deleted as soon as that has the authority, it
    would go at once, and leave its instance behind."""
    return AddFinalizer(
        target=target(found),
        observed=tuple(found.metadata.finalizers),
        finalizer=MACHINE_API_FINALIZER,
        why="the Machine API has to delete its instance from now on",
    )


def _being_provisioned(seen: MachineSnapshot, found: Present[mapi.Machine]) -> bool:
    """An instance may exist that is not recorded yet: the API that creates it has to finish."""
    if found.object.status.phase == PROVISIONING:
        return True
    if found.object.status.authoritative_api != CLUSTER_API or not isinstance(seen.cluster_api, Present):
        return False
    machine = seen.cluster_api.object
    written_down = machine.spec.provider_id or machine.status.initialization.infrastructure_provisioned
    return not written_down and found.object.status.phase not in PROVISIONED_PHASES


def _from_machine_api(seen: MachineSnapshot, found: Present[mapi.Machine], *, now: datetime) -> Plan:
    if isinstance(seen.cluster_api, Unreadable):
        text = f"failed to get Cluster API machine: {seen.cluster_api.why}"
        return failed(seen, Fault(Reason.FAILED_TO_UPDATE_CAPI, text, retry=False), now=now)
    return admitted(seen, mirror_in_cluster_api.create_or_update(seen, found, now=now), now=now)


def _from_cluster_api(seen: MachineSnapshot, *, now: datetime) -> Plan:
    if isinstance(seen.cluster_api, Present):
        return admitted(seen, mirror_in_machine_api.create_or_update(seen, seen.cluster_api, now=now), now=now)
    assert isinstance(seen.cluster_api, Unreadable)
    text = f"failed to convert Cluster API machine to Machine API machine: {seen.cluster_api.why}"
    return failed(seen, Fault(Reason.FAILED_TO_CONVERT_TO_MAPI, text, retry=False), now=now)


def _unreadable(seen: MachineSnapshot, found: Unreadable, *, now: datetime) -> Plan:
    """The Machine API Machine cannot be read: its mirror is left alone, but it can be deleted.

    The authority is in its status, which cannot be read either; the mark on a Cluster API mirror says it too.
    """
    source, infra = metadata_of(seen.cluster_api), metadata_of(seen.infra_machine)
    if source is not None and not belongs.is_mirror(source):
        alone = deleted_under_cluster_api(seen, found) or deleted_under_machine_api(seen, found)
        going = alone or deletion.of_both(seen, source, found.metadata, now=now)
    elif source is None and infra is not None and PAUSED_ANNOTATION not in infra.annotations:
        deleting = found.metadata.deletion_timestamp is not None
        going = deletion.of_mirror_alone(seen, now=now) if deleting else None
    else:
        alone = deleted_under_machine_api(seen, found)
        going = alone or deletion.of_machine_api(seen, found.metadata, now=now)
    if going is not None:
        return going
    return unreadable(mapi.Machine, found)


# Two Machines of one name that were never mirrored: each is deleted alone, and neither becomes the other's mirror.
#
# | authority | deleted | condition | what happens |
# |---|---|---|---|
# | any | either | their names conflict (`mirroring.belongs`) | only that one goes |
# | MachineAPI | the Machine of the Machine API | Cluster API's does not have our finalizer | only that one goes |
# | MachineAPI | the Machine of Cluster API | the same, or the other one was never mirrored | only that one goes |
# | ClusterAPI | the Machine of the Machine API | one of them does not have our finalizer | only that one goes |
#
# The MachineSets of one name may be two as well. If the mirror of a machine belonged to the other set, that set would
# count it as a replica, and delete machines that exceed its replicas. So for decisions about a machine of such a set,
# neither set exists: the machine gets no mirror, and the deletion of a mirror that it has does not reach it.


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
