"""The controller of OpenStackMachines: what wakes one, what is observed, and what may be read and written."""

from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol
from uuid import uuid4

from msgspec import Struct, field
from msgspec.structs import replace

from windlass.api.capi import Cluster, Machine
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_server import OpenStackServer
from windlass.api.meta import K
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.permissions import Permission, emits_events, writes
from windlass.kube.control.plan import Outcome
from windlass.kube.control.seen import Absent, Present, Reader
from windlass.kube.control.source import spec_differs
from windlass.kube.object import Object
from windlass.openstack.constants import CLUSTER_LABEL
from windlass.openstack.machine.decide import decide
from windlass.openstack.machine.existing import existing_server
from windlass.openstack.machine.snapshot import Snapshot, is_held, is_paused, mark_of, owner_name

NAME: Final = "openstack-machine"
BY_CLUSTER: Final = "cluster"
"""Index of OpenStackMachines: by `namespace/name` of their Cluster."""

Key = tuple[str, str]


class IndexedReader(Reader, Protocol):
    """Looks at objects, and finds cached ones by an index, for waking keys."""

    def known(self, kind: type[K], index: str, value: str) -> list[Object[K]]: ...


class Observer:
    """Takes snapshots of OpenStackMachines.

    `born` hears of each mark that is made up here for a server that does not exist: nothing of it is in a cloud yet. A
    mark is kept until it is persisted.
    """

    def __init__(
        self, reader: Reader, *, born: Callable[[str], str], new_mark: Callable[[], str] = lambda: str(uuid4())
    ) -> None:
        self._reader = reader
        self._born = born
        self._new_mark = new_mark
        self._fresh: dict[tuple[Key, bool], str] = {}

    async def __call__(self, key: Key, last: Outcome) -> Snapshot:
        namespace, name = key
        found = await self._reader.see(OpenStackMachine, name, namespace=namespace)
        if not isinstance(found, Present):
            self._forget(key)
            return Snapshot(machine=found, server=Absent(), last=last)
        owner = owner_name(found.metadata)
        machine = await self._reader.see(Machine, owner, namespace=namespace) if owner else None
        cluster_name = found.metadata.labels.get(CLUSTER_LABEL, "")
        if isinstance(machine, Present):
            cluster_name = machine.object.spec.cluster_name or cluster_name
        cluster = infra = None
        if cluster_name:  # it may be paused: nothing is deleted before that is certain
            cluster = await self._reader.see(Cluster, cluster_name, namespace=namespace, confirm=found.deleting)
        if isinstance(cluster, Present) and (ref := cluster.object.spec.infrastructure_ref).name:
            infra = await self._reader.see(OpenStackCluster, ref.name, namespace=namespace)
        seen = Snapshot(
            machine=found,
            owner=machine,
            cluster=cluster,
            cluster_name=cluster_name,
            infra=infra,
            server=Absent(),
            last=last,
        )
        mark = self._fresh_mark(key, found, exists=bool(existing_server(seen, found)))
        # An absence lets the finalizer go, or lets `Paused` be said, so the cache is not enough for it.
        decides = is_held(found) and (found.deleting or is_paused(seen, found))
        server = await self._reader.see(OpenStackServer, name, namespace=namespace, confirm=decides)
        return replace(seen, server=server, fresh_mark=mark)

    def _fresh_mark(self, key: Key, found: Present[OpenStackMachine], *, exists: bool) -> str:
        if mark_of(found):
            self._forget(key)
            return ""
        if (key, exists) not in self._fresh:
            # A server that exists has to be looked for, although nothing has the mark.
            mark = self._new_mark()
            self._fresh[key, exists] = mark if exists else self._born(mark)
        return self._fresh[key, exists]

    def _forget(self, key: Key) -> None:
        for exists in (False, True):
            self._fresh.pop((key, exists), None)


def machine_controller(
    reader: IndexedReader,
    *,
    born: Callable[[str], str] = lambda mark: mark,
    namespace: str | None = None,
    workers: int = 16,
) -> Controller[Key, Snapshot]:
    """The controller, in `namespace` (None: all). `born`: as for `Observer`."""

    def in_cluster(namespace: str | None, name: str) -> Iterable[Key]:
        return map(_key, reader.known(OpenStackMachine, BY_CLUSTER, f"{namespace}/{name}"))

    def of_infra(infra: Object[Any]) -> Iterable[Key]:
        group = Cluster.RESOURCE.group
        owners = (each for each in infra.metadata.owner_references if each.api_version.split("/")[0] == group)
        names = {each.name for each in owners if each.kind == "Cluster"}
        label = infra.metadata.labels.get(CLUSTER_LABEL)
        for name in names | ({label} if label else set()):
            yield from in_cluster(infra.namespace, name)

    return Controller(
        name=NAME,
        watches=(
            Watch(OpenStackMachine, _own, namespace=namespace, indexes={BY_CLUSTER: _cluster}),
            Watch(OpenStackServer, _own, namespace=namespace),
            Watch(Machine, _infra_machine, namespace=namespace, when=spec_differs, cache_only=True),
            Watch(
                Cluster,
                lambda cluster: in_cluster(cluster.namespace, cluster.name),
                namespace=namespace,
                when=_differs,
            ),
            Watch(OpenStackCluster, of_infra, namespace=namespace, when=_differs, cache_only=True),
        ),
        permissions=permissions(namespace),
        observe=Observer(reader, born=born),
        decide=decide,
        workers=workers,
    )


def permissions(namespace: str | None) -> tuple[Permission, ...]:
    """What the controller writes."""
    return (
        writes(OpenStackMachine, "patch", namespace=namespace),
        writes(OpenStackMachine, "patch", subresource="status", namespace=namespace),
        writes(OpenStackServer, "create", "patch", "delete", namespace=namespace),
        emits_events(namespace=namespace),
    )


def _own(found: Object[Any]) -> Iterable[Key]:
    """An OpenStackServer has the name of its machine."""
    return (_key(found),)


def _key(found: Object[Any]) -> Key:
    return found.namespace or "", found.name


class _Reference(Struct, gc=False):
    kind: str = ""
    name: str = ""


class _Spec(Struct, rename="camel", gc=False):
    cluster_name: str = ""
    infrastructure_ref: _Reference = field(default_factory=_Reference)


class _Initialization(Struct, rename="camel", gc=False):
    infrastructure_provisioned: bool = False


class _Network(Struct, gc=False):
    id: str = ""


class _Status(Struct, gc=False):
    initialization: _Initialization | None = None
    network: _Network | None = None


class _Facts(Struct, gc=False):
    """What matters here of Machines, Clusters and OpenStackClusters, even if the rest is malformed."""

    spec: _Spec = field(default_factory=_Spec)
    status: _Status = field(default_factory=_Status)


def _infra_machine(machine: Object[Machine]) -> Iterable[Key]:
    facts = machine.glimpse(_Facts)
    if facts is None or facts.spec.infrastructure_ref.kind != OpenStackMachine.RESOURCE.kind:
        return ()
    return ((machine.namespace or "", facts.spec.infrastructure_ref.name),)


def _cluster(found: Object[OpenStackMachine]) -> Iterable[str]:
    label = found.metadata.labels.get(CLUSTER_LABEL)
    return (f"{found.namespace}/{label}",) if label else ()


def _differs(old: Object[Any] | None, new: Object[Any] | None) -> bool:
    """The spec (paused, credentials), or that the infrastructure or the network is there."""
    return spec_differs(old, new) or _status(old) != _status(new)


def _status(found: Object[Any] | None) -> _Status | None:
    facts = found.glimpse(_Facts) if found is not None else None
    return facts.status if facts is not None else None
