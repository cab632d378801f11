"""Reads the snapshot of a MachineSet from caches, and from the API server itself where their lag could do harm."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from msgspec.structs import replace

from windlass.api import capi, config, mapi
from windlass.api.meta import K, KubernetesObject, ObjectMeta
from windlass.kube.control.plan import Outcome
from windlass.kube.control.seen import (
    Absent,
    IndexedReader,
    NotServedKind,
    Present,
    Seen,
    Unreadable,
    metadata_of,
    seen,
)
from windlass.kube.together import together
from windlass.machine_sync.constants import (
    AUTHORITY_ANNOTATION,
    CLUSTER_API,
    MACHINE_API,
    MIGRATING,
    SYNC_FINALIZER,
    Namespaces,
)
from windlass.machine_sync.machine.owners import cluster_owner
from windlass.machine_sync.machine.snapshot import set_owner
from windlass.machine_sync.machine_set import deletion
from windlass.machine_sync.machine_set.decide import proceed
from windlass.machine_sync.machine_set.snapshot import MachineSetSnapshot, Template
from windlass.machine_sync.mirroring import migration
from windlass.machine_sync.mirroring.collector import ORPHAN, is_going, propagation
from windlass.machine_sync.mirroring.removal import created, why_deleted
from windlass.machine_sync.mirroring.synchronized import behind, disagree
from windlass.machine_sync.platforms import Platform

INFRASTRUCTURE: Final = "cluster"
"""The name of the one Infrastructure object."""

_EVER: Final = datetime.fromtimestamp(0, UTC)
"""A dummy time: only the kinds of the objects in this plan are used."""

BY_SET: Final = "machine-set"
"""Index of infra templates: by the MachineSet in their label or their name."""
BY_OWNER: Final = "owner-uid"
"""Index of Machines of either API: by the uid of the MachineSet that owns them."""
BY_TEMPLATE: Final = "infra-template"
"""Index of Cluster API MachineSets: by the infra template they refer to."""


class MachineSetObserver:
    """Takes snapshots of MachineSets of one platform."""

    def __init__(self, reader: IndexedReader, *, platform: Platform, namespaces: Namespaces) -> None:
        self._reader = reader
        self._platform = platform
        self._namespaces = namespaces

    async def __call__(self, name: str, last: Outcome) -> MachineSetSnapshot:
        return await self._with_removal(await self._observe(name, last))

    async def _with_removal(self, found: MachineSetSnapshot) -> MachineSetSnapshot:
        kind = _removed(found)
        if kind is None or kind is found.removal.kind:
            return found
        removal = await why_deleted(self._reader, kind, namespaces=self._namespaces, last=found.last)
        return replace(found, removal=removal)

    async def _observe(self, name: str, last: Outcome) -> MachineSetSnapshot:
        machine_api = await self._machine_api(name)
        # If a mirror has to be created, its absence decides.
        cluster_api = await self._cluster_api(capi.MachineSet, name, confirm=not isinstance(machine_api, Absent))
        meta = metadata_of(cluster_api)
        left = isinstance(machine_api, Absent) and meta is not None and AUTHORITY_ANNOTATION in meta.annotations
        if meta is not None and (left or disagree(machine_api, meta)):
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
        found = await self._with_removal(found)
        if found.removal.cause:
            # Nothing else decides, and our rights go with the namespace.
            return self._with_templates(found)
        if is_going(machine_api) != is_going(cluster_api) and not isinstance(cluster_api, Absent):
            # Whether the other set stays, and has the uid that we know, decides about a MachineSet.
            found = replace(found, cluster_api=await self._cluster_api(capi.MachineSet, name, live=True))
        if is_going(machine_api) or is_going(found.cluster_api):
            found = await self._going(self._with_templates(found))
            # Its mirror is kept up to date while Cluster API deletes the machines.
            return await self._from_cluster_api(found) if _is_in_work(found) else found
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
            return await self._pausing_cluster(await self._from_cluster_api(found))
        return await self._from_machine_api(found)

    async def _migrating(self, found: MachineSetSnapshot, machine_api: Present[mapi.MachineSet]) -> MachineSetSnapshot:
        """Neither API is authoritative: read which controllers are paused, and whether the mirror still exists."""
        if found.move.source == MACHINE_API:
            found = await self._from_machine_api(found)
        else:
            found = await self._from_cluster_api(found)
        looked: frozenset[type[KubernetesObject]] = frozenset()
        while kinds := migration.relied_upon(found.move, proceed(found, machine_api, now=_EVER), found.last) - looked:
            looked |= kinds  # Templates are not read: no controller acts on one.
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
        if isinstance(found.machine_api, Absent) and AUTHORITY_ANNOTATION in source.annotations:
            found = replace(found, owned=tuple(sorted(self._machines(capi.Machine, source))))
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
        infrastructure = await self._reader.see(config.Infrastructure, INFRASTRUCTURE)
        return replace(found, template=template, infra_cluster=infra_cluster, infrastructure=infrastructure)

    async def _pausing_cluster(self, found: MachineSetSnapshot) -> MachineSetSnapshot:
        """Authority is to leave Cluster API, whose controllers say that they are paused: perhaps by their Cluster."""
        theirs = found.cluster_api
        if not isinstance(theirs, Present) or not found.move.requested:
            return found
        name = theirs.object.spec.cluster_name
        if not name or migration.taken_up(found.move, found.cluster):
            return found
        return replace(found, cluster=await self._cluster_api(capi.Cluster, name, live=True))

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

    async def _going(self, found: MachineSetSnapshot) -> MachineSetSnapshot:
        """The MachineSet is being deleted in either API: its machines are deleted or kept by their authority."""
        ours, theirs = metadata_of(found.machine_api), metadata_of(found.cluster_api)
        here = self._machines(mapi.Machine, ours)
        there = self._machines(capi.Machine, theirs)
        if ours is None or not _is_mirror_in_cluster_api(found):
            return replace(found, owned=tuple(sorted(here)))
        found = replace(found, owned=tuple(sorted(there)))
        if ours.deletion_timestamp is not None:
            return await self._with_acting(found, ours, there)
        if theirs is not None and (owner := cluster_owner(theirs)):
            found = replace(found, cluster=await self._cluster_api(capi.Cluster, owner.name, live=True))
        if theirs is None or propagation(theirs):
            return found
        # Background, or Orphan after the collector has done its part: only the Machines show which.
        looks = await together(self._cluster_api(capi.Machine, name, live=True) for name in sorted(here))
        mirrors = filter(None, map(metadata_of, looks))
        kind = capi.MachineSet.RESOURCE.api_version
        return replace(found, disowned=any(set_owner(mirror, kind) is None for mirror in mirrors))

    async def _with_acting(
        self, found: MachineSetSnapshot, ours: ObjectMeta, there: Mapping[str, ObjectMeta]
    ) -> MachineSetSnapshot:
        """The Cluster API Machines to delete with the Machine API's set: not those that it has released."""
        if ORPHAN in ours.finalizers:
            return found
        acting = {name: meta for name, meta in there.items() if AUTHORITY_ANNOTATION not in meta.annotations}
        staying = sorted(name for name, meta in acting.items() if meta.deletion_timestamp is None)
        looks = await together(
            self._reader.see(mapi.Machine, name, namespace=self._namespaces.machine_api, live=True) for name in staying
        )
        for name, mirror in zip(staying, map(metadata_of, looks), strict=True):
            if mirror is None or _owner_uid(mirror) != ours.uid:
                del acting[name]
        return replace(found, acting=tuple(acting[name] for name in sorted(acting)))

    def _machines(self, kind: type[K], owner: ObjectMeta | None) -> dict[str, ObjectMeta]:
        """The Machines that belong to a MachineSet, by name."""
        if owner is None:
            return {}
        return {machine.name: machine.metadata for machine in self._reader.indexed(kind, BY_OWNER, owner.uid)}

    def _users(self, template: str, *, besides: str) -> tuple[str, ...]:
        users = {one.name for one in self._reader.indexed(capi.MachineSet, BY_TEMPLATE, template)}
        return tuple(sorted(users - {besides}))

    async def _cluster_api(self, kind: type[Any], name: str, *, confirm: bool = False, live: bool = False) -> Seen[Any]:
        return await self._reader.see(kind, name, namespace=self._namespaces.cluster_api, confirm=confirm, live=live)

    async def _machine_api(self, name: str, *, confirm: bool = False) -> Seen[mapi.MachineSet]:
        return await self._reader.see(
            mapi.MachineSet, name, namespace=self._namespaces.machine_api, confirm=confirm, live=confirm
        )


def _is_in_work(found: MachineSetSnapshot) -> bool:
    source = metadata_of(found.cluster_api)
    return source is not None and deletion.in_work(source) and not _is_mirror_in_cluster_api(found)


def _removed(found: MachineSetSnapshot) -> type[KubernetesObject] | None:
    """The kind whose CRD and namespace matter: that of a mirror that is being deleted, of a set with Machines that are
    to be deleted with it, or of what could not be created."""
    if (kind := created(found.last)) is not None:
        return kind
    ours, theirs = is_going(found.machine_api), is_going(found.cluster_api)
    if isinstance(found.machine_api, Absent) or not (ours or theirs):
        return None
    if ours and (found.acting or (not theirs and not _is_mirror_in_cluster_api(found))):
        return mapi.MachineSet
    return capi.MachineSet if not ours and _is_mirror_in_cluster_api(found) else None


def _is_mirror_in_cluster_api(found: MachineSetSnapshot) -> bool:
    """The MachineSet of Cluster API is the mirror; its mark says so if the other cannot be read."""
    if isinstance(found.machine_api, Present):
        return found.machine_api.object.status.authoritative_api == MACHINE_API
    theirs = metadata_of(found.cluster_api)
    return theirs is None or AUTHORITY_ANNOTATION in theirs.annotations


def _owner_uid(machine: ObjectMeta) -> str:
    owner = set_owner(machine, mapi.MachineSet.RESOURCE.api_version)
    return owner.uid if owner else ""
