"""The MachineSet controller: what wakes a set, and what it may read and write."""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from windlass.api import capi, config, mapi
from windlass.api.meta import KubernetesObject
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
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.machine.snapshot import set_names, set_owner
from windlass.machine_sync.machine_set.decide import decide_asking
from windlass.machine_sync.machine_set.infra_templates import set_of, sets_of
from windlass.machine_sync.machine_set.observe import BY_OWNER, BY_SET, BY_TEMPLATE, observer
from windlass.machine_sync.machine_set.snapshot import MachineSetSnapshot
from windlass.machine_sync.mirroring import references
from windlass.machine_sync.mirroring.removal import looks_at
from windlass.machine_sync.platforms import Platform

NAME = "machine-set-sync"

BY_CLUSTER = "cluster"
"""Index of Cluster API MachineSets: by cluster name."""
ALL = "all"
"""Index of Machine API MachineSets: all of them, under this word. They do not name their cluster, because there is
one."""


def machine_set_controller(
    reader: IndexedReader,
    *,
    platform: Platform,
    namespaces: Namespaces,
    workers: int = 4,
    resync: float = 600.0,
) -> Controller[str, MachineSetSnapshot]:
    """Keys are names of MachineSets. Every `resync` seconds all are reconciled again, which writes nothing while in
    sync."""

    def indexed_by(index: str) -> Any:
        return lambda found: [machine_set.name for machine_set in reader.known(capi.MachineSet, index, found.name)]

    def of_template(template: Object[Any]) -> Iterable[str]:
        made_for = set_of(template)
        return {*((made_for,) if made_for else ()), *indexed_by(BY_TEMPLATE)(template)}

    def everything(_: Object[Any]) -> Iterable[str]:
        return [machine_set.name for machine_set in reader.known(mapi.MachineSet, ALL, ALL)]

    def of_infra_cluster(cluster: Object[Any]) -> Iterable[str]:
        # Sets that have no mirror because they do not fit it name no cluster.
        return {*everything(cluster), *indexed_by(BY_CLUSTER)(cluster)}

    ours, theirs = namespaces.machine_api, namespaces.cluster_api
    indexes = {BY_TEMPLATE: references.infra_template, BY_CLUSTER: references.cluster}
    return Controller(
        name=NAME,
        watches=(
            Watch(mapi.MachineSet, references.own_name, namespace=ours, indexes={ALL: lambda _: (ALL,)}),
            Watch(capi.MachineSet, references.own_name, namespace=theirs, indexes=indexes),
            # A set that is being deleted waits for its last Machine.
            *(
                Watch(
                    machine, set_names(owner.kind), namespace=place, indexes={BY_OWNER: owner.uids}, when=owner.leaves
                )
                for machine, owner, place in (
                    (mapi.Machine, _Owner(mapi.MachineSet), ours),
                    (capi.Machine, _Owner(capi.MachineSet), theirs),
                )
            ),
            Watch(platform.infra_template, of_template, namespace=theirs, indexes={BY_SET: sets_of}),
            Watch(platform.infra_cluster, of_infra_cluster, namespace=theirs, when=spec_differs),
            # The owner of all mirrors: without it conversion fails, until it is created.
            Watch(capi.Cluster, everything, namespace=theirs, when=identity_differs),
            Watch(config.Infrastructure, lambda _: (), cache_only=True),
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
    return (
        writes(mapi.MachineSet, "patch", "delete", namespace=ours),
        writes(mapi.MachineSet, "patch", subresource="status", namespace=ours),
        writes(capi.MachineSet, "create", "patch", "delete", namespace=theirs),
        writes(capi.MachineSet, "patch", subresource="status", namespace=theirs),
        writes(capi.Machine, "delete", namespace=theirs),
        writes(platform.infra_template, "create", "patch", "delete", namespace=theirs),
        *looks_at(namespaces, mapi.MachineSet, capi.MachineSet, platform.infra_template),
        emits_events(namespace=ours),
        emits_events(namespace=theirs),
        blocks_deletion_of(capi.Cluster, namespace=theirs),
        changes_owners_of(mapi.MachineSet, namespace=ours),
        changes_owners_of(capi.MachineSet, namespace=theirs),
        changes_owners_of(platform.infra_template, namespace=theirs),
    )


class _Owner(Struct, frozen=True):
    """The MachineSet of this kind that a Machine belongs to."""

    kind: type[KubernetesObject]

    def uids(self, machine: Object[Any]) -> Iterable[str]:
        owner = set_owner(machine.metadata, self.kind.RESOURCE.api_version)
        return (owner.uid,) if owner else ()

    def leaves(self, old: Object[Any] | None, new: Object[Any] | None) -> bool:
        """The Machine no longer belongs to the set that it belonged to."""
        return old is not None and (new is None or self.uids(old) != self.uids(new))
