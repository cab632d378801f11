"""The controller of OpenStackMachines: what wakes one, what is observed, and what may be read and written."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from windlass.api.capi import Cluster, Machine, MachineSet
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_server import OpenStackServer
from windlass.api.meta import Condition
from windlass.kube.conditions import find
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.permissions import emits_events, permission, writes
from windlass.kube.control.plan import Outcome
from windlass.kube.control.seen import Absent, IndexedReader, Present, Reader, Seen
from windlass.kube.control.source import spec_differs
from windlass.kube.object import NamespacedName, Object
from windlass.openstack.collected import named_owner, refers_to
from windlass.openstack.constants import CLUSTER_LABEL
from windlass.openstack.machine.decide import decide
from windlass.openstack.machine.existing import existing_server
from windlass.openstack.machine.snapshot import OpenStackMachineSnapshot
from windlass.openstack.objects import BY_CLUSTER, FreshMarks, infrastructure, is_held, is_paused, labelled, owner_name
from windlass.openstack.status import ENDPOINT_READY

NAME: Final = "openstack-machine"


class OpenStackMachineObserver:
    """Takes snapshots of OpenStackMachines.

    `born` hears of each mark that is made up here for a server that does not exist: nothing of it is in a cloud yet. A
    mark is kept until it is persisted.
    """

    def __init__(self, reader: Reader, *, born: Callable[[str], str]) -> None:
        self._reader = reader
        self._born = born
        self._fresh = FreshMarks()

    async def __call__(self, key: NamespacedName, last: Outcome) -> OpenStackMachineSnapshot:
        namespace, name = key
        found = await self._reader.see(OpenStackMachine, name, namespace=namespace)
        if not isinstance(found, Present):
            self._fresh.forget(key)
            return OpenStackMachineSnapshot(machine=found, server=Absent(), last=last)
        machine = await self._machine(found)
        above = None
        if found.deleting and isinstance(machine, Present) and machine.deleting:
            above = await named_owner(self._reader, machine, MachineSet)
        cluster_name = found.metadata.labels.get(CLUSTER_LABEL, "")
        if isinstance(machine, Present):
            cluster_name = machine.object.spec.cluster_name or cluster_name
        cluster = infra = None
        if cluster_name:  # it may be paused: nothing is deleted before that is certain
            cluster = await self._reader.see(Cluster, cluster_name, namespace=namespace, confirm=found.deleting)
        if isinstance(cluster, Present) and (ref := cluster.object.spec.infrastructure_ref).name:
            infra = await self._reader.see(OpenStackCluster, ref.name, namespace=namespace)
        seen = OpenStackMachineSnapshot(
            machine=found,
            owner=machine,
            machine_set=above,
            cluster=cluster,
            cluster_name=cluster_name,
            infra=infra,
            server=Absent(),
            last=last,
        )
        # A server that exists has to be looked for, although nothing has the mark.
        mark = self._fresh.of(key, found, born=None if existing_server(seen, found) else self._born)
        # An absence lets the finalizer go, or lets `Paused` be said, so the cache is not enough for it.
        decides = is_held(found) and (found.deleting or is_paused(found, cluster))
        server = await self._reader.see(OpenStackServer, name, namespace=namespace, confirm=decides)
        return replace(seen, server=server, fresh_mark=mark)

    async def _machine(self, found: Present[OpenStackMachine]) -> Seen[Machine] | None:
        """Its owner. Core deletes it also with a Machine that refers to it and is not its owner yet."""
        name, namespace = found.metadata.name, found.metadata.namespace
        if not found.deleting:
            owner = owner_name(found.metadata, Machine)
            return await self._reader.see(Machine, owner, namespace=namespace) if owner else None
        if (machine := await named_owner(self._reader, found, Machine)) is not None:
            return machine
        namesake = await self._reader.see(Machine, name, namespace=namespace)
        return namesake if refers_to(namesake, found) else None


def machine_controller(
    reader: IndexedReader,
    *,
    born: Callable[[str], str] = lambda mark: mark,
    namespace: str | None = None,
    workers: int = 16,
) -> Controller[NamespacedName, OpenStackMachineSnapshot]:
    """The controller, in `namespace` (None: all). `born`: as for `OpenStackMachineObserver`."""

    def in_cluster(namespace: str | None, name: str) -> Iterable[NamespacedName]:
        return (each.key for each in reader.known(OpenStackMachine, BY_CLUSTER, f"{namespace}/{name}"))

    def of_infra(infra: Object[Any]) -> Iterable[NamespacedName]:
        meta = infra.metadata
        for name in {owner_name(meta, Cluster), meta.labels.get(CLUSTER_LABEL, "")} - {""}:
            yield from in_cluster(infra.namespace, name)

    watch, may_write = partial(Watch, namespace=namespace), partial(writes, namespace=namespace)
    return Controller(
        name=NAME,
        watches=(
            watch(OpenStackMachine, lambda found: [found.key], indexes={BY_CLUSTER: labelled}),
            # An OpenStackServer has the name of its machine.
            watch(OpenStackServer, lambda found: [found.key]),
            watch(Machine, infrastructure(OpenStackMachine), when=spec_differs),
            watch(Cluster, lambda cluster: in_cluster(cluster.namespace, cluster.name), when=_differs),
            watch(OpenStackCluster, of_infra, when=_differs, cache_only=True),
        ),
        permissions=(
            may_write(OpenStackMachine, "patch"),
            may_write(OpenStackMachine, "patch", subresource="status"),
            may_write(OpenStackServer, "create", "patch", "delete"),
            permission(MachineSet, "get", namespace=namespace),
            emits_events(namespace=namespace),
        ),
        observe=OpenStackMachineObserver(reader, born=born),
        decide=decide,
        workers=workers,
    )


class _Initialization(Struct, rename="camel", gc=False):
    infrastructure_provisioned: bool = False


class _Network(Struct, gc=False):
    id: str = ""


class _Status(Struct, gc=False):
    initialization: _Initialization | None = None
    network: _Network | None = None
    conditions: list[Condition] = field(default_factory=list)


class _Facts(Struct, gc=False):
    """What matters here of Clusters and OpenStackClusters beside their specs, even if the rest is malformed."""

    status: _Status = field(default_factory=_Status)


def _differs(old: Object[Any] | None, new: Object[Any] | None) -> bool:
    """The spec (paused, credentials), that infrastructure or network are there, or what is said of the endpoint."""
    return spec_differs(old, new) or _status(old) != _status(new)


def _status(found: Object[Any] | None) -> tuple[Any, ...]:
    facts = found.glimpse(_Facts) if found is not None else None
    if facts is None:
        return ()
    endpoint = find(facts.status.conditions, ENDPOINT_READY)
    said = (endpoint.status, endpoint.message) if endpoint is not None else ()
    return facts.status.initialization, facts.status.network, said
