"""Where the snapshot of a MachineSet comes from: caches, and the API server itself where their lag could do harm."""

from datetime import UTC, datetime
from typing import Any, Final

from msgspec.structs import replace

from windlass.api import capi, config, mapi
from windlass.api.meta import KubernetesObject
from windlass.kube.plan import Outcome
from windlass.kube.seen import Absent, NotServedKind, Present, Seen, Unreadable, metadata_of, seen
from windlass.machine_sync.constants import (
    AUTHORITY_ANNOTATION,
    CLUSTER_API,
    MACHINE_API,
    MIGRATING,
    SYNC_FINALIZER,
    Namespaces,
)
from windlass.machine_sync.machine.controller import IndexedReader
from windlass.machine_sync.machine_set.decide import proceed
from windlass.machine_sync.machine_set.snapshot import MachineSetSnapshot, Template
from windlass.machine_sync.mirroring import migration
from windlass.machine_sync.mirroring.synchronized import behind, disagree
from windlass.machine_sync.platforms import Platform

INFRASTRUCTURE: Final = "cluster"
"""The name of the one Infrastructure object."""

_EVER: Final = datetime.fromtimestamp(0, UTC)
"""A moment, for a plan of which only the kinds of objects are asked."""

BY_SET: Final = "machine-set"
"""Index of infra templates: by the MachineSet they were made for, or would have been by their name."""
BY_OWNER: Final = "owner-uid"
"""Index of Cluster API Machines: by the uid of the MachineSet that owns them."""
BY_TEMPLATE: Final = "infra-template"
"""Index of Cluster API MachineSets: by the infra template they refer to."""


class Observer:
    """Takes snapshots of MachineSets of one platform."""

    def __init__(self, reader: IndexedReader, *, platform: Platform, namespaces: Namespaces) -> None:
        self._reader = reader
        self._platform = platform
        self._namespaces = namespaces

    async def __call__(self, name: str, last: Outcome) -> MachineSetSnapshot:
        machine_api = await self._machine_api(name)
        # Where there is a mirror to make, its absence decides.
        cluster_api = await self._cluster_api(capi.MachineSet, name, confirm=not isinstance(machine_api, Absent))
        meta = metadata_of(cluster_api)
        if meta is not None and disagree(machine_api, meta):
            machine_api = await self._machine_api(name, confirm=True)
        found = MachineSetSnapshot(
            name=name,
            platform=self._platform,
            machine_api=machine_api,
            cluster_api=cluster_api,
            last=last,
            namespaces=self._namespaces,
        )
        if isinstance(machine_api, NotServedKind) or isinstance(cluster_api, NotServedKind):
            return found
        if isinstance(machine_api, Absent):
            return await self._without_machine_api(found)
        if _goes(machine_api) != _goes(cluster_api) and not isinstance(cluster_api, Absent):
            # Whether the other stays, and is the one we know of, decides about a MachineSet.
            found = replace(found, cluster_api=await self._cluster_api(capi.MachineSet, name, live=True))
        if _goes(machine_api) or _goes(found.cluster_api):
            return self._with_machines(self._with_templates(found))
        if isinstance(machine_api, Unreadable):
            return found
        if machine_api.object.status.authoritative_api == MIGRATING:
            return await self._migrating(self._with_templates(found), machine_api)
        return await self._of_its_authority(self._with_templates(found), machine_api)

    async def _of_its_authority(
        self, found: MachineSetSnapshot, machine_api: Present[mapi.MachineSet]
    ) -> MachineSetSnapshot:
        authority = machine_api.object.status.authoritative_api
        if authority == CLUSTER_API and not isinstance(found.cluster_api, Absent):
            return await self._from_cluster_api(found)
        return await self._from_machine_api(found)

    async def _migrating(self, found: MachineSetSnapshot, machine_api: Present[mapi.MachineSet]) -> MachineSetSnapshot:
        """Nobody is authoritative: who stands still is to be known, and whether the mirror is still one."""
        if found.move.source == MACHINE_API:
            found = await self._from_machine_api(found)
        else:
            found = await self._from_cluster_api(found)
        looked: frozenset[type[KubernetesObject]] = frozenset()
        while kinds := migration.relied_upon(found.move, proceed(found, machine_api, now=_EVER), found.last) - looked:
            looked |= kinds  # Templates are not asked for: nobody acts on one.
            if capi.MachineSet in kinds:
                found = replace(found, cluster_api=await self._cluster_api(capi.MachineSet, found.name, live=True))
            if mapi.MachineSet in kinds:
                found = replace(found, machine_api=await self._machine_api(found.name, confirm=True))
            if not isinstance(found.machine_api, Present):
                return found
            machine_api = found.machine_api
            if machine_api.object.status.authoritative_api != MIGRATING:
                return await self._of_its_authority(found, machine_api)
        return found

    async def _without_machine_api(self, found: MachineSetSnapshot) -> MachineSetSnapshot:
        source = metadata_of(found.cluster_api)
        if source is None or source.deletion_timestamp is None or SYNC_FINALIZER not in source.finalizers:
            return found
        found = replace(found, machine_api=await self._machine_api(found.name, confirm=True))
        return self._with_templates(found)

    async def _from_cluster_api(self, found: MachineSetSnapshot) -> MachineSetSnapshot:
        meta = metadata_of(found.cluster_api)
        if meta is not None and behind(found.machine_api, meta):
            found = replace(found, cluster_api=await self._cluster_api(capi.MachineSet, found.name, live=True))
        if not isinstance(found.cluster_api, Present):
            return found
        spec = found.cluster_api.object.spec
        template: Seen[Any] = Absent()
        infra_cluster: Seen[Any] = Absent()
        if name := spec.template.spec.infrastructure_ref.name:
            template = await self._cluster_api(self._platform.infra_template, name, confirm=True)
        if spec.cluster_name:
            infra_cluster = await self._cluster_api(self._platform.infra_cluster, spec.cluster_name, confirm=True)
        return replace(found, template=template, infra_cluster=infra_cluster)

    async def _from_machine_api(self, found: MachineSetSnapshot) -> MachineSetSnapshot:
        infrastructure = await self._reader.see(config.Infrastructure, INFRASTRUCTURE)
        found = replace(found, infrastructure=infrastructure)
        if not isinstance(infrastructure, Present):
            return found
        name = infrastructure.object.status.infrastructure_name
        if not name:
            return found
        return replace(found, cluster=await self._cluster_api(capi.Cluster, name, confirm=True))

    def _with_templates(self, found: MachineSetSnapshot) -> MachineSetSnapshot:
        templates = [
            Template(one, self._users(template.name, besides=found.name))
            for template in self._reader.indexed(self._platform.infra_template, BY_SET, found.name)
            if isinstance(one := seen(template), Present | Unreadable)
        ]
        return replace(found, templates=tuple(sorted(templates, key=lambda template: template.name)))

    def _with_machines(self, found: MachineSetSnapshot) -> MachineSetSnapshot:
        owner = metadata_of(found.cluster_api)
        if owner is None:
            return found
        machines = (machine.metadata for machine in self._reader.indexed(capi.Machine, BY_OWNER, owner.uid))
        acting = (meta.name for meta in machines if AUTHORITY_ANNOTATION not in meta.annotations)
        return replace(found, acting=tuple(sorted(acting)))

    def _users(self, template: str, *, besides: str) -> tuple[str, ...]:
        users = {one.name for one in self._reader.indexed(capi.MachineSet, BY_TEMPLATE, template)}
        return tuple(sorted(users - {besides}))

    async def _cluster_api(self, kind: type[Any], name: str, *, confirm: bool = False, live: bool = False) -> Seen[Any]:
        return await self._reader.see(kind, name, namespace=self._namespaces.cluster_api, confirm=confirm, live=live)

    async def _machine_api(self, name: str, *, confirm: bool = False) -> Seen[mapi.MachineSet]:
        return await self._reader.see(
            mapi.MachineSet, name, namespace=self._namespaces.machine_api, confirm=confirm, live=confirm
        )


def _goes(found: Seen[Any]) -> bool:
    meta = metadata_of(found)
    return meta is not None and meta.deletion_timestamp is not None
