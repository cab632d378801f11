"""What a decision about a MachineSet relies on: the snapshot of the caches, with what has to be asked for.

| what is asked for | when | since otherwise |
|---|---|---|
| Cluster API's MachineSet, if absent | there is one in the Machine API | it would be created twice |
| the Machine API's, live | the mark on the other one contradicts it | authority moved unseen |
| Cluster API's, live | it is older than its record | an old version would be mirrored |
| the same | one of the two is being deleted | one that stays, or was recreated, would go too |
| Machines, live | their MachineSet is being deleted | those that it has released would go with it |
| CRD and namespace, live | a mirror is being deleted | see `mirroring.removal` |

A cache is enough for the rest. What the step of a move of authority relies on is asked for by the step (`decide`).
"""

from collections.abc import Collection, Mapping

from msgspec.structs import replace

from windlass.api import capi, config, mapi
from windlass.api.meta import KubernetesObject, ObjectMeta
from windlass.kube.control.seen import Absent, NotServedKind, Present, Unreadable, metadata_of
from windlass.machine_sync.constants import AUTHORITY_ANNOTATION, CLUSTER_API, MACHINE_API, MIGRATING, SYNC_FINALIZER
from windlass.machine_sync.machine.owners import cluster_owner
from windlass.machine_sync.machine.snapshot import set_owner
from windlass.machine_sync.machine_set import deletion
from windlass.machine_sync.machine_set.observe import BY_OWNER, BY_SET, BY_TEMPLATE
from windlass.machine_sync.machine_set.snapshot import MachineSetSnapshot, Template
from windlass.machine_sync.mirroring import migration
from windlass.machine_sync.mirroring.collector import ORPHAN, is_going, propagation
from windlass.machine_sync.mirroring.looking import INFRASTRUCTURE
from windlass.machine_sync.mirroring.removal import created, why_deleted
from windlass.machine_sync.mirroring.synchronized import behind, disagree


def looked(seen: MachineSetSnapshot) -> MachineSetSnapshot:
    """The snapshot with all that decisions rely on, but for the next step of a move of authority."""
    machine_api = seen.see(mapi.MachineSet, seen.name)
    # If a mirror has to be created, its absence decides.
    cluster_api = seen.see(capi.MachineSet, seen.name, confirm=not isinstance(machine_api, Absent))
    meta = metadata_of(cluster_api)
    left = isinstance(machine_api, Absent) and meta is not None and AUTHORITY_ANNOTATION in meta.annotations
    if meta is not None and (left or disagree(machine_api, meta)):
        machine_api = seen.see(mapi.MachineSet, seen.name, live=True)
    seen = replace(seen, machine_api=machine_api, cluster_api=cluster_api)
    if isinstance(seen.machine_api, NotServedKind) or isinstance(seen.cluster_api, NotServedKind):
        return seen
    if isinstance(seen.machine_api, Absent):
        return _with_removal(_without_machine_api(seen))
    seen = _with_removal(seen)
    if seen.removal.cause:
        # Nothing else decides, and our rights go with the namespace.
        return _with_templates(seen)
    if is_going(seen.machine_api) != is_going(seen.cluster_api) and not isinstance(seen.cluster_api, Absent):
        # Whether the other set stays, and has the uid that we know, decides about a MachineSet.
        seen = replace(seen, cluster_api=seen.see(capi.MachineSet, seen.name, live=True))
    if is_going(seen.machine_api) or is_going(seen.cluster_api):
        seen = _going(_with_templates(seen))
        # Its mirror is kept up to date while Cluster API deletes the machines.
        return _with_removal(_from_cluster_api(seen) if _is_in_work(seen) else seen)
    if not isinstance(seen.machine_api, Present):
        return _with_removal(seen)
    return _with_removal(_of_its_authority(_with_templates(seen), seen.machine_api))


def _with_removal(seen: MachineSetSnapshot) -> MachineSetSnapshot:
    """The snapshot with the reason of a deletion, if that decides."""
    kind = _removed(seen)
    if kind is None or kind is seen.removal.kind:
        return seen
    return replace(seen, removal=why_deleted(seen, kind, namespaces=seen.namespaces, last=seen.last))


def _of_its_authority(seen: MachineSetSnapshot, machine_api: Present[mapi.MachineSet]) -> MachineSetSnapshot:
    """The snapshot with the objects that a conversion of the authority needs; while it moves, of the last one."""
    authority = machine_api.object.status.authoritative_api
    if authority == MIGRATING:
        return _from_machine_api(seen) if seen.move.source == MACHINE_API else _from_cluster_api(seen)
    if authority == CLUSTER_API and not isinstance(seen.cluster_api, Absent):
        return _pausing_cluster(_from_cluster_api(seen))
    return _from_machine_api(seen)


def ask_for(seen: MachineSetSnapshot, kinds: Collection[type[KubernetesObject]]) -> None:
    """Ask what the API server has now of the MachineSets of these kinds; then `looked` shows that.

    Templates are not asked for: no controller acts on one.
    """
    seen.ask(*((kind, seen.name) for kind in (capi.MachineSet, mapi.MachineSet) if kind in kinds))


def _without_machine_api(seen: MachineSetSnapshot) -> MachineSetSnapshot:
    source = metadata_of(seen.cluster_api)
    if source is None or source.deletion_timestamp is None or SYNC_FINALIZER not in source.finalizers:
        return seen
    seen = replace(seen, machine_api=seen.see(mapi.MachineSet, seen.name, live=True))
    if isinstance(seen.machine_api, Absent) and AUTHORITY_ANNOTATION in source.annotations:
        seen = replace(seen, owned=tuple(sorted(_machines(seen, capi.Machine, source))))
    return _with_templates(seen)


def _from_cluster_api(seen: MachineSetSnapshot) -> MachineSetSnapshot:
    meta = metadata_of(seen.cluster_api)
    if meta is not None and behind(seen.machine_api, meta):
        seen = replace(seen, cluster_api=seen.see(capi.MachineSet, seen.name, live=True))
    if not isinstance(seen.cluster_api, Present):
        return seen
    spec = seen.cluster_api.object.spec
    if name := spec.template.spec.infrastructure_ref.name:
        seen = replace(seen, template=seen.see(seen.platform.infra_template, name, confirm=True))
    if spec.cluster_name:
        seen = replace(seen, infra_cluster=seen.see(seen.platform.infra_cluster, spec.cluster_name, confirm=True))
    return replace(seen, infrastructure=seen.see(config.Infrastructure, INFRASTRUCTURE))


def _pausing_cluster(seen: MachineSetSnapshot) -> MachineSetSnapshot:
    """Authority is to leave Cluster API, whose controllers say that they are paused: perhaps by their Cluster."""
    theirs = seen.cluster_api
    if not isinstance(theirs, Present) or not seen.move.requested:
        return seen
    name = theirs.object.spec.cluster_name
    if not name or migration.taken_up(seen.move, seen.cluster):
        return seen
    return replace(seen, cluster=seen.see(capi.Cluster, name, live=True))


def _from_machine_api(seen: MachineSetSnapshot) -> MachineSetSnapshot:
    infrastructure = seen.see(config.Infrastructure, INFRASTRUCTURE)
    seen = replace(seen, infrastructure=infrastructure)
    name = infrastructure.object.status.infrastructure_name if isinstance(infrastructure, Present) else ""
    if not name:
        return seen
    seen = replace(seen, infra_cluster=seen.see(seen.platform.infra_cluster, name))
    return replace(seen, cluster=seen.see(capi.Cluster, name, confirm=True))


def _with_templates(seen: MachineSetSnapshot) -> MachineSetSnapshot:
    templates = [
        Template(one, _users(seen, one.metadata.name))
        for one in seen.indexed(seen.platform.infra_template, BY_SET, seen.name)
        if isinstance(one, Present | Unreadable)
    ]
    return replace(seen, templates=tuple(sorted(templates, key=lambda template: template.name)))


def _going(seen: MachineSetSnapshot) -> MachineSetSnapshot:
    """The MachineSet is being deleted in either API: its machines are deleted or kept by their authority."""
    ours, theirs = metadata_of(seen.machine_api), metadata_of(seen.cluster_api)
    here = _machines(seen, mapi.Machine, ours)
    there = _machines(seen, capi.Machine, theirs)
    if ours is None or not _is_mirror_in_cluster_api(seen):
        return replace(seen, owned=tuple(sorted(here)))
    seen = replace(seen, owned=tuple(sorted(there)))
    if ours.deletion_timestamp is not None:
        return _with_acting(seen, ours, there)
    if theirs is None:
        return seen
    # Background, or Orphan after the collector has done its part: only the Machines show which.
    unclear = [] if propagation(theirs) else sorted(here)
    owner = cluster_owner(theirs)
    seen.ask(*((capi.Cluster, one.name) for one in (owner,) if one), *((capi.Machine, name) for name in unclear))
    if owner:
        seen = replace(seen, cluster=seen.see(capi.Cluster, owner.name, live=True))
    mirrors = (metadata_of(seen.see(capi.Machine, name, live=True)) for name in unclear)
    kind = capi.MachineSet.RESOURCE.api_version
    disowned = any(mirror is not None and set_owner(mirror, kind) is None for mirror in mirrors)
    return replace(seen, disowned=disowned)


def _with_acting(seen: MachineSetSnapshot, ours: ObjectMeta, there: Mapping[str, ObjectMeta]) -> MachineSetSnapshot:
    """The Cluster API Machines to delete with the Machine API's set: not those that it has released."""
    if ORPHAN in ours.finalizers:
        return seen
    acting = {name: meta for name, meta in there.items() if AUTHORITY_ANNOTATION not in meta.annotations}
    staying = sorted(name for name, meta in acting.items() if meta.deletion_timestamp is None)
    seen.ask(*((mapi.Machine, name) for name in staying))
    for name in staying:
        mirror = metadata_of(seen.see(mapi.Machine, name, live=True))
        if mirror is None or _owner_uid(mirror) != ours.uid:
            del acting[name]
    return replace(seen, acting=tuple(acting[name] for name in sorted(acting)))


def _machines(
    seen: MachineSetSnapshot, kind: type[mapi.Machine] | type[capi.Machine], owner: ObjectMeta | None
) -> dict[str, ObjectMeta]:
    """The Machines that belong to a MachineSet, by name."""
    if owner is None:
        return {}
    machines = map(metadata_of, seen.indexed(kind, BY_OWNER, owner.uid))
    return {meta.name: meta for meta in machines if meta is not None}


def _users(seen: MachineSetSnapshot, template: str) -> tuple[str, ...]:
    """The other MachineSets of Cluster API that refer to the template."""
    users = map(metadata_of, seen.last_known(capi.MachineSet, BY_TEMPLATE, template))
    return tuple(sorted(meta.name for meta in users if meta is not None and meta.name != seen.name))


def _is_in_work(seen: MachineSetSnapshot) -> bool:
    source = metadata_of(seen.cluster_api)
    return source is not None and deletion.in_work(source) and not _is_mirror_in_cluster_api(seen)


def _removed(seen: MachineSetSnapshot) -> type[KubernetesObject] | None:
    """The kind whose CRD and namespace matter: that of a mirror that is being deleted, of a set with Machines that are
    to be deleted with it, or of what could not be created."""
    if (kind := created(seen.last)) is not None:
        return kind
    ours, theirs = is_going(seen.machine_api), is_going(seen.cluster_api)
    if isinstance(seen.machine_api, Absent) or not (ours or theirs):
        return None
    if ours and (seen.acting or (not theirs and not _is_mirror_in_cluster_api(seen))):
        return mapi.MachineSet
    return capi.MachineSet if not ours and _is_mirror_in_cluster_api(seen) else None


def _is_mirror_in_cluster_api(seen: MachineSetSnapshot) -> bool:
    """The MachineSet of Cluster API is the mirror; its mark says so if the other cannot be read."""
    if isinstance(seen.machine_api, Present):
        return seen.machine_api.object.status.authoritative_api == MACHINE_API
    theirs = metadata_of(seen.cluster_api)
    return theirs is None or AUTHORITY_ANNOTATION in theirs.annotations


def _owner_uid(machine: ObjectMeta) -> str:
    owner = set_owner(machine, mapi.MachineSet.RESOURCE.api_version)
    return owner.uid if owner else ""
