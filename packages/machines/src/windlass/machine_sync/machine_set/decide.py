"""Decides what to do about a MachineSet, by which objects exist and which is authoritative.

| Machine API | Cluster API | status.authoritativeAPI | what follows |
|---|---|---|---|
| - | - | | nothing |
| - | being deleted | | templates and our finalizer are removed (`deletion.of_cluster_api_alone`) |
| - | marked as a mirror | | an Event: its MachineSet was deleted by force; it stays (`deletion.of_left_behind`) |
| - | exists | | nothing: an independent MachineSet; users create the mirror if they want one |
| exists | of its name, but another MachineSet | | neither is written; a condition says so (`mirroring.belongs`) |
| exists | any | empty | filled from spec |
| exists | any | Migrating | authority moves forward or back (`mirroring.migration`) |
| exists | recreated | ClusterAPI | Migrating and back, which lets the recorded generation go down |
| exists | any | MachineAPI | deletion, else the Cluster API mirror is made or brought up to date |
| exists | marked as a mirror | ClusterAPI | the mark is removed, and the pause if it is ours (`migration.released`) |
| exists | exists | ClusterAPI | deletion, else the Machine API mirror is brought up to date |
| being deleted | - | ClusterAPI | the mirror is released |
| exists | - | ClusterAPI | its first Cluster API MachineSet is created, not paused |
| exists | any | unknown | nothing |

When the mirror is up to date and spec names the other authority, authority begins to move.
"""

from datetime import datetime

from windlass.api import capi, mapi
from windlass.kube.control.plan import Done, Plan, WaitFor
from windlass.kube.control.seen import NotServedKind, Present, Unreadable, metadata_of
from windlass.machine_sync.constants import AUTHORITY_ANNOTATION, CLUSTER_API, MACHINE_API, MIGRATING
from windlass.machine_sync.machine_set import deletion, looking, mirror_in_cluster_api, mirror_in_machine_api, selectors
from windlass.machine_sync.machine_set.reasons import Reason, admitted, blame, failed, refused
from windlass.machine_sync.machine_set.snapshot import MachineSetSnapshot
from windlass.machine_sync.mirroring import belongs, migration, taints
from windlass.machine_sync.mirroring.alone import NEVER_MIRRORED, deleted_alone
from windlass.machine_sync.mirroring.finalizers import let_go
from windlass.machine_sync.mirroring.synchronized import Fault, fill_authority, report_only, unreadable


def decide_asking(seen: MachineSetSnapshot, *, now: datetime) -> Plan:
    """The plan for one MachineSet, from what the caches say; it asks for what else it relies on."""
    return decide(looking.looked(seen), now=now)


def decide(seen: MachineSetSnapshot, *, now: datetime) -> Plan:
    """The plan for one MachineSet, from all that it relies on."""
    for side in (seen.machine_api, seen.cluster_api):
        if isinstance(side, NotServedKind):
            return Plan.nothing(side.why)
    _ask_for_step(seen, now=now)
    if isinstance(seen.machine_api, Present):
        return _mirrored(seen, seen.machine_api, now=now)
    if seen.last.failed is not None:
        return Plan().retry(blame(seen.last.failed).message)
    if isinstance(seen.machine_api, Unreadable):
        return _unreadable(seen, seen.machine_api, now=now)
    source = metadata_of(seen.cluster_api)
    if source is None:
        return Plan.nothing("the MachineSet exists in neither API")
    if source.deletion_timestamp is not None:
        return deletion.of_cluster_api_alone(seen, source)
    if AUTHORITY_ANNOTATION in source.annotations:
        return deletion.of_left_behind(source)
    return Plan.nothing("an independent Cluster API MachineSet: the Machine API has none of this name")


def _mirrored(seen: MachineSetSnapshot, found: Present[mapi.MachineSet], *, now: datetime) -> Plan:
    """A MachineSet that exists in the Machine API."""
    said, stopped = found.object.status.authoritative_api, seen.last.failed
    if said == MIGRATING:
        return proceed(seen, found, now=now) if stopped is None else migration.stuck(found, blame(stopped))
    if stopped is not None:
        return refused(seen, stopped, now=now)
    if why := belongs.name_conflict(found, seen.cluster_api):
        return _apart(seen, found, why, now=now)
    if not said:
        return fill_authority(found, "neither spec nor status names an authority")
    if said == MACHINE_API:
        plan = _from_machine_api(seen, found, now=now)
    elif said == CLUSTER_API:
        plan = _from_cluster_api(seen, found, now=now)
    else:
        return Plan.nothing(f"status.authoritativeAPI is {said!r}: no side may be written")
    return _with_move(seen, found, plan)


def _apart(seen: MachineSetSnapshot, found: Present[mapi.MachineSet], why: str, *, now: datetime) -> Plan:
    """Two MachineSets have one name: each is deleted without the other, and nothing else is done."""
    if found.deleting:
        return Plan.of(let_go(mapi.MachineSet, found, why=NEVER_MIRRORED))
    plan = report_only(Fault(Reason.NAME_CONFLICT, why, retry=False), found, now=now)
    going = metadata_of(seen.cluster_api)
    if going is None or going.deletion_timestamp is None:
        return plan
    released = Plan.of(let_go(capi.MachineSet, seen.cluster_api, why=NEVER_MIRRORED))
    return Plan((*plan.actions, *released.actions), plan.next)


def _deleted_alone(seen: MachineSetSnapshot, found: Present[mapi.MachineSet] | Unreadable) -> Plan | None:
    return deleted_alone(found, seen.cluster_api, kind=mapi.MachineSet, other_kind=capi.MachineSet)


def _ask_for_step(seen: MachineSetSnapshot, *, now: datetime) -> None:
    """While authority moves, the next step relies on objects as the API server has them in this round."""
    found = seen.machine_api
    if isinstance(found, Present) and found.object.status.authoritative_api == MIGRATING:
        looking.ask_for(seen, migration.relied_upon(seen.move, proceed(seen, found, now=now), seen.last))


def proceed(seen: MachineSetSnapshot, found: Present[mapi.MachineSet], *, now: datetime) -> Plan:
    """The next step of a MachineSet whose authority moves."""

    def in_sync() -> bool:
        if seen.move.source == MACHINE_API:
            copying = mirror_in_cluster_api.create_or_update(seen, found, now=now)
            return not deletion.is_lost(seen) and migration.up_to_date(copying)
        # Deleting the mirror leaves the set to Cluster API. As the authority it would take the set along.
        return not found.deleting and migration.up_to_date(_mirror_in_machine_api(seen, found, now=now))

    return migration.proceed(seen.move, in_sync=in_sync, now=now)


def _from_machine_api(seen: MachineSetSnapshot, source: Present[mapi.MachineSet], *, now: datetime) -> Plan:
    first = (
        _deleted_alone(seen, source)
        or deletion.of_machine_api(seen, source.metadata, now=now)
        or migration.unheard(source, now=now)
        or migration.recreated(seen.move)
    )
    if first is not None:
        return first
    return admitted(seen, mirror_in_cluster_api.create_or_update(seen, source, now=now), now=now)


def _from_cluster_api(seen: MachineSetSnapshot, mirror: Present[mapi.MachineSet], *, now: datetime) -> Plan:
    source = metadata_of(seen.cluster_api)
    if source is None:
        if mirror.deleting:
            return deletion.of_machine_api_alone(seen)
        return admitted(seen, mirror_in_cluster_api.create_unpaused(seen, mirror, now=now), now=now)
    if AUTHORITY_ANNOTATION in source.annotations:
        return migration.released(seen.move)
    if (going := deletion.of_cluster_api(seen, source, mirror.metadata)) is not None:
        if going.needed or not deletion.in_work(source) or migration.recreated(seen.move) is not None:
            return going
        # Cluster API deletes the machines of the set, and the mirror shows how many are left.
        copying = _mirror_in_machine_api(seen, mirror, now=now)
        return Plan(copying.needed, going.next) if migration.up_to_date(copying) else going
    first = migration.unheard(mirror, now=now) or migration.recreated(seen.move)
    return first if first is not None else _mirror_in_machine_api(seen, mirror, now=now)


def _mirror_in_machine_api(seen: MachineSetSnapshot, mirror: Present[mapi.MachineSet], *, now: datetime) -> Plan:
    if isinstance(seen.cluster_api, Present):
        return admitted(seen, mirror_in_machine_api.update(seen, seen.cluster_api, mirror, now=now), now=now)
    assert isinstance(seen.cluster_api, Unreadable)
    text = f"failed to convert CAPI machine set to MAPI machine set: {seen.cluster_api.why}"
    return failed(seen, Fault(Reason.FAILED_TO_CONVERT_TO_MAPI, text, retry=False), now=now)


def _with_move(seen: MachineSetSnapshot, found: Present[mapi.MachineSet], plan: Plan) -> Plan:
    """`plan`, or the first step of a move of authority if `plan` does nothing but record the generation."""
    move = seen.move
    if not move.requested or found.deleting:
        return plan
    noted = migration.noted(move, plan)
    source = metadata_of(seen.cluster_api)
    if source is None or source.deletion_timestamp is not None or not isinstance(plan.next, Done):
        return plan
    if noted is None or not migration.is_synchronized(move, authority=move.status, noted=noted):
        return plan
    mirror = seen.cluster_api
    if isinstance(mirror, Present) and selectors.difference(found.object, mirror.object):
        return plan.then(WaitFor("the selectors of both MachineSets to be the same before authority moves"))
    if lost := _lost_taints(seen, found):
        return plan.then(WaitFor(f"its taints to be in Cluster API before authority moves: {lost}"))
    if not migration.taken_up(move, seen.cluster):
        return plan.then(WaitFor(f"the controllers of {move.status} to take up their work before authority moves on"))
    return migration.begin(move, plan)


def _lost_taints(seen: MachineSetSnapshot, found: Present[mapi.MachineSet]) -> str:
    if not isinstance(seen.cluster_api, Present):
        return ""
    return taints.lost(found.object.spec.template.spec.taints, seen.cluster_api.object.spec.template.spec.taints)


def _unreadable(seen: MachineSetSnapshot, found: Unreadable, *, now: datetime) -> Plan:
    """The Machine API MachineSet cannot be read: its mirror is left alone, but it can be deleted.

    The authority is in its status, which cannot be read either; the mark on a Cluster API mirror says it too.
    """
    source = metadata_of(seen.cluster_api)
    if source is not None and not belongs.is_mirror(source):
        going = _deleted_alone(seen, found) or deletion.of_cluster_api(seen, source, found.metadata)
    else:
        going = _deleted_alone(seen, found) or deletion.of_machine_api(seen, found.metadata, now=now)
    if going is not None:
        return going
    return unreadable(mapi.MachineSet, found)
