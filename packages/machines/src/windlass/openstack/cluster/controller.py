"""The controller of OpenStackClusters: what wakes one, what is observed, and what may be read and written."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final
from uuid import uuid4

from msgspec.structs import replace

from windlass.api.capi import Cluster, Machine
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_server import OpenStackServer
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.permissions import asks, calls, emits_events, writes
from windlass.kube.control.plan import Outcome
from windlass.kube.control.seen import IndexedReader, Present
from windlass.kube.control.source import identity_differs
from windlass.kube.object import NamespacedName, Object
from windlass.openstack.cloud.balancer_requests import OF_BALANCERS, OF_MEMBERS
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.network_requests import OF_FLOATING_IPS, OF_NETWORKS
from windlass.openstack.cluster.bastion import name_of
from windlass.openstack.cluster.control_plane import (
    BY_CONTROL_PLANE,
    control_plane,
    is_control_plane,
    labelled_control_plane,
    reached_otherwise,
)
from windlass.openstack.cluster.decide import decide
from windlass.openstack.cluster.looking import NAMES, AddressOf
from windlass.openstack.cluster.recorded import BY_RESOURCE, resources_of
from windlass.openstack.cluster.resolve import Resolve, resolve
from windlass.openstack.cluster.snapshot import ClusterSnapshot, Unresolved, cluster_of
from windlass.openstack.identity.watches import BY_IDENTITY, identities, identity_watches
from windlass.openstack.objects import (
    BY_CLUSTER,
    BY_MARK,
    References,
    infrastructure,
    labelled,
    leads_to_machines,
    marked,
    owner_name,
)
from windlass.openstack.questions import (
    Extensions,
    FindOnce,
    HasReportedAll,
    LookAtNetworks,
    LookForUnmarked,
    answerers,
    asks_clouds,
)

NAME: Final = "openstack-cluster"


def cluster_controller(
    reader: IndexedReader,
    clouds: Clouds,
    *,
    namespace: str | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    new_mark: Callable[[], str] = lambda: str(uuid4()),
    resolve: Resolve = resolve,
) -> Controller[NamespacedName, ClusterSnapshot]:
    """The controller, of OpenStackClusters in `namespace` (None: all). Keys are `(namespace, name)`."""

    async def observe(key: NamespacedName, last: Outcome) -> ClusterSnapshot:
        """What the caches say."""
        namespace, name = key
        found = await reader.see(OpenStackCluster, name, namespace=namespace)
        if not isinstance(found, Present):
            return ClusterSnapshot(infra=found, last=last)
        owner = cluster_of(found.metadata)
        seen = ClusterSnapshot(infra=found, cluster_name=owner, last=last)
        if owner:
            seen = replace(
                seen,
                cluster=await reader.see(Cluster, owner, namespace=namespace),
                bastion=await reader.see(OpenStackServer, name_of(owner), namespace=namespace),
            )
        if found.deleting:
            machines = reader.indexed(Machine, BY_CLUSTER, f"{namespace}/{owner}") if owner else ()
            return replace(seen, machines=tuple(sorted(each.name for each in machines)))
        if leads_to_machines(found):
            plane = await control_plane(reader, found.object, namespace=namespace or "", cluster=owner)
            return replace(seen, control_plane=plane)
        return seen

    def of_machine(machine: Object[Any]) -> Iterable[NamespacedName]:
        """Machines matter while the object is being deleted; else each would make us ask the cloud for its networks."""
        for cluster in _cluster_of_machine(machine):
            for infra in reader.known(OpenStackCluster, BY_CLUSTER, cluster):
                if infra.deleting:
                    yield infra.key

    def of_control_plane(machine: Object[Any]) -> Iterable[NamespacedName]:
        if is_control_plane(reader, machine):
            for cluster in labelled(machine):
                yield from (infra.key for infra in reader.known(OpenStackCluster, BY_CLUSTER, cluster))

    indexes = {BY_CLUSTER: _cluster, BY_IDENTITY: identities}
    own_indexes = {**indexes, BY_MARK: marked, BY_RESOURCE: resources_of}
    watch, may_write = partial(Watch, namespace=namespace), partial(writes, namespace=namespace)
    return Controller(
        name=NAME,
        watches=(
            watch(OpenStackCluster, lambda infra: [infra.key], indexes=own_indexes),
            watch(Cluster, infrastructure(OpenStackCluster), when=_is_heeded),
            watch(
                Machine,
                of_machine,
                indexes={BY_CLUSTER: _cluster_of_machine, BY_CONTROL_PLANE: labelled_control_plane},
                when=identity_differs,
                cache_only=True,
            ),
            watch(
                OpenStackMachine,
                of_control_plane,
                indexes={BY_CLUSTER: labelled},
                when=reached_otherwise,
            ),
            # The ports of machines are known before their addresses, which wake the cluster; its bastion does itself.
            watch(OpenStackServer, _of_server),
            *identity_watches(reader, OpenStackCluster, namespace=namespace),
        ),
        permissions=(
            may_write(OpenStackCluster, "patch"),
            may_write(OpenStackCluster, "patch", subresource="status"),
            may_write(OpenStackMachine, "patch"),
            may_write(OpenStackServer, "create", "patch", "delete"),
            emits_events(namespace=namespace),
            calls(*OF_NETWORKS, *OF_FLOATING_IPS, *OF_BALANCERS, *OF_MEMBERS),
            asks_clouds(LookAtNetworks, LookForUnmarked, HasReportedAll, Extensions, FindOnce),
            asks(AddressOf),
        ),
        answerers={**answerers(reader, clouds, now=now, new_mark=new_mark), NAMES: _Names(resolve)},
        observe=observe,
        decide=decide,
        workers=4,
    )


class _Names:
    """Answers with the addresses of hosts."""

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve

    async def answer(self, question: AddressOf, /) -> str | Unresolved:
        return await self._resolve(question.host)


def _is_heeded(old: Object[Cluster] | None, new: Object[Cluster] | None) -> bool:
    """A change of the Cluster that is no work of ours: it copies the endpoint from here, and nobody has to look."""
    if old is None or new is None or identity_differs(old, new):
        return True
    return old.glimpse(References) != new.glimpse(References)


def _cluster(infra: Object[OpenStackCluster]) -> Iterable[str]:
    name = cluster_of(infra.metadata)
    return (f"{infra.namespace}/{name}",) if name else ()


def _of_server(server: Object[OpenStackServer]) -> Iterable[NamespacedName]:
    name = owner_name(server.metadata, OpenStackCluster)
    return ((server.namespace, name),) if name else ()


def _cluster_of_machine(machine: Object[Machine]) -> tuple[str, ...]:
    seen = machine.glimpse(References)
    return (f"{machine.namespace}/{seen.spec.cluster_name}",) if seen is not None and seen.spec.cluster_name else ()
