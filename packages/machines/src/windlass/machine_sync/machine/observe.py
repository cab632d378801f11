"""Reads the snapshot of a machine from caches, and from the API server itself where their lag could do harm."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final

from msgspec.structs import replace

from windlass.api import capi, config, mapi
from windlass.api.meta import KubernetesObject, ObjectMeta
from windlass.kube.control.plan import Outcome
from windlass.kube.control.seen import Absent, IndexedReader, NotServedKind, Present, Seen, Unreadable, metadata_of
from windlass.kube.together import together
from windlass.machine_sync import constants
from windlass.machine_sync.constants import (
    AUTHORITY_ANNOTATION,
    MACHINE_API_FINALIZER,
    MIGRATING,
    PAUSED_ANNOTATION,
    SYNC_FINALIZER,
    Namespaces,
)
from windlass.machine_sync.machine.decide import proceed
from windlass.machine_sync.machine.infra_owner import other_owner
from windlass.machine_sync.machine.owners import cluster_owner
from windlass.machine_sync.machine.snapshot import MachineSnapshot, set_owner
from windlass.machine_sync.mirroring import migration
from windlass.machine_sync.mirroring.collector import is_going
from windlass.machine_sync.mirroring.removal import created, why_deleted
from windlass.machine_sync.mirroring.synchronized import authority, behind, disagree
from windlass.machine_sync.platforms import Platform

INFRASTRUCTURE = "cluster"
"""The name of the one Infrastructure object."""

BY_MACHINE: Final = "machine"
"""Index of infra machines: by their machine."""
BY_INFRA_MACHINE: Final = "infra-machine"
"""Index of Cluster API Machines: by the infra machine that they refer to."""

_EVER: Final = datetime.fromtimestamp(0, UTC)
"""Stands for the time in a plan of which only the kinds are used."""


class MachineObserver:
    """Takes snapshots of machines of one platform."""

    def __init__(self, reader: IndexedReader, *, platform: Platform, namespaces: Namespaces) -> None:
        self._reader = reader
        self._platform = platform
        self._namespaces = namespaces

    async def __call__(self, name: str, last: Outcome) -> MachineSnapshot:
        cluster_api = await self._cluster_api(capi.Machine, name)
        meta = metadata_of(cluster_api)
        # The Machine is being deleted, or is marked as a mirror: the absence of the other one decides.
        decides = meta is not None and (meta.deletion_timestamp is not None or AUTHORITY_ANNOTATION in meta.annotations)
        machine_api = await self._machine_api(mapi.Machine, name, confirm=decides)
        if meta is not None and disagree(machine_api, meta):
            machine_api = await self._machine_api(mapi.Machine, name, live=True)
        seen = MachineSnapshot(
            name=name,
            platform=self._platform,
            machine_api=machine_api,
            cluster_api=cluster_api,
            last=last,
            namespaces=self._namespaces,
        )
        if isinstance(machine_api, NotServedKind) or isinstance(cluster_api, NotServedKind):
            return seen
        # Before, since a move of authority depends on it; and after, since later looks may show another deletion.
        seen = await self._with_removal(seen)
        return await self._with_removal(await self._of_its_authority(seen))

    async def _with_removal(self, seen: MachineSnapshot) -> MachineSnapshot:
        kind = _removed(seen)
        if kind is None or kind is seen.removal.kind:
            return seen
        removal = await why_deleted(self._reader, kind, namespaces=self._namespaces, last=seen.last)
        return replace(seen, removal=removal)

    async def _of_its_authority(self, seen: MachineSnapshot) -> MachineSnapshot:
        machine_api = seen.machine_api
        if not isinstance(machine_api, Present):
            return await self._from_cluster_api(seen)
        match machine_api.object.status.authoritative_api or authority(machine_api.object):
            case constants.MACHINE_API:
                return await self._under_machine_api(seen, machine_api)
            case constants.MIGRATING:
                return await self._migrating(seen, machine_api)
            case constants.CLUSTER_API:
                return await self._pausing_cluster(await self._from_cluster_api(seen))
        return seen

    async def _from_cluster_api(self, seen: MachineSnapshot) -> MachineSnapshot:
        """Cluster API is authoritative, or its Machine is the only one that can be read."""
        source, mirror = metadata_of(seen.cluster_api), metadata_of(seen.machine_api)
        if source is None and mirror is None:
            return seen
        if source is not None and seen.removal.cause and is_going(seen.machine_api):
            return await self._of_removed(seen)
        if source is None or (mirror is None and SYNC_FINALIZER in source.finalizers):
            # It has our finalizer and no mirror: both may be gone, and only the cache of mirrors shows that yet. If it
            # lacks the finalizer, the write that adds it fails if it is gone.
            seen = replace(seen, cluster_api=await self._cluster_api(capi.Machine, seen.name, live=True))
            source = metadata_of(seen.cluster_api)
            if source is None and mirror is None:
                return seen
        elif behind(seen.machine_api, source):
            seen = replace(seen, cluster_api=await self._cluster_api(capi.Machine, seen.name, live=True))
            source = metadata_of(seen.cluster_api)
        goes = mirror is not None and mirror.deletion_timestamp is not None
        if source is not None and isinstance(seen.machine_api, Unreadable):
            seen = await self._owning_cluster(seen, source)
            goes = goes or source.deletion_timestamp is not None
        owner = set_owner(source, capi.MachineSet.RESOURCE.api_version) if source else None
        if owner is None and mirror is not None:
            owner = set_owner(mirror, mapi.MachineSet.RESOURCE.api_version)
        if owner is not None:
            live = goes or _is_to_get_an_owner(mirror, mapi.MachineSet)
            seen = replace(
                seen,
                machine_api_set=await self._machine_api(mapi.MachineSet, owner.name, live=live),
                cluster_api_set=await self._cluster_api(capi.MachineSet, owner.name, live=goes),
            )
        if source is None and not goes:
            return await self._to_convert(await self._infra(seen), mirror)
        return await self._infra(seen)

    async def _pausing_cluster(self, seen: MachineSnapshot) -> MachineSnapshot:
        """Authority is to leave Cluster API, whose controllers say that they are paused: perhaps by their Cluster."""
        found = seen.cluster_api
        if not isinstance(seen.machine_api, Present) or not isinstance(found, Present) or not seen.move.requested:
            return seen
        name = found.object.spec.cluster_name
        if not name or migration.taken_up(seen.move, seen.cluster):
            return seen
        return replace(seen, cluster=await self._cluster_api(capi.Cluster, name, live=True))

    async def _from_machine_api(self, seen: MachineSnapshot, source: Present[mapi.Machine]) -> MachineSnapshot:
        mirror = metadata_of(seen.cluster_api)
        if seen.removal.cause and not source.deleting:
            return await self._of_removed(seen)
        if source.deleting and mirror is None:
            seen = replace(seen, cluster_api=await self._cluster_api(capi.Machine, seen.name, confirm=True))
        goes = mirror is not None and mirror.deletion_timestamp is not None
        owner = set_owner(source.metadata, mapi.MachineSet.RESOURCE.api_version)
        owning = (set_owner(mirror, capi.MachineSet.RESOURCE.api_version) if mirror and goes else None) or owner
        if owner is not None:
            seen = replace(seen, machine_api_set=await self._machine_api(mapi.MachineSet, owner.name, live=goes))
        if owning is not None:
            live = goes or _is_to_get_an_owner(mirror, capi.MachineSet)
            machine_set = await self._cluster_api(capi.MachineSet, owning.name, confirm=True, live=live)
            seen = replace(seen, cluster_api_set=machine_set)
        seen = await self._infra(seen)
        if not source.deleting or (mirror is not None and MACHINE_API_FINALIZER in source.metadata.finalizers):
            seen = await self._to_convert(seen, source.metadata)
        return seen if mirror is None else await self._owning_cluster(seen, mirror)

    async def _of_removed(self, seen: MachineSnapshot) -> MachineSnapshot:
        """Only the infra machine, from the cache: nothing else decides, and our rights go with the namespace."""
        kind, name = self._platform.infra_machine, _infra_reference(seen)
        known = {infra.name for infra in self._reader.known(kind, BY_MACHINE, seen.name)}
        looks = [await self._cluster_api(kind, each) for each in ([name] if name else sorted({seen.name, *known}))]
        found = (one for one in looks if metadata_of(one) is not None)
        return replace(seen, infra_machine=next(found, Absent()))

    async def _owning_cluster(self, seen: MachineSnapshot, mirror: ObjectMeta) -> MachineSnapshot:
        """The Cluster that owns a Cluster API mirror which is being deleted: it may be deleted because of the
        Cluster."""
        owner = cluster_owner(mirror)
        if owner is None or mirror.deletion_timestamp is None:
            return seen
        return replace(seen, cluster=await self._cluster_api(capi.Cluster, owner.name, live=True))

    async def _under_machine_api(self, seen: MachineSnapshot, source: Present[mapi.Machine]) -> MachineSnapshot:
        """The Machine API is authoritative according to the cache; an infra machine that is not paused contradicts
        that."""
        seen = await self._from_machine_api(seen, source)
        infra = metadata_of(seen.infra_machine)
        if infra is None or PAUSED_ANNOTATION in infra.annotations:
            return seen
        seen = replace(seen, machine_api=await self._machine_api(mapi.Machine, seen.name, live=True))
        found = seen.machine_api
        if isinstance(found, Present) and authority(found.object) == constants.MACHINE_API:
            return seen
        return await self._of_its_authority(seen)

    async def _migrating(self, seen: MachineSnapshot, found: Present[mapi.Machine]) -> MachineSnapshot:
        """Neither API is authoritative: read which controllers are paused, and whether the mirror still exists."""
        if isinstance(seen.cluster_api, Absent):
            seen = replace(seen, cluster_api=await self._cluster_api(capi.Machine, seen.name, confirm=True))
        if seen.move.source == constants.MACHINE_API:
            seen = await self._from_machine_api(seen, found)
        else:
            seen = await self._from_cluster_api(seen)
        looked: frozenset[type[KubernetesObject]] = frozenset()
        while kinds := migration.relied_upon(seen.move, proceed(seen, found, now=_EVER), seen.last) - looked:
            seen = await self._live(seen, kinds)
            looked |= kinds
            if not isinstance(seen.machine_api, Present):
                return await self._of_its_authority(seen)
            found = seen.machine_api
            if found.object.status.authoritative_api != MIGRATING:
                return await self._of_its_authority(seen)
        return seen

    async def _live(self, seen: MachineSnapshot, kinds: Iterable[type[KubernetesObject]]) -> MachineSnapshot:
        """The snapshot with these objects read from the API server, all at the same time."""

        async def look(kind: type[KubernetesObject]) -> dict[str, Seen[Any]]:
            if kind is mapi.Machine:
                return {"machine_api": await self._machine_api(mapi.Machine, seen.name, live=True)}
            if kind is capi.Machine:
                return {"cluster_api": await self._cluster_api(capi.Machine, seen.name, live=True)}
            return {"infra_machine": (await self._infra(seen, live=True)).infra_machine}

        looks = await together(map(look, kinds))
        found = replace(seen, **{field: one for each in looks for field, one in each.items()})
        if _infra_reference(found) != _infra_reference(seen):
            return await self._infra(found, live=True)
        return found

    async def _to_convert(self, seen: MachineSnapshot, source: ObjectMeta | None) -> MachineSnapshot:
        """The objects that a conversion to Cluster API needs besides the Machine."""
        infrastructure = await self._reader.see(config.Infrastructure, INFRASTRUCTURE)
        seen = replace(seen, infrastructure=infrastructure)
        if not isinstance(infrastructure, Present):
            return seen
        name = infrastructure.object.status.infrastructure_name
        if not name:
            return seen
        if source is not None and not source.owner_references:
            seen = replace(seen, cluster=await self._cluster_api(capi.Cluster, name, confirm=True))
        if not isinstance(seen.cluster_api, Present):
            seen = replace(seen, infra_cluster=await self._cluster_api(self._platform.infra_cluster, name))
        return seen

    async def _infra(self, seen: MachineSnapshot, *, live: bool = False) -> MachineSnapshot:
        """The absence of the infra machine always decides something, so it is confirmed; that of the infra cluster only
        delays."""
        found = seen.cluster_api
        infra: Seen[Any]
        if not isinstance(found, Present):
            infra = await self._left_infra(seen.name, live=live)
            return replace(seen, infra_machine=infra, infra_users=self._users(infra))
        spec = found.object.spec
        infra = Absent(confirmed=True)
        infra_cluster: Seen[Any] = Absent()
        if spec.infrastructure_ref.name:
            name = spec.infrastructure_ref.name
            infra = await self._cluster_api(self._platform.infra_machine, name, confirm=True, live=live)
        if spec.cluster_name:
            infra_cluster = await self._cluster_api(self._platform.infra_cluster, spec.cluster_name, confirm=True)
        if _is_mirror(seen) and self._of_another(seen.name, infra):
            # Somebody changed the mirror's reference. Its own infra machine is still there, and the name is set back.
            infra = await self._left_infra(seen.name, live=live)
        return replace(
            seen,
            infra_machine=infra,
            infra_users=self._users(infra),
            infra_cluster=infra_cluster,
            infrastructure=await self._reader.see(config.Infrastructure, INFRASTRUCTURE),
        )

    async def _left_infra(self, name: str, *, live: bool) -> Seen[Any]:
        """The infra machine to which no Machine of Cluster API refers, found by our annotation or by its name.

        With another name, it is left from a Machine that was lost; nothing else would find it.
        """
        kind = self._platform.infra_machine
        known = {infra.name for infra in self._reader.indexed(kind, BY_MACHINE, name)}
        for other in sorted(known - {name}) if name not in known else ():
            found = await self._cluster_api(kind, other, live=True)
            # Anybody may have put our annotation on the infra machine of another Machine.
            if not isinstance(found, Absent) and not self._of_another(name, found):
                return found
        return await self._cluster_api(kind, name, confirm=True, live=live)

    def _of_another(self, name: str, infra: Seen[Any]) -> bool:
        meta = metadata_of(infra)
        return meta is not None and bool(other_owner(name, meta, self._users(infra)))

    def _users(self, infra: Seen[Any]) -> tuple[str, ...]:
        """The Machines of Cluster API that name the infra machine. Those that were known count while none are served:
        then nothing is written for a Machine."""
        meta = metadata_of(infra)
        found = self._reader.known(capi.Machine, BY_INFRA_MACHINE, meta.name) if meta is not None else ()
        return tuple(sorted(machine.name for machine in found))

    async def _cluster_api(self, kind: type[Any], name: str, *, confirm: bool = False, live: bool = False) -> Seen[Any]:
        return await self._reader.see(kind, name, namespace=self._namespaces.cluster_api, confirm=confirm, live=live)

    async def _machine_api(self, kind: type[Any], name: str, *, confirm: bool = False, live: bool = False) -> Seen[Any]:
        return await self._reader.see(kind, name, namespace=self._namespaces.machine_api, confirm=confirm, live=live)


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
