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
from windlass.kube.control.asking import ObjectAnswerer
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.permissions import asks, emits_events, permission, writes
from windlass.kube.control.plan import Outcome
from windlass.kube.control.question import KUBERNETES
from windlass.kube.control.seen import IndexedReader, Present
from windlass.kube.control.source import spec_differs
from windlass.kube.object import NamespacedName, Object
from windlass.openstack.constants import CLUSTER_LABEL
from windlass.openstack.machine.decide import decide
from windlass.openstack.machine.snapshot import OpenStackMachineSnapshot, cluster_name_of
from windlass.openstack.objects import BY_CLUSTER, infrastructure, labelled, owner_name
from windlass.openstack.questions import MARKS, MarkMaker, NewMark
from windlass.openstack.status import ENDPOINT_READY

NAME: Final = "openstack-machine"


def machine_controller(
    reader: IndexedReader,
    *,
    born: Callable[[str], str] = lambda mark: mark,
    namespace: str | None = None,
    workers: int = 16,
) -> Controller[NamespacedName, OpenStackMachineSnapshot]:
    """The controller, in `namespace` (None: all). `born` hears of each mark that is made up here for a server that does
    not exist: nothing of it is in a cloud yet."""

    async def observe(key: NamespacedName, last: Outcome) -> OpenStackMachineSnapshot:
        """What the caches say."""
        namespace, name = key
        found = await reader.see(OpenStackMachine, name, namespace=namespace)
        server = await reader.see(OpenStackServer, name, namespace=namespace)
        seen = OpenStackMachineSnapshot(machine=found, server=server, last=last)
        if not isinstance(found, Present):
            return seen
        owner = owner_name(found.metadata, Machine)
        machine = await reader.see(Machine, owner, namespace=namespace) if owner else None
        cluster_name, cluster, infra = cluster_name_of(found, machine), None, None
        if cluster_name:
            cluster = await reader.see(Cluster, cluster_name, namespace=namespace)
        if isinstance(cluster, Present) and (ref := cluster.object.spec.infrastructure_ref).name:
            infra = await reader.see(OpenStackCluster, ref.name, namespace=namespace)
        return replace(seen, owner=machine, cluster_name=cluster_name, cluster=cluster, infra=infra)

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
            asks(NewMark),
        ),
        answerers={KUBERNETES: ObjectAnswerer(reader), MARKS: MarkMaker(born=born)},
        observe=observe,
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
