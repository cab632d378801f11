"""Whose a network or load balancer without a mark is: the oldest OpenStackCluster's that has recorded it.

What Cluster API's provider made for a cluster has no mark until the first visit, which waits while the cluster is
paused. Its name is that of namespace and Cluster with a hyphen between them, so the networks of Cluster `b-c` in
namespace `a` and of Cluster `c` in namespace `a-b` have one name; and a copy has the status of the original.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from windlass.api.capo_cluster import OpenStackCluster
from windlass.kube.control.question import Asking
from windlass.kube.control.seen import Present
from windlass.kube.object import Object
from windlass.openstack.cloud.marks import described, mark_of
from windlass.openstack.cloud.network_inventory import Balancer, NetworkInventory
from windlass.openstack.cloud.resources import FloatingIp, Markable, Server, Volume
from windlass.openstack.cluster.bastion_address import addresses_of, pinned
from windlass.openstack.cluster.snapshot import recorded
from windlass.openstack.owners import other_recorders
from windlass.openstack.ownership import presumed_mark

BY_RESOURCE: Final = "resource"
"""Index of OpenStackClusters: by the IDs and addresses that their status has."""

T = TypeVar("T", bound=Markable)


class _Part(Struct, rename={"floating_ip": "floatingIP"}, gc=False):
    id: str = ""
    ip: str = ""
    floating_ip: str = ""


class _Network(Struct, gc=False):
    id: str = ""
    subnets: list[_Part] = field(default_factory=list)


class _Status(Struct, rename="camel", gc=False):
    network: _Network | None = None
    router: _Part | None = None
    control_plane_security_group: _Part | None = None
    worker_security_group: _Part | None = None
    bastion_security_group: _Part | None = None
    api_server_load_balancer: _Part | None = field(default=None, name="apiServerLoadBalancer")
    bastion: _Part | None = None


class _Shown(Struct, gc=False):
    """The fields that name something in the cloud, even if others are malformed."""

    status: _Status = field(default_factory=_Status)


def resources_of(found: Object[Any]) -> Iterator[str]:
    """The index `BY_RESOURCE`."""
    status = (found.glimpse(_Shown) or _Shown()).status
    network = status.network or _Network()
    parts = (
        *network.subnets,
        status.router,
        status.control_plane_security_group,
        status.worker_security_group,
        status.bastion_security_group,
        status.api_server_load_balancer,
        status.bastion,
    )
    shown = [network.id, *(text for each in parts if each is not None for text in (each.id, each.ip, each.floating_ip))]
    yield from dict.fromkeys(filter(None, shown))


def counted(seen: Asking, found: Present[OpenStackCluster], inventory: NetworkInventory) -> NetworkInventory:
    """The inventory of the cluster, in which what has no mark counts as that of the cluster that has it, and is not
    `unmarked` any more. What the spec names is the user's, and no cluster's."""
    spec = found.object.spec
    users = {spec.api_server_floating_ip, pinned(found.object)}
    unmarked = inventory.unmarked
    there = (
        *inventory.all,
        *unmarked.networks,
        *unmarked.subnets,
        *unmarked.routers,
        *unmarked.groups,
        *unmarked.floating_ips,
        *unmarked.balancers,
    )
    unowned = {_id(each) for each in there if not mark_of(each)} - users
    recorders = other_recorders(seen, found, BY_RESOURCE, sorted(unowned), has=_has_recorded)

    def owner(each: Markable) -> str:
        """The mark that the resource counts as having; empty if it has no other owner."""
        other = recorders.get(_id(each))
        return "" if other is None else presumed_mark(other)

    def with_owner(each: T) -> T:
        mark = owner(each)
        if not mark or isinstance(each, Server | Volume):
            return each
        return replace(each, description=described(each.description or "", mark))

    def balanced(each: Balancer) -> Balancer:
        return replace(each, balancer=with_owner(each.balancer))

    return replace(
        inventory,
        networks=_each(with_owner, inventory.networks),
        subnets=_each(with_owner, inventory.subnets),
        routers=_each(with_owner, inventory.routers),
        groups=_each(with_owner, inventory.groups),
        floating_ips=_each(with_owner, inventory.floating_ips),
        balancers=_each(balanced, inventory.balancers),
        unmarked=replace(
            unmarked,
            networks=_without(owner, unmarked.networks),
            subnets=_without(owner, unmarked.subnets),
            routers=_without(owner, unmarked.routers),
            groups=_without(owner, unmarked.groups),
            floating_ips=_without(owner, unmarked.floating_ips),
            balancers=_without(owner, unmarked.balancers),
        ),
    )


E = TypeVar("E")


def _each(change: Callable[[E], E], some: tuple[E, ...]) -> tuple[E, ...]:
    return tuple(map(change, some))


def _without(owner: Callable[[Markable], str], some: tuple[T, ...]) -> tuple[T, ...]:
    return tuple(each for each in some if not owner(each))


def _id(each: Markable) -> str:
    """What a status records of the resource."""
    return each.floating_ip_address if isinstance(each, FloatingIp) else each.id


def _has_recorded(cluster: Present[OpenStackCluster], which: str) -> bool:
    return which in _had(cluster.object)


def _had(infra: OpenStackCluster) -> set[str]:
    """What was made for the cluster: a network that its spec names was not."""
    balancer = infra.status.api_server_load_balancer
    address = balancer.ip if balancer is not None else ""
    return {*recorded(infra), *addresses_of(infra), address or ""}
