"""Deletion: the mirror is deleted with its set; the set is deleted with its mirror only under the Machine API.

The Machine API is authoritative:

| Machine API MachineSet | Cluster API MachineSet | what happens |
|---|---|---|
| stays | being deleted, by a user | the Machine API MachineSet is deleted too, with the same propagation |
| stays | being deleted, because of its Cluster | it is released, and recreated as soon as there is a Cluster |
| stays | being deleted, with an owner that no mirror has | it is released, and recreated |
| stays | being deleted with its CRD or namespace | it is released, and the condition names them |
| created later | being deleted | released once it owns no machines, then recreated: the user meant an earlier set |
| being deleted, not with Orphan | exists, with machines that are no mirrors | these are deleted |
| being deleted with its CRD or namespace | the same | these stay with Cluster API |
| being deleted | exists, paused | it is deleted with Orphan, the templates too; its finalizers are removed |
| being deleted | exists, not paused | the same, but Cluster API's finalizer is left to Cluster API |
| being deleted | gone | the templates are deleted; then our finalizer is removed |
| gone, by force | exists | an Event: the mirror stays, paused, until a user deletes it |
| gone, by force | being deleted | templates and our finalizers are removed, and Cluster API's, which is paused |

Cluster API is authoritative:

| Cluster API MachineSet | Machine API MachineSet | what happens |
|---|---|---|
| stays | being deleted | the mirror is released; set, templates and machines stay with Cluster API |
| being deleted | exists | the mirror is deleted; after Cluster API, we delete the templates and remove our finalizers |
| being deleted | gone | the same, without a mirror |
| gone | being deleted | the templates are deleted; then our finalizer is removed |

**Deleting a mirror never deletes Machines.** Their authorities decide about them: the Machine API's MachineSet and the
garbage collector, with the propagation that the user chose, or Cluster API. Each mirror follows its own authority. So a
set that is a mirror is deleted with Orphan, even if somebody else has deleted it with another propagation, and waits
until the collector has removed it from the owners of all Machines.

The finalizer `orphan` shows the propagation only until the collector has done its part. After that the Machines show
it: they have a set in one API and none in the other.

Templates are those that we created for the set and that no other MachineSet refers to; a user's templates stay. Each
step waits for the one before; a watch event wakes the next reconcile. All rules use metadata only, so that an object
whose content cannot be read can be deleted too.
"""

from datetime import datetime

from windlass.api import capi, mapi
from windlass.api.meta import KubernetesObject, ObjectMeta
from windlass.kube.control.plan import Delete, Emit, Plan, RemoveFinalizers, WaitFor, target_of
from windlass.kube.control.seen import metadata_of
from windlass.machine_sync.constants import AUTHORITY_ANNOTATION, EVENT_SOURCE, PAUSED_ANNOTATION, SYNC_FINALIZER
from windlass.machine_sync.machine.owners import cluster_owner
from windlass.machine_sync.machine_set import infra_templates
from windlass.machine_sync.machine_set.reasons import failed, removed
from windlass.machine_sync.machine_set.snapshot import MachineSetSnapshot
from windlass.machine_sync.mirroring.collector import FINALIZERS as COLLECTORS
from windlass.machine_sync.mirroring.collector import (
    has_other_owner,
    is_confirmed_absent,
    is_going,
    is_gone,
    is_newer,
    propagation,
)
from windlass.machine_sync.mirroring.finalizers import let_go
from windlass.machine_sync.mirroring.synchronized import left_behind

CLUSTER_API_FINALIZER = "cluster.x-k8s.io/machineset"
"""Cluster API's own on its MachineSets."""

_NO_MIRROR = "it has no mirror any more"
_MIRRORS_NOTHING = "nothing is left that it mirrors"


def of_machine_api(seen: MachineSetSnapshot, source: ObjectMeta, *, now: datetime) -> Plan | None:
    """The Machine API is authoritative, and its MachineSet exists. None: nothing is being deleted."""
    mirror = metadata_of(seen.cluster_api)
    if source.deletion_timestamp is None:
        if mirror is None or mirror.deletion_timestamp is None:
            return None
        return _with_its_mirror(seen, source, mirror, now=now)
    if mirror is None:
        return of_machine_api_alone(seen)
    if seen.acting and seen.removal.unknown:
        return failed(seen, removed(seen), now=now)
    if seen.acting and not seen.removal.cause:
        return _until_machines_are_gone(seen)
    removals = [
        Delete(
            target=target_of(capi.MachineSet, mirror),
            deleting=mirror.deletion_timestamp is not None,
            propagation="Orphan",
            why="the Machine API MachineSet is being deleted",
        ),
        *infra_templates.removable(seen),
    ]
    if any(removal.needed for removal in removals):
        return Plan.of(*removals)
    if removals[1:]:
        return _until_templates_are_gone(removals[1:])
    if PAUSED_ANNOTATION not in mirror.annotations and CLUSTER_API_FINALIZER in mirror.finalizers:
        return Plan().then(WaitFor("Cluster API, which is not paused, to finish deleting the MachineSet"))
    return _off_paused_mirror(seen, mirror)


def of_machine_api_alone(seen: MachineSetSnapshot) -> Plan:
    """The Machine API MachineSet is being deleted, and there is none in Cluster API (any more)."""
    if not is_confirmed_absent(seen.cluster_api):
        return Plan().then(WaitFor("a look at the API server: is the Cluster API MachineSet gone?"))
    if removals := infra_templates.removable(seen):
        return _until_templates_are_gone(removals)
    return Plan.of(_off_machine_api(seen, why=_NO_MIRROR))


def in_work(source: ObjectMeta) -> bool:
    """The Cluster API MachineSet is being deleted, and Cluster API still deletes its machines."""
    return source.deletion_timestamp is not None and CLUSTER_API_FINALIZER in source.finalizers


def of_cluster_api(seen: MachineSetSnapshot, source: ObjectMeta, mirror: ObjectMeta) -> Plan | None:
    """Both MachineSets exist and Cluster API is authoritative. None: neither is being deleted."""
    if source.deletion_timestamp is not None:
        delete = Delete(
            target=target_of(mapi.MachineSet, mirror),
            deleting=mirror.deletion_timestamp is not None,
            why="the Cluster API MachineSet is being deleted",
        )
        return Plan.of(delete) if delete.needed else _after_cluster_api(seen, source)
    if mirror.deletion_timestamp is None:
        return None
    cause = f", because {seen.removal.cause} is being deleted" if seen.removal.cause else ""
    note = (
        f"Its mirror in the Machine API is being deleted{cause}. MachineSet {seen.name} stays, and so do its machines "
        "that Cluster API is the authority of; they are no longer synchronized."
    )
    return Plan.of(
        Emit(
            target=target_of(capi.MachineSet, source),
            type="Normal",
            reason="MirrorReleased",
            note=note,
            source=EVENT_SOURCE,
        ),
        *infra_templates.given_up(seen),
        # The mirror last: once it is gone, nothing says that the other is to be released.
        _off_cluster_api(seen),
        _off_machine_api(seen, why=_MIRRORS_NOTHING),
    )


def of_cluster_api_alone(seen: MachineSetSnapshot, source: ObjectMeta) -> Plan:
    """The Cluster API MachineSet is being deleted and has no mirror (any more)."""
    if SYNC_FINALIZER not in source.finalizers:
        return Plan.nothing("an independent Cluster API MachineSet is being deleted")
    if not is_confirmed_absent(seen.machine_api):
        return Plan().then(WaitFor("a look at the API server: does the Machine API MachineSet exist?"))
    if AUTHORITY_ANNOTATION in source.annotations and PAUSED_ANNOTATION in source.annotations:
        removals = infra_templates.removable(seen)
        return _until_templates_are_gone(removals) if removals else _off_paused_mirror(seen, source)
    return _after_cluster_api(seen, source)


def of_left_behind(mirror: ObjectMeta) -> Plan:
    """The Cluster API MachineSet says that it is a mirror, and the Machine API has no set: deleted by force.

    If we unpaused it, Cluster API would scale it. A user has to decide what to do with it.
    """
    return left_behind(capi.MachineSet, mirror)


def _off_paused_mirror(seen: MachineSetSnapshot, mirror: ObjectMeta) -> Plan:
    if seen.owned:
        return _until_disowned(seen, capi.MachineSet, mirror)
    # Cluster API is paused, so it never removes its own.
    return Plan.of(let_go(capi.MachineSet, seen.cluster_api, CLUSTER_API_FINALIZER, why=_MIRRORS_NOTHING)).then(
        WaitFor("the Cluster API MachineSet to be gone")
    )


def _after_cluster_api(seen: MachineSetSnapshot, source: ObjectMeta) -> Plan:
    if CLUSTER_API_FINALIZER in source.finalizers:
        return Plan().then(WaitFor("Cluster API to finish deleting the MachineSet"))
    if removals := infra_templates.removable(seen):
        return _until_templates_are_gone(removals)
    mirror = metadata_of(seen.machine_api)
    if mirror is not None and seen.owned:
        return _until_disowned(seen, mapi.MachineSet, mirror)
    # Cluster API's first: while the mirror exists, we know that the templates are ours to release.
    return Plan.of(_off_cluster_api(seen), _off_machine_api(seen, why=_MIRRORS_NOTHING))


def is_lost(seen: MachineSetSnapshot) -> bool:
    """The mirror is being deleted, and by no user who wants that of the authority."""
    mirror = metadata_of(seen.cluster_api)
    if mirror is None or mirror.deletion_timestamp is None:
        return False
    source = metadata_of(seen.machine_api)
    earlier = source is not None and is_newer(source, mirror)
    return seen.removal.spares or earlier or _was_collected(seen, mirror)


def _with_its_mirror(seen: MachineSetSnapshot, source: ObjectMeta, mirror: ObjectMeta, *, now: datetime) -> Plan:
    if seen.removal.unknown:
        return failed(seen, removed(seen), now=now)
    report = failed(seen, removed(seen), now=now).actions if seen.removal.cause else ()
    if seen.removal.cause or _was_collected(seen, mirror):
        why = "no user deleted it, and the Machine API MachineSet stays"
        return Plan.of(*report, let_go(capi.MachineSet, seen.cluster_api, CLUSTER_API_FINALIZER, *COLLECTORS, why=why))
    if is_newer(source, mirror):
        return _off_paused_mirror(seen, mirror)
    return Plan.of(
        Delete(
            target=target_of(mapi.MachineSet, source),
            propagation="Orphan" if seen.disowned else propagation(mirror),
            why="its Cluster API mirror is being deleted",
        )
    )


def _was_collected(seen: MachineSetSnapshot, mirror: ObjectMeta) -> bool:
    """The collector deleted it: because of its Cluster, or perhaps because of an owner that no mirror has."""
    if has_other_owner(mirror, capi.Cluster):
        return True
    cluster = cluster_owner(mirror)
    return cluster is not None and (is_gone(cluster, seen.cluster) or is_going(seen.cluster))


def _until_machines_are_gone(seen: MachineSetSnapshot) -> Plan:
    """The set has Machines whose authority is Cluster API, and they are deleted with it.

    Their set stays until they are gone: Cluster API's controller reads the set that a Machine names.
    """
    deletions = [
        Delete(
            target=target_of(capi.Machine, machine),
            deleting=machine.deletion_timestamp is not None,
            why="its MachineSet is being deleted in the Machine API, which is the set's authority",
        )
        for machine in seen.acting
    ]
    names = ", ".join(machine.name for machine in seen.acting)
    return Plan.of(*deletions).then(WaitFor(f"Cluster API to delete the machines of the set: {names}"))


def _until_disowned(seen: MachineSetSnapshot, kind: type[KubernetesObject], mirror: ObjectMeta) -> Plan:
    """A set that is a mirror must not be deleted while it owns Machines: the collector would delete them."""
    orphan = Delete(
        target=target_of(kind, mirror),
        propagation="Orphan",
        deleting=bool(propagation(mirror)),
        why="its machines must not go with it",
    )
    return Plan.of(orphan).then(WaitFor(f"the garbage collector to take {len(seen.owned)} machines off the set"))


def _until_templates_are_gone(removals: list[Delete]) -> Plan:
    names = ", ".join(removal.target.name for removal in removals)
    return Plan.of(*removals).then(WaitFor(f"infrastructure templates to be gone: {names}"))


def _off_cluster_api(seen: MachineSetSnapshot) -> RemoveFinalizers | None:
    return let_go(capi.MachineSet, seen.cluster_api, why=_NO_MIRROR)


def _off_machine_api(seen: MachineSetSnapshot, *, why: str) -> RemoveFinalizers | None:
    return let_go(mapi.MachineSet, seen.machine_api, why=why)
