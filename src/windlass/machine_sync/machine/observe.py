"""Where the snapshot of a machine comes from: caches, and the API server itself where their lag could do harm."""

from typing import Any

from msgspec.structs import replace

from windlass.api import capi, mapi
from windlass.api.meta import ObjectMeta
from windlass.kube.plan import Outcome
from windlass.kube.seen import Absent, Present, Reader, Seen
from windlass.machine_sync.constants import CLUSTER_API, SYNC_FINALIZER, Namespaces
from windlass.machine_sync.machine.snapshot import MachineSnapshot, metadata_of, set_owner
from windlass.machine_sync.machine.synchronized import authority
from windlass.machine_sync.platforms import Platform


class Observer:
    """Takes snapshots of machines of one platform."""

    def __init__(self, reader: Reader, *, platform: Platform, namespaces: Namespaces) -> None:
        self._reader = reader
        self._platform = platform
        self._namespaces = namespaces

    async def __call__(self, name: str, last: Outcome) -> MachineSnapshot:
        source = await self._source(capi.Machine, name)
        source_meta = metadata_of(source)
        source_goes = source_meta is not None and source_meta.deletion_timestamp is not None
        mirror = await self._mirror(mapi.Machine, name, confirm=source_goes)
        seen = MachineSnapshot(
            name=name, platform=self._platform, mirror=mirror, source=source, last=last, namespaces=self._namespaces
        )
        mirror_meta = metadata_of(mirror)
        if isinstance(mirror, Present) and authority(mirror.object) != CLUSTER_API:
            return seen
        if source_meta is None and mirror_meta is None:
            return seen
        if source_meta is None or (mirror_meta is None and SYNC_FINALIZER in source_meta.finalizers):
            # Our finalizer without a mirror: both may be gone, and only the cache of mirrors knows it yet. Where we
            # have to add it first, that write tells.
            source = await self._source(capi.Machine, name, live=True)
            source_meta = metadata_of(source)
            if source_meta is None and mirror_meta is None:
                return replace(seen, source=source)
        mirror_goes = mirror_meta is not None and mirror_meta.deletion_timestamp is not None
        mirror_set, source_set = await self._sets(source_meta, mirror_meta, live=mirror_goes)
        infra, infra_cluster = await self._infrastructure(name, source)
        return replace(
            seen,
            source=source,
            infra=infra,
            infra_cluster=infra_cluster,
            mirror_set=mirror_set,
            source_set=source_set,
        )

    async def _sets(
        self, source: ObjectMeta | None, mirror: ObjectMeta | None, *, live: bool
    ) -> tuple[Seen[mapi.MachineSet], Seen[capi.MachineSet]]:
        """The two MachineSets. `live`: whether they stay decides about an instance, and caches lag each other."""
        owner = set_owner(source, capi.MachineSet.RESOURCE.api_version) if source else None
        if owner is None and mirror is not None:
            owner = set_owner(mirror, mapi.MachineSet.RESOURCE.api_version)
        if owner is None:
            return Absent(), Absent()
        mirror_set = await self._mirror(mapi.MachineSet, owner.name, live=live)
        return mirror_set, await self._source(capi.MachineSet, owner.name, live=live)

    async def _infrastructure(self, name: str, source: Seen[capi.Machine]) -> tuple[Seen[Any], Seen[Any]]:
        """The infra machine's absence always decides something; the infra cluster's only delays."""
        if not isinstance(source, Present):
            return await self._source(self._platform.infra_machine, name, confirm=True), Absent()
        spec = source.object.spec
        infra: Seen[Any] = Absent(confirmed=True)
        infra_cluster: Seen[Any] = Absent()
        if spec.infrastructure_ref.name:
            infra = await self._source(self._platform.infra_machine, spec.infrastructure_ref.name, confirm=True)
        if spec.cluster_name:
            infra_cluster = await self._source(self._platform.infra_cluster, spec.cluster_name, confirm=True)
        return infra, infra_cluster

    async def _source(self, kind: type[Any], name: str, *, confirm: bool = False, live: bool = False) -> Seen[Any]:
        return await self._reader.see(kind, name, namespace=self._namespaces.cluster_api, confirm=confirm, live=live)

    async def _mirror(self, kind: type[Any], name: str, *, confirm: bool = False, live: bool = False) -> Seen[Any]:
        return await self._reader.see(kind, name, namespace=self._namespaces.machine_api, confirm=confirm, live=live)
