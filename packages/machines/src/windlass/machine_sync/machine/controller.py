"""The Machine controller: what wakes a machine, and what it may read and write."""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct, field

from windlass.api import capi, config, mapi
from windlass.kube.control.asking import ObjectAnswerer
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.permissions import (
    Permission,
    blocks_deletion_of,
    changes_owners_of,
    emits_events,
    writes,
)
from windlass.kube.control.question import KUBERNETES
from windlass.kube.control.seen import IndexedReader
from windlass.kube.control.source import identity_differs, spec_differs
from windlass.kube.object import Object
from windlass.machine_sync.constants import MACHINE_ANNOTATION, MACHINE_API, Namespaces
from windlass.machine_sync.machine.decide import decide_asking
from windlass.machine_sync.machine.observe import BY_INFRA_MACHINE, BY_MACHINE, observer
from windlass.machine_sync.machine.snapshot import MachineSnapshot, set_names
from windlass.machine_sync.mirroring import references
from windlass.machine_sync.mirroring.belongs import was_mirrored
from windlass.machine_sync.mirroring.removal import looks_at
from windlass.machine_sync.platforms import Platform

NAME = "machine-sync"

BY_CLUSTER = "cluster"
BY_SET = "machine-set"
BY_AUTHORITY = "authority"
"""Indexes. Of Cluster API Machines: by cluster name, by owning MachineSet. Of Machine API Machines: by owning
MachineSet, and by authority."""


def machine_controller(
    reader: IndexedReader,
    *,
    platform: Platform,
    namespaces: Namespaces,
    workers: int = 16,
    resync: float = 600.0,
) -> Controller[str, MachineSnapshot]:
    """Keys are names of machines. Every `resync` seconds all are reconciled again, which writes nothing while in
    sync."""

    def of_infra(infra: Object[Any]) -> Iterable[str]:
        # By its own name too: `observe` looks there once the Machine that refers to it is gone.
        return {infra.name, *_machines(infra), *of_cluster_api(BY_INFRA_MACHINE)(infra)}

    def of_cluster_api(index: str) -> Any:
        return lambda found: [machine.name for machine in reader.known(capi.Machine, index, found.name)]

    def of_set(found: Object[Any]) -> Iterable[str]:
        both = (capi.Machine, mapi.Machine)
        return {machine.name for kind in both for machine in reader.known(kind, BY_SET, found.name)}

    def of_this_cluster(_: Object[Any]) -> Iterable[str]:
        """The keys that its objects concern: Machines that are converted to Cluster API."""
        return [machine.name for machine in reader.known(mapi.Machine, BY_AUTHORITY, MACHINE_API)]

    def of_infra_cluster(found: Object[Any]) -> Iterable[str]:
        return {*of_cluster_api(BY_CLUSTER)(found), *of_this_cluster(found)}

    ours, theirs = namespaces.machine_api, namespaces.cluster_api
    indexes = {
        BY_INFRA_MACHINE: references.infra_machine,
        BY_CLUSTER: references.cluster,
        BY_SET: set_names(capi.MachineSet),
    }
    own_indexes = {BY_SET: set_names(mapi.MachineSet), BY_AUTHORITY: _authority}
    return Controller(
        name=NAME,
        watches=(
            Watch(capi.Machine, references.own_name, namespace=theirs, indexes=indexes),
            Watch(mapi.Machine, references.own_name, namespace=ours, indexes=own_indexes),
            Watch(platform.infra_machine, of_infra, namespace=theirs, indexes={BY_MACHINE: _machines}),
            # Each of these concerns hundreds of machines, and its status changes with each of them.
            Watch(platform.infra_cluster, of_infra_cluster, namespace=theirs, when=spec_differs),
            Watch(capi.Cluster, of_this_cluster, namespace=theirs, when=identity_differs),
            Watch(capi.MachineSet, of_set, namespace=theirs, when=identity_differs),
            Watch(mapi.MachineSet, of_set, namespace=ours, when=_mirrored_differs),
            Watch(config.Infrastructure, of_this_cluster, cache_only=True),
        ),
        permissions=permissions(platform, namespaces),
        answerers={KUBERNETES: ObjectAnswerer(reader)},
        observe=observer(reader, platform=platform, namespaces=namespaces),
        decide=decide_asking,
        workers=workers,
        resync=resync,
    )


def permissions(platform: Platform, namespaces: Namespaces) -> tuple[Permission, ...]:
    """What the controller writes."""
    ours, theirs = namespaces.machine_api, namespaces.cluster_api
    status = (mapi.Machine, ours), (capi.Machine, theirs)
    return (
        writes(mapi.Machine, "create", "patch", "delete", namespace=ours),
        writes(capi.Machine, "create", "patch", "delete", namespace=theirs),
        writes(platform.infra_machine, "create", "patch", "delete", namespace=theirs),
        *(writes(kind, "patch", subresource="status", namespace=place) for kind, place in status),
        *(
            [writes(platform.infra_machine, "patch", subresource="status", namespace=theirs)]
            if platform.provider_status is not None
            else []
        ),
        *looks_at(namespaces, mapi.Machine, capi.Machine, platform.infra_machine),
        emits_events(namespace=ours),
        emits_events(namespace=theirs),
        blocks_deletion_of(mapi.MachineSet, namespace=ours),
        *(blocks_deletion_of(owner, namespace=theirs) for owner in (capi.MachineSet, capi.Cluster, capi.Machine)),
        changes_owners_of(mapi.Machine, namespace=ours),
        changes_owners_of(capi.Machine, namespace=theirs),
        changes_owners_of(platform.infra_machine, namespace=theirs),
    )


def _mirrored_differs(old: Object[Any] | None, new: Object[Any] | None) -> bool:
    """The set was added, deleted or recreated, or it is mirrored from now on: it was not the twin of another before."""
    if identity_differs(old, new) or old is None or new is None:
        return True
    return was_mirrored(old.metadata) != was_mirrored(new.metadata)


def _machines(infra: Object[Any]) -> Iterable[str]:
    """The machines of an infra machine, by its owners or by our annotation.

    Not `owned_by`: a Machine that owns it without controlling it counts too.
    """
    group, meta = capi.Machine.RESOURCE.group, infra.metadata
    owners = (one for one in meta.owner_references if one.api_version.split("/")[0] == group)
    noted = meta.annotations.get(MACHINE_ANNOTATION)
    return {*(owner.name for owner in owners if owner.kind == "Machine"), *([noted] if noted else [])}


class _Authority(Struct, rename="camel", gc=False):
    """The fields of a Machine API Machine that name its authority."""

    authoritative_api: str = field(default="", name="authoritativeAPI")


class _Authorities(Struct, gc=False):
    spec: _Authority = field(default_factory=_Authority)
    status: _Authority = field(default_factory=_Authority)


def _authority(machine: Object[mapi.Machine]) -> Iterable[str]:
    said = machine.glimpse(_Authorities)
    if said is None:
        return ()
    return (said.status.authoritative_api or said.spec.authoritative_api,)
