"""What a decision about a machine relies on: the snapshot of the caches, with what has to be asked for.

| what is asked for | when | since otherwise |
|---|---|---|
| the Machine API's Machine, if absent | the other one is being deleted, or marked | it would be taken for gone |
| the same, live | the mark, or an infra machine that is not paused, contradicts it | authority moved unseen |
| Cluster API's Machine, live | it may be gone, or is older than its record | an old version would be mirrored |
| the infra machine, if absent | always | it would be created twice, or left behind |
| the owners of a mirror, live | it is being deleted | they tell who deleted it (`collected`) |
| CRD and namespace, live | a mirror is being deleted | see `mirroring.removal` |

A cache is enough for the rest. What the step of a move of authority relies on is asked for by the step (`decide`).
"""

from collections.abc import Collection
from typing import Any

from msgspec.structs import replace

from windlass.api import capi, config, mapi
from windlass.api.meta import KubernetesObject, ObjectMeta, OwnerReference
from windlass.kube.control.seen import Absent, NotServedKind, Present, Seen, Unreadable, metadata_of
from windlass.machine_sync import constants
from windlass.machine_sync.constants import (
    AUTHORITY_ANNOTATION,
    MACHINE_API_FINALIZER,
    PAUSED_ANNOTATION,
    SYNC_FINALIZER,
)
from windlass.machine_sync.machine.infra_owner import other_owner
from windlass.machine_sync.machine.observe import BY_INFRA_MACHINE, BY_MACHINE
from windlass.machine_sync.machine.owners import cluster_owner
from windlass.machine_sync.machine.snapshot import MachineSnapshot, set_owner
from windlass.machine_sync.mirroring import migration
from windlass.machine_sync.mirroring.collector import is_going
from windlass.machine_sync.mirroring.looking import INFRASTRUCTURE
from windlass.machine_sync.mirroring.removal import created, why_deleted
from windlass.machine_sync.mirroring.synchronized import authority, behind, disagree


def looked(seen: MachineSnapshot) -> MachineSnapshot:
    """The snapshot with all that decisions rely on, but for the next step of a move of authority."""
    cluster_api = seen.see(capi.Machine, seen.name)
    meta = metadata_of(cluster_api)
    # The Machine is being deleted, or is marked as a mirror: the absence of the other one decides.
    decides = meta is not None and (meta.deletion_timestamp is not None or AUTHORITY_ANNOTATION in meta.annotations)
    machine_api = seen.see(mapi.Machine, seen.name, confirm=decides)
    if meta is not None and disagree(machine_api, meta):
        machine_api = seen.see(mapi.Machine, seen.name, live=True)
    seen = replace(seen, machine_api=machine_api, cluster_api=cluster_api)
    if isinstance(machine_api, NotServedKind) or isinstance(cluster_api, NotServedKind):
        return seen
    # Before, since a move of authority depends on it; and after, since later looks may show another deletion.
    return _with_removal(_of_its_authority(_with_removal(seen)))


def _with_removal(seen: MachineSnapshot) -> MachineSnapshot:
    """The snapshot with the reason of a deletion, if that decides."""
    kind = _removed(seen)
    if kind is None or kind is seen.removal.kind:
        return seen
    return replace(seen, removal=why_deleted(seen, kind, namespaces=seen.namespaces, last=seen.last))


def _of_its_authority(seen: MachineSnapshot) -> MachineSnapshot:
    """The snapshot with the objects that decisions under the present authority need; while it moves, the last one."""
    machine_api = seen.machine_api
    if not isinstance(machine_api, Present):
        return _from_cluster_api(seen)
    match machine_api.object.status.authoritative_api or authority(machine_api.object):
        case constants.MACHINE_API:
            return _under_machine_api(seen, machine_api)
        case constants.MIGRATING if seen.move.source == constants.MACHINE_API:
            seen = replace(seen, cluster_api=seen.see(capi.Machine, seen.name, confirm=True))
            return _from_machine_api(seen, machine_api)
        case constants.MIGRATING:
            return _from_cluster_api(seen)
        case constants.CLUSTER_API:
            return _pausing_cluster(_from_cluster_api(seen))
    return seen


def ask_for(seen: MachineSnapshot, kinds: Collection[type[KubernetesObject]]) -> None:
    """Ask what the API server has now of the objects of these kinds; then `looked` shows that."""
    names: dict[type[KubernetesObject], str] = {mapi.Machine: seen.name, capi.Machine: seen.name}
    if (infra := seen.platform.infra_machine) in kinds:
        names[infra] = _infra_reference(seen) or _left_names(seen)[0]
    seen.ask(*((kind, name) for kind, name in names.items() if kind in kinds))


def _from_cluster_api(seen: MachineSnapshot) -> MachineSnapshot:
    """Cluster API is authoritative, or its Machine is the only one that can be read."""
    source, mirror = metadata_of(seen.cluster_api), metadata_of(seen.machine_api)
    if source is None and mirror is None:
        return seen
    if source is not None and seen.removal.cause and is_going(seen.machine_api):
        return _of_removed(seen)
    # It has our finalizer and no mirror: both may be gone, and only the cache of mirrors shows that yet. If it lacks
    # the finalizer, the write that adds it fails if it is gone.
    doubtful = source is None or (mirror is None and SYNC_FINALIZER in source.finalizers)
    goes = mirror is not None and mirror.deletion_timestamp is not None
    if doubtful or (source is not None and behind(seen.machine_api, source)):
        left = set_owner(mirror, mapi.MachineSet.RESOURCE.api_version) if source is None and mirror and goes else None
        seen.ask((capi.Machine, seen.name), *_named((mapi.MachineSet, left), (capi.MachineSet, left)))
        seen = replace(seen, cluster_api=seen.see(capi.Machine, seen.name, live=True))
        source = metadata_of(seen.cluster_api)
        if source is None and mirror is None:
            return seen
    owner = set_owner(source, capi.MachineSet.RESOURCE.api_version) if source else None
    if owner is None and mirror is not None:
        owner = set_owner(mirror, mapi.MachineSet.RESOURCE.api_version)
    cluster = None
    if source is not None and source.deletion_timestamp is not None and isinstance(seen.machine_api, Unreadable):
        goes, cluster = True, cluster_owner(source)
    if goes:
        seen.ask(*_named((mapi.MachineSet, owner), (capi.MachineSet, owner), (capi.Cluster, cluster)))
    if cluster is not None:
        seen = replace(seen, cluster=seen.see(capi.Cluster, cluster.name, live=True))
    if owner is not None:
        adopted = _is_to_get_an_owner(mirror, mapi.MachineSet)
        seen = replace(
            seen,
            machine_api_set=seen.see(mapi.MachineSet, owner.name, live=goes or adopted),
            cluster_api_set=seen.see(capi.MachineSet, owner.name, live=goes),
        )
    if source is None and not goes:
        return _to_convert(_infra(seen), mirror)
    return _infra(seen)


def _pausing_cluster(seen: MachineSnapshot) -> MachineSnapshot:
    """Authority is to leave Cluster API, whose controllers say that they are paused: perhaps by their Cluster."""
    mirror, found = seen.machine_api, seen.cluster_api
    if not isinstance(mirror, Present) or mirror.deleting or not isinstance(found, Present) or not seen.move.requested:
        return seen
    name = found.object.spec.cluster_name
    if not name or migration.taken_up(seen.move, seen.cluster):
        return seen
    return replace(seen, cluster=seen.see(capi.Cluster, name, live=True))


def _under_machine_api(seen: MachineSnapshot, source: Present[mapi.Machine]) -> MachineSnapshot:
    """The Machine API is authoritative according to the cache; an infra machine that is not paused contradicts that."""
    seen = _from_machine_api(seen, source)
    infra = metadata_of(seen.infra_machine)
    if infra is None or PAUSED_ANNOTATION in infra.annotations:
        return seen
    seen = replace(seen, machine_api=seen.see(mapi.Machine, seen.name, live=True))
    found = seen.machine_api
    if isinstance(found, Present) and authority(found.object) == constants.MACHINE_API:
        return seen
    return _of_its_authority(seen)


def _from_machine_api(seen: MachineSnapshot, source: Present[mapi.Machine]) -> MachineSnapshot:
    if seen.removal.cause and not source.deleting:
        return _of_removed(seen)
    if source.deleting and isinstance(seen.cluster_api, Absent):
        seen.confirm((capi.Machine, seen.name), (seen.platform.infra_machine, seen.name))
        seen = replace(seen, cluster_api=seen.see(capi.Machine, seen.name, confirm=True))
    mirror = metadata_of(seen.cluster_api)
    goes = mirror is not None and mirror.deletion_timestamp is not None
    owner = set_owner(source.metadata, mapi.MachineSet.RESOURCE.api_version)
    owning = (set_owner(mirror, capi.MachineSet.RESOURCE.api_version) if mirror and goes else None) or owner
    cluster = cluster_owner(mirror) if mirror is not None and goes else None
    if goes:
        seen.ask(*_named((mapi.MachineSet, owner), (capi.MachineSet, owning), (capi.Cluster, cluster)))
    if owner is not None:
        seen = replace(seen, machine_api_set=seen.see(mapi.MachineSet, owner.name, live=goes))
    if owning is not None:
        adopted = _is_to_get_an_owner(mirror, capi.MachineSet)
        found = seen.see(capi.MachineSet, owning.name, confirm=True, live=goes or adopted)
        seen = replace(seen, cluster_api_set=found)
    seen = _infra(seen)
    if not source.deleting or (mirror is not None and MACHINE_API_FINALIZER in source.metadata.finalizers):
        seen = _to_convert(seen, source.metadata)
    # A mirror that is being deleted may be deleted because of the Cluster that owns it.
    return seen if cluster is None else replace(seen, cluster=seen.see(capi.Cluster, cluster.name, live=True))


def _of_removed(seen: MachineSnapshot) -> MachineSnapshot:
    """Only the infra machine, from the cache: nothing else decides, and our rights go with the namespace."""
    kind, name = seen.platform.infra_machine, _infra_reference(seen)
    known = _names(seen.last_known(kind, BY_MACHINE, seen.name))
    looks = [seen.see(kind, each) for each in ([name] if name else sorted({seen.name, *known}))]
    found = (one for one in looks if metadata_of(one) is not None)
    return replace(seen, infra_machine=next(found, Absent()))


def _named(*owners: tuple[type[KubernetesObject], OwnerReference | None]) -> list[tuple[type[KubernetesObject], str]]:
    return [(kind, owner.name) for kind, owner in owners if owner is not None]


def _to_convert(seen: MachineSnapshot, source: ObjectMeta | None) -> MachineSnapshot:
    """The objects that a conversion to Cluster API needs besides the Machine."""
    infrastructure = seen.see(config.Infrastructure, INFRASTRUCTURE)
    seen = replace(seen, infrastructure=infrastructure)
    name = infrastructure.object.status.infrastructure_name if isinstance(infrastructure, Present) else ""
    if not name:
        return seen
    if source is not None and not source.owner_references:
        seen = replace(seen, cluster=seen.see(capi.Cluster, name, confirm=True))
    if not isinstance(seen.cluster_api, Present):
        seen = replace(seen, infra_cluster=seen.see(seen.platform.infra_cluster, name))
    return seen


def _infra(seen: MachineSnapshot) -> MachineSnapshot:
    """The absence of the infra machine always decides something, so it is confirmed; that of the infra cluster only
    delays."""
    found = seen.cluster_api
    if isinstance(found, Present):
        references = {
            seen.platform.infra_machine: _infra_reference(seen),
            seen.platform.infra_cluster: found.object.spec.cluster_name,
        }
        seen.confirm(*((kind, name) for kind, name in references.items() if name))
    infra = _infra_machine(seen)
    seen = replace(seen, infra_machine=infra, infra_users=_users(seen, infra))
    if not isinstance(found, Present):
        return seen
    infra_cluster: Seen[Any] = Absent()
    if name := found.object.spec.cluster_name:
        infra_cluster = seen.see(seen.platform.infra_cluster, name, confirm=True)
    return replace(seen, infra_cluster=infra_cluster, infrastructure=seen.see(config.Infrastructure, INFRASTRUCTURE))


def _infra_machine(seen: MachineSnapshot) -> Seen[Any]:
    if not isinstance(seen.cluster_api, Present):
        return _left_infra(seen)
    name, infra = _infra_reference(seen), Absent(confirmed=True)
    found: Seen[Any] = seen.see(seen.platform.infra_machine, name, confirm=True) if name else infra
    if _is_mirror(seen) and _is_of_another(seen, found):
        # Somebody changed the mirror's reference. Its own infra machine is still there, and the name is set back.
        return _left_infra(seen)
    return found


def _left_infra(seen: MachineSnapshot) -> Seen[Any]:
    """The infra machine to which no Machine of Cluster API refers, found by our annotation or by its name.

    With another name, it is left from a Machine that was lost; nothing else would find it.
    """
    kind = seen.platform.infra_machine
    *others, name = _left_names(seen)
    for other in others:
        found = seen.see(kind, other, live=True)
        # Anybody may have put our annotation on the infra machine of another Machine.
        if not isinstance(found, Absent) and not _is_of_another(seen, found):
            return found
    return seen.see(kind, name, confirm=True)


def _left_names(seen: MachineSnapshot) -> list[str]:
    """The names of the infra machine without a Machine, the machine's last; only that, if it is one of those known."""
    known = _names(seen.indexed(seen.platform.infra_machine, BY_MACHINE, seen.name))
    return [*(sorted(known) if seen.name not in known else ()), seen.name]


def _is_of_another(seen: MachineSnapshot, infra: Seen[Any]) -> bool:
    meta = metadata_of(infra)
    return meta is not None and bool(other_owner(seen.name, meta, _users(seen, infra)))


def _users(seen: MachineSnapshot, infra: Seen[Any]) -> tuple[str, ...]:
    """The Machines of Cluster API that name the infra machine. Those that were known count while none are served: then
    nothing is written for a Machine.

    Of this machine the snapshot tells, which may be newer than the caches.
    """
    meta, own = metadata_of(infra), seen.cluster_api
    if meta is None:
        return ()
    found = _names(seen.last_known(capi.Machine, BY_INFRA_MACHINE, meta.name))
    if isinstance(own, Present | Absent):
        found = found - {seen.name} | ({seen.name} if _infra_reference(seen) == meta.name else set())
    return tuple(sorted(found))


def _names(found: tuple[Seen[Any], ...]) -> set[str]:
    return {meta.name for meta in map(metadata_of, found) if meta is not None}


def _removed(seen: MachineSnapshot) -> type[KubernetesObject] | None:
    """The kind whose CRD and namespace matter: that of a mirror that is being deleted, of an infra machine that is left
    of one, or of what could not be created."""
    if (kind := created(seen.last)) is not None:
        return kind
    ours, theirs = is_going(seen.machine_api), is_going(seen.cluster_api)
    said = authority(seen.machine_api.object) if isinstance(seen.machine_api, Present) else ""
    if ours and not theirs and said != constants.MACHINE_API:
        return mapi.Machine
    if theirs and not ours and said != constants.CLUSTER_API and not isinstance(seen.machine_api, Absent):
        return capi.Machine
    left = isinstance(seen.cluster_api, Absent) and is_going(seen.infra_machine) and not ours
    return seen.platform.infra_machine if left and said == constants.MACHINE_API else None


def _is_to_get_an_owner(mirror: ObjectMeta | None, kind: type[KubernetesObject]) -> bool:
    """Its authority has a MachineSet as owner and it has none: just adopted, or orphaned by a set."""
    return mirror is not None and set_owner(mirror, kind.RESOURCE.api_version) is None


def _is_mirror(seen: MachineSnapshot) -> bool:
    """The Machine of Cluster API is the mirror, according to the status of the other one."""
    found = seen.machine_api
    return isinstance(found, Present) and authority(found.object) == constants.MACHINE_API


def _infra_reference(seen: MachineSnapshot) -> str:
    found = seen.cluster_api
    return found.object.spec.infrastructure_ref.name if isinstance(found, Present) else ""
