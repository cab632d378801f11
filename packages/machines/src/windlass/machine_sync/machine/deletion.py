"""Deletion: the instance is deleted with its authority, and no object is left behind.

Cluster API is authoritative:

| Cluster API Machine | Machine API Machine | what happens |
|---|---|---|
| stays | being deleted by a user | the Cluster API Machine is deleted too |
| stays | being deleted because of its MachineSet | the mirror is released; machine and instance stay with Cluster API |
| stays | being deleted, with an owner that no mirror has | the same |
| stays, and belongs to no MachineSet | being deleted, adopted by a MachineSet | the same |
| stays | being deleted with its CRD or namespace | the same |
| created later | being deleted | the same |
| stays, and its MachineSet may be deleted | being deleted because of its MachineSet | wait: that MachineSet decides |
| stays | stays, and the infra machine is being deleted | once only we hold the infra machine, it is released |
| being deleted | exists | mirror deleted; then finalizers of, in order: infra provider, Cluster API, us |
| being deleted | gone | our finalizers are removed: there is no mirror left to clean up |
| gone | being deleted | the infra machine is deleted if it exists, then the mirror is released |
| gone | being deleted with its CRD or namespace | infra machine and mirror are released |

The Machine API is authoritative:

| Machine API Machine | Cluster API Machine | what happens |
|---|---|---|
| stays | being deleted by a user | the Machine API Machine is deleted too |
| stays | being deleted because of its owner | the mirror gives up its infra machine, is released and recreated |
| stays | being deleted with its CRD or namespace | the same, and the condition names them |
| created later | being deleted | the same: the user meant an earlier machine |
| stays | gone, and so goes the infra machine with its CRD or namespace | the infra machine is released |
| being deleted | exists or gone | mirror and infra machine deleted; then finalizers of, in order: the Machine API, us |
| gone, by force | exists | an Event: the mirror stays, paused, until a user deletes it |
| gone, by force | being deleted | our finalizers are removed, and Cluster API's, which is paused |

`collected` tells who deleted a mirror. If it was the garbage collector, a MachineSet that has adopted the mirror, or
the API server because the CRD or the namespace is being deleted, the authority stays. While it is unknown, only the
condition is written.

Each step waits until the controller that must act first has removed its finalizer; a watch event wakes the next
reconcile. A mirror's own controllers are paused, so we remove their finalizers; if they are not paused, we leave that
to them. All rules use metadata only, so that an object whose content cannot be read can be deleted too.
"""

from datetime import datetime

from windlass.api import capi, mapi
from windlass.api.meta import ObjectMeta, tree
from windlass.kube.control.plan import Action, Delete, Emit, Merge, Plan, RemoveFinalizers, WaitFor, target_of
from windlass.kube.control.seen import Absent, NotServedKind, metadata_of
from windlass.machine_sync.constants import (
    AUTHORITY_ANNOTATION,
    CLUSTER_API_FINALIZER,
    EVENT_SOURCE,
    INFRA_FINALIZER_SUFFIX,
    MACHINE_API_FINALIZER,
    PAUSED_ANNOTATION,
    SYNC_FINALIZER,
)
from windlass.machine_sync.machine import collected, infra_machine
from windlass.machine_sync.machine.reasons import failed, removed
from windlass.machine_sync.machine.snapshot import MachineSnapshot, set_owner
from windlass.machine_sync.mirroring.belongs import is_paused_mirror
from windlass.machine_sync.mirroring.collector import FINALIZERS as COLLECTORS
from windlass.machine_sync.mirroring.collector import ORPHAN, has_other_owner, is_confirmed_absent, is_going
from windlass.machine_sync.mirroring.finalizers import let_go
from windlass.machine_sync.mirroring.synchronized import left_behind

_NO_MIRROR = "it has no mirror any more"
_MIRRORS_NOTHING = "nothing is left that it mirrors"


def in_work(source: ObjectMeta, finalizer: str) -> bool:
    """The authority is being deleted, and its controllers, which have this finalizer, still work on that."""
    return source.deletion_timestamp is not None and finalizer in source.finalizers


def of_both(seen: MachineSnapshot, source: ObjectMeta, mirror: ObjectMeta, *, now: datetime) -> Plan | None:
    """Both Machines exist and Cluster API is authoritative. None: nothing is being deleted, or its provider acts."""
    if source.deletion_timestamp is not None:
        return _follow_cluster_api(seen, source, mirror)
    if mirror.deletion_timestamp is None:
        return _deleted_infra(seen)
    if not collected.in_machine_api(seen, mirror):
        why = "its Machine API mirror is being deleted"
        return Plan.of(Delete(target=target_of(capi.Machine, source), why=why)).then(
            WaitFor("Cluster API to delete the machine")
        )
    if seen.removal.unknown:
        return failed(seen, removed(seen), now=now)
    cause = seen.removal.cause
    if not (cause or collected.is_earlier(source, mirror)) and (owner := _going_set(seen, source)):
        return Plan().then(WaitFor(f"MachineSet {owner} to be gone, and the machine with it or without an owner"))
    why = "goes with the MachineSet that it belonged to in the Machine API"
    if cause:
        why = f"is deleted because {cause} is being deleted"
    elif collected.is_earlier(source, mirror):
        why = "was deleted before this machine was created"
    elif has_other_owner(mirror, mapi.MachineSet):
        why = "was deleted while it had an owner that no mirror has"
    elif collected.adopted(seen, mirror):
        why = "was deleted while it belonged to a MachineSet of the Machine API, which the machine does not belong to"
    note = f"Its mirror {why}; machine {seen.name} stays in Cluster API, and is no longer synchronized."
    return Plan.of(
        Emit(
            target=target_of(capi.Machine, source),
            type="Normal",
            reason="MirrorReleased",
            note=note,
            source=EVENT_SOURCE,
        ),
        # The mirror last: once it is gone, nothing says that the others are to be released.
        *_off_cluster_api(seen),
        _off_machine_api_mirror(seen),
    )


def of_source_alone(seen: MachineSnapshot) -> Plan:
    """The Cluster API Machine is being deleted and has no mirror (any more): remove our finalizers."""
    if not is_confirmed_absent(seen.machine_api):
        return Plan().then(WaitFor("a look at the API server: does the Machine API Machine exist?"))
    source = metadata_of(seen.cluster_api)
    if source is not None and is_paused_mirror(source):
        # Cluster API is paused, so it never removes its own.
        return Plan.of(
            _off_infra(seen), let_go(capi.Machine, seen.cluster_api, CLUSTER_API_FINALIZER, why=_MIRRORS_NOTHING)
        )
    return Plan.of(*_off_cluster_api(seen))


def of_left_behind(mirror: ObjectMeta) -> Plan:
    """The Cluster API Machine says that it is a mirror, and the Machine API has no Machine: deleted by force.

    If we unpaused it, Cluster API would run it, which never had the instance. A user has to decide what to do with it.
    """
    return left_behind(capi.Machine, mirror)


def of_mirror_alone(seen: MachineSnapshot, *, now: datetime) -> Plan:
    """The mirror is being deleted, Cluster API is authoritative and has no Machine (any more).

    The Machine API controllers are paused for this Machine, so we remove their finalizer. The infra machine is deleted
    first: while it exists, the instance may exist too.
    """
    if seen.removal.unknown:
        return failed(seen, removed(seen), now=now)
    if seen.removal.cause:
        return Plan.of(_off_infra(seen), _off_machine_api_mirror(seen))
    infra = metadata_of(seen.infra_machine)
    if infra is not None:
        waiting = WaitFor(f"the infrastructure provider to delete {infra.name}")
        if infra.deletion_timestamp is None:
            # Nothing else deletes it if no Machine ever owned it.
            why = "the Machine API Machine is being deleted, and there is no Cluster API Machine"
            aim = target_of(seen.platform.infra_machine, infra)
            return Plan.of(Delete(target=aim, why=why) if is_confirmed_absent(seen.cluster_api) else None).then(waiting)
        return Plan.of(_off_infra(seen) if not _provider_at_work(infra) else None).then(waiting)
    if not (is_confirmed_absent(seen.cluster_api) and is_confirmed_absent(seen.infra_machine)):
        return Plan().then(WaitFor("a look at the API server: are the Cluster API objects gone?"))
    return Plan.of(_off_machine_api_mirror(seen))


def of_machine_api(seen: MachineSnapshot, source: ObjectMeta, *, now: datetime) -> Plan | None:
    """The Machine API is authoritative, and its Machine exists. None: nothing is being deleted."""
    mirror, infra = metadata_of(seen.cluster_api), metadata_of(seen.infra_machine)
    if source.deletion_timestamp is None:
        if mirror is None or mirror.deletion_timestamp is None:
            return _left_infra(seen, now=now) if mirror is None else None
        if collected.in_cluster_api(seen, mirror):
            return _lost(seen, source, now=now)
        return Plan.of(
            Delete(target=target_of(mapi.Machine, source), why="its Cluster API mirror is being deleted")
        ).then(WaitFor("the Machine API to delete the machine"))
    if is_confirmed_absent(seen.cluster_api) and is_confirmed_absent(seen.infra_machine):
        return Plan.of(let_go(mapi.Machine, seen.machine_api, why=_NO_MIRROR))
    deletions = [
        Delete(
            target=target_of(kind, meta),
            deleting=meta.deletion_timestamp is not None,
            why="the Machine API Machine is being deleted",
        )
        for kind, meta in ((capi.Machine, mirror), (seen.platform.infra_machine, infra))
        if meta is not None
    ]
    if MACHINE_API_FINALIZER in source.finalizers:
        return Plan.of(*deletions).then(WaitFor("the Machine API to finish deleting the machine"))
    if any(delete.needed for delete in deletions):
        return Plan.of(*deletions)
    if isinstance(seen.infra_machine, NotServedKind) or isinstance(seen.cluster_api, NotServedKind):
        return Plan().then(WaitFor("the kinds of Cluster API to be served"))
    absent = [side for side in (seen.cluster_api, seen.infra_machine) if isinstance(side, Absent)]
    if not all(map(is_confirmed_absent, absent)):
        return Plan().then(WaitFor("a look at the API server: are the Cluster API objects gone?"))
    if infra is not None and not _paused(infra) and _provider_at_work(infra):
        return Plan().then(WaitFor(f"the infrastructure provider, which is not paused, to delete {infra.name}"))
    off_infra = _off_paused_infra(seen, infra) if infra is not None else None
    if mirror is not None and not _paused(mirror) and CLUSTER_API_FINALIZER in mirror.finalizers:
        return Plan.of(off_infra).then(WaitFor(f"Cluster API, which is not paused, to finish deleting {mirror.name}"))
    return Plan.of(
        off_infra,
        let_go(capi.Machine, seen.cluster_api, CLUSTER_API_FINALIZER, why=_MIRRORS_NOTHING),
        # The authority last: without it, nothing says that the others are only mirrors.
        let_go(mapi.Machine, seen.machine_api, why=_NO_MIRROR),
    )


def _follow_cluster_api(seen: MachineSnapshot, source: ObjectMeta, mirror: ObjectMeta) -> Plan:
    delete_mirror = Delete(
        target=target_of(mapi.Machine, mirror),
        deleting=mirror.deletion_timestamp is not None,
        why="the Cluster API Machine is being deleted",
    )
    if isinstance(seen.infra_machine, NotServedKind):
        return Plan.of(delete_mirror).then(WaitFor(f"the infrastructure machine: {seen.infra_machine.why}"))
    infra = metadata_of(seen.infra_machine)
    if infra is not None and _provider_at_work(infra):
        return Plan.of(delete_mirror).then(WaitFor(f"the infrastructure provider to delete {infra.name}"))
    off_infra = _off_infra(seen)
    if CLUSTER_API_FINALIZER in source.finalizers:
        return Plan.of(delete_mirror, off_infra).then(WaitFor("Cluster API to finish deleting the machine"))
    if delete_mirror.needed:
        return Plan.of(delete_mirror, off_infra)
    # The source last: after a crash, it brings the next reconcile back here.
    return Plan.of(off_infra, _off_machine_api_mirror(seen), _off_source(seen))


def _deleted_infra(seen: MachineSnapshot) -> Plan | None:
    """Somebody deleted the infra machine of a machine that stays, and its provider has deleted the instance.

    As long as the object exists, Cluster API takes the instance for running.
    """
    infra = metadata_of(seen.infra_machine)
    if infra is None or infra.deletion_timestamp is None or [*infra.finalizers] != [SYNC_FINALIZER]:
        return None
    return Plan.of(_off_infra(seen))


def _lost(seen: MachineSnapshot, source: ObjectMeta, *, now: datetime) -> Plan:
    """No user deleted the Cluster API mirror: release it; it is recreated if the machine stays.

    First its owner reference is removed from the infra machine. Otherwise the collector would delete that too, and with
    it the object in which its provider keeps the instance.
    """
    if seen.removal.unknown:
        return failed(seen, removed(seen), now=now)
    if seen.removal.cause:
        why = f"{seen.removal.cause} is being deleted, and the machine stays"
        return Plan.of(
            *failed(seen, removed(seen), now=now).actions,
            *(_given_up_infra(seen) or (_disowned_infra(seen),)),
            let_go(capi.Machine, seen.cluster_api, CLUSTER_API_FINALIZER, *COLLECTORS, why=why),
        )
    owner = set_owner(source, mapi.MachineSet.RESOURCE.api_version)
    here = metadata_of(seen.machine_api_set)
    if is_going(seen.cluster_api_set) and owner and here and not is_going(seen.machine_api_set):
        # The finalizers of that set show how it is being deleted, as long as it has machines.
        return Plan().then(WaitFor(f"MachineSet {owner.name} to be deleted in the Machine API as it is in Cluster API"))
    why = "the garbage collector deleted it because of its owner, and the machine stays"
    return Plan.of(
        _disowned_infra(seen),
        let_go(capi.Machine, seen.cluster_api, CLUSTER_API_FINALIZER, *COLLECTORS, why=why),
    )


def _left_infra(seen: MachineSnapshot, *, now: datetime) -> Plan | None:
    """The mirror is gone, and no other can be created, which would recreate the infra machine that is being deleted."""
    if not seen.removal.cause:
        return None
    return Plan((*failed(seen, removed(seen), now=now).actions, *_given_up_infra(seen)))


def _given_up_infra(seen: MachineSnapshot) -> tuple[Action, ...]:
    infra = metadata_of(seen.infra_machine)
    if infra is None or infra.deletion_timestamp is None or not _paused(infra):
        return ()
    return infra_machine.given_up(seen, infra)


def _disowned_infra(seen: MachineSnapshot) -> Merge | Delete | None:
    mirror, infra = metadata_of(seen.cluster_api), metadata_of(seen.infra_machine)
    if mirror is None or infra is None:
        return None
    aim = target_of(seen.platform.infra_machine, infra)
    if infra.deletion_timestamp is not None:
        orphaned = ORPHAN in infra.finalizers or not _provider_at_work(infra)
        return Delete(target=aim, propagation="Orphan", deleting=orphaned, why="what it owns stays")
    kept = [owner for owner in infra.owner_references if owner.uid != mirror.uid]
    if len(kept) == len(infra.owner_references):
        return None
    return Merge(
        target=aim,
        observed={"metadata": {"ownerReferences": tree(infra.owner_references)}},
        desired={"metadata": {"ownerReferences": tree(kept)} if kept else {}},
        why="its Machine is made again",
    )


def _going_set(seen: MachineSnapshot, source: ObjectMeta) -> str:
    """The MachineSet of the Cluster API Machine, if its deletion decides about the machine; else empty.

    A set that is a mirror is deleted in both APIs when it is deleted in the Machine API.
    """
    owner = set_owner(source, capi.MachineSet.RESOURCE.api_version)
    found = metadata_of(seen.cluster_api_set)
    if owner is None or found is None or found.uid != owner.uid:
        return ""
    both = AUTHORITY_ANNOTATION in found.annotations and is_going(seen.machine_api_set)
    return owner.name if found.deletion_timestamp is not None or both else ""


def _provider_at_work(infra: ObjectMeta) -> bool:
    """An infrastructure provider still holds the object, so the instance may exist."""
    return any(map(_providers, infra.finalizers))


def _paused(meta: ObjectMeta) -> bool:
    return PAUSED_ANNOTATION in meta.annotations


def _providers(finalizer: str) -> bool:
    return finalizer.endswith(INFRA_FINALIZER_SUFFIX)


def _off_machine_api_mirror(seen: MachineSnapshot) -> RemoveFinalizers | None:
    return let_go(mapi.Machine, seen.machine_api, MACHINE_API_FINALIZER, why=_MIRRORS_NOTHING)


def _off_source(seen: MachineSnapshot) -> RemoveFinalizers | None:
    return let_go(capi.Machine, seen.cluster_api, why=_NO_MIRROR)


def _off_infra(seen: MachineSnapshot) -> RemoveFinalizers | None:
    return let_go(seen.platform.infra_machine, seen.infra_machine, why="the infrastructure provider has finished")


def _off_paused_infra(seen: MachineSnapshot, infra: ObjectMeta) -> RemoveFinalizers | None:
    theirs = filter(_providers, infra.finalizers)
    return let_go(seen.platform.infra_machine, seen.infra_machine, *theirs, why=_MIRRORS_NOTHING)


def _off_cluster_api(seen: MachineSnapshot) -> tuple[Action | None, Action | None]:
    return _off_infra(seen), _off_source(seen)
