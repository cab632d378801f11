"""Deletion while Cluster API is authoritative: neither side is left behind, and the instance goes with its authority.

| Cluster API Machine | Machine API Machine | what happens |
|---|---|---|
| stays | being deleted | the Cluster API Machine is deleted too, unless only the *mirror's* MachineSet is going |
| stays | being deleted with its MachineSet | the mirror is let go; machine and instance stay with Cluster API |
| being deleted | there | mirror deleted; then, as each is done: infra provider, Cluster API, we |
| being deleted | gone | our finalizers come off: there is nothing left that they could hold |
| gone | being deleted | the mirror is let go |

Each step waits for the finalizer of whoever must act first; the watch brings us back.
"""

from windlass.api import capi, mapi
from windlass.api.meta import ObjectMeta
from windlass.kube.plan import Delete, Emit, Plan, RemoveFinalizers, WaitFor
from windlass.kube.seen import Absent, NotServedKind
from windlass.machine_sync.constants import (
    CLUSTER_API_FINALIZER,
    EVENT_SOURCE,
    INFRA_FINALIZER_SUFFIX,
    MACHINE_API_FINALIZER,
    SYNC_FINALIZER,
)
from windlass.machine_sync.machine.snapshot import MachineSnapshot, metadata_of, set_owner, target_of


def of_both(seen: MachineSnapshot, source: ObjectMeta, mirror: ObjectMeta) -> Plan | None:
    """Both Machines exist and Cluster API is authoritative. None: neither is being deleted."""
    if source.deletion_timestamp is not None:
        return _follow_source(seen, source, mirror)
    if mirror.deletion_timestamp is None:
        return None
    if _only_the_mirror_set_goes(seen, source, mirror):
        note = f"The Machine API MachineSet of the mirror is being deleted; machine {seen.name} stays in Cluster API."
        return Plan.of(
            Emit(
                target=target_of(capi.Machine, source),
                type="Normal",
                reason="MirrorReleased",
                note=note,
                source=EVENT_SOURCE,
            ),
            # The mirror last: once it is gone nothing tells that the others were to be let go.
            *_off_cluster_api(seen, source),
            _off_mirror(mirror),
        )
    return Plan.of(Delete(target=target_of(capi.Machine, source), why="its Machine API mirror is being deleted")).then(
        WaitFor("Cluster API to delete the machine")
    )


def of_source_alone(seen: MachineSnapshot, source: ObjectMeta) -> Plan:
    """The Cluster API Machine is being deleted and has no mirror (any more): hold nothing."""
    if not _confirmed_absent(seen.mirror):
        return Plan().then(WaitFor("a look at the API server: does the Machine API Machine exist?"))
    return Plan.of(*_off_cluster_api(seen, source))


def of_mirror_alone(seen: MachineSnapshot, mirror: ObjectMeta) -> Plan:
    """The mirror is being deleted, Cluster API is authoritative and has no Machine (any more).

    The Machine API controllers are paused for this Machine, so nobody else takes off their finalizer. While the infra
    machine is left, so may be the instance.
    """
    infra = metadata_of(seen.infra)
    if infra is not None:
        waiting = WaitFor(f"the infrastructure provider to delete {infra.name}")
        if infra.deletion_timestamp is None or _provider_at_work(infra):
            return Plan().then(waiting)
        return Plan.of(_off_infra(seen)).then(waiting)
    if not (_confirmed_absent(seen.source) and _confirmed_absent(seen.infra)):
        return Plan().then(WaitFor("a look at the API server: are the Cluster API objects gone?"))
    return Plan.of(_off_mirror(mirror))


def _follow_source(seen: MachineSnapshot, source: ObjectMeta, mirror: ObjectMeta) -> Plan:
    delete_mirror = Delete(
        target=target_of(mapi.Machine, mirror),
        deleting=mirror.deletion_timestamp is not None,
        why="the Cluster API Machine is being deleted",
    )
    if isinstance(seen.infra, NotServedKind):
        return Plan.of(delete_mirror).then(WaitFor(f"the infrastructure machine: {seen.infra.why}"))
    infra = metadata_of(seen.infra)
    if infra is not None and _provider_at_work(infra):
        return Plan.of(delete_mirror).then(WaitFor(f"the infrastructure provider to delete {infra.name}"))
    off_infra = _off_infra(seen)
    if CLUSTER_API_FINALIZER in source.finalizers:
        return Plan.of(delete_mirror, off_infra).then(WaitFor("Cluster API to finish deleting the machine"))
    if delete_mirror.needed:
        return Plan.of(delete_mirror, off_infra)
    return Plan.of(off_infra, _off_mirror(mirror), _off_source(source))


def _only_the_mirror_set_goes(seen: MachineSnapshot, source: ObjectMeta, mirror: ObjectMeta) -> bool:
    """The mirror goes because its MachineSet does, while the MachineSet of the machine itself stays."""
    owner = set_owner(mirror, mapi.MachineSet.RESOURCE.api_version)
    source_owner = set_owner(source, capi.MachineSet.RESOURCE.api_version)
    if owner is None or source_owner is None:
        return False
    mirror_set, source_set = metadata_of(seen.mirror_set), metadata_of(seen.source_set)
    mirror_set_goes = (
        _confirmed_absent(seen.mirror_set)
        if mirror_set is None
        else mirror_set.uid != owner.uid or mirror_set.deletion_timestamp is not None
    )
    source_set_stays = (
        source_set is not None and source_set.uid == source_owner.uid and source_set.deletion_timestamp is None
    )
    return mirror_set_goes and source_set_stays


def _provider_at_work(infra: ObjectMeta) -> bool:
    """An infrastructure provider still holds the object, so the instance may exist."""
    return any(finalizer.endswith(INFRA_FINALIZER_SUFFIX) for finalizer in infra.finalizers)


def _off_mirror(mirror: ObjectMeta) -> RemoveFinalizers:
    return RemoveFinalizers(
        target=target_of(mapi.Machine, mirror),
        observed=tuple(mirror.finalizers),
        finalizers=(MACHINE_API_FINALIZER, SYNC_FINALIZER),
        why="nothing is left that it mirrors",
    )


def _off_source(source: ObjectMeta) -> RemoveFinalizers:
    return RemoveFinalizers(
        target=target_of(capi.Machine, source),
        observed=tuple(source.finalizers),
        finalizers=(SYNC_FINALIZER,),
        why="it has no mirror any more",
    )


def _off_infra(seen: MachineSnapshot) -> RemoveFinalizers | None:
    infra = metadata_of(seen.infra)
    if infra is None:
        return None
    return RemoveFinalizers(
        target=target_of(seen.platform.infra_machine, infra),
        observed=tuple(infra.finalizers),
        finalizers=(SYNC_FINALIZER,),
        why="the infrastructure provider has finished",
    )


def _off_cluster_api(seen: MachineSnapshot, source: ObjectMeta) -> tuple[RemoveFinalizers | None, RemoveFinalizers]:
    return _off_infra(seen), _off_source(source)


def _confirmed_absent(found: object) -> bool:
    return isinstance(found, Absent) and found.confirmed
