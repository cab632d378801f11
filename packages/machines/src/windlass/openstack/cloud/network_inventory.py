"""Facts for decisions: what an owner has in a project beside servers: networks, groups, addresses, load balancers."""

from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from windlass.openstack.cloud import resources

T = TypeVar("T", bound=resources.Markable)


class Balancer(Struct, frozen=True):
    """A load balancer as it is now. Its parts are known only while it `can_be_changed`: its listeners, its pools with
    their members, and the monitors of those. `confirmed`: Octavia has told these parts since they last changed; else
    they follow from its answers to our requests."""

    balancer: resources.LoadBalancer
    listeners: tuple[resources.Listener, ...] = ()
    pools: tuple[resources.Pool, ...] = ()
    monitors: tuple[resources.HealthMonitor, ...] = ()
    confirmed: bool = True

    @property
    def can_be_changed(self) -> bool:
        return self.balancer.provisioning_status == "ACTIVE"


class Unmarked(Struct, frozen=True, kw_only=True):
    """What has no mark, is not recorded, and is called as the owner's resources are; floating IPs by their description.
    `interfaces`: the ports of `routers`."""

    networks: tuple[resources.Network, ...] = ()
    subnets: tuple[resources.Subnet, ...] = ()
    routers: tuple[resources.Router, ...] = ()
    groups: tuple[resources.SecurityGroup, ...] = ()
    floating_ips: tuple[resources.FloatingIp, ...] = ()
    balancers: tuple[resources.LoadBalancer, ...] = ()
    interfaces: tuple[resources.Port, ...] = ()


class NetworkInventory(Struct, frozen=True, kw_only=True):
    """All resources with the mark of an owner, or recorded by it; each list oldest first.

    `ports`: those with the mark, and all on `networks` and of `routers`. `certain` and `certain_in`: as in
    `ServerInventory`. `as_of`: when the oldest list began. `others`: what has another mark of the same root, or of the
    same holder; load balancers without their parts. `unmarked`: what may be the owner's; it is looked for only where
    something may be created.
    """

    networks: tuple[resources.Network, ...] = ()
    subnets: tuple[resources.Subnet, ...] = ()
    routers: tuple[resources.Router, ...] = ()
    groups: tuple[resources.SecurityGroup, ...] = ()
    floating_ips: tuple[resources.FloatingIp, ...] = ()
    balancers: tuple[Balancer, ...] = ()
    ports: tuple[resources.Port, ...] = ()
    certain: bool = True
    certain_in: float = 0.0
    as_of: datetime | None = None
    others: tuple[resources.Markable, ...] = ()
    unmarked: Unmarked = Unmarked()

    @property
    def all(self) -> tuple[resources.Markable, ...]:
        """All resources that can carry a mark, except `others`."""
        balancers = (each.balancer for each in self.balancers)
        return (*self.networks, *self.subnets, *self.routers, *self.groups, *self.floating_ips, *balancers, *self.ports)

    def with_others(self, wanted: Callable[[resources.Markable], bool]) -> "NetworkInventory":
        """The wanted `others` as if they had the mark."""

        def moved(kind: type[T], have: tuple[T, ...]) -> tuple[T, ...]:
            ids = {each.id for each in have}
            return (*have, *(each for each in taken if isinstance(each, kind) and each.id not in ids))

        taken = [each for each in self.others if wanted(each)]
        if not taken:
            return self
        balancers = moved(resources.LoadBalancer, tuple(each.balancer for each in self.balancers))
        known = {each.balancer.id: each for each in self.balancers}
        return replace(
            self,
            networks=moved(resources.Network, self.networks),
            subnets=moved(resources.Subnet, self.subnets),
            routers=moved(resources.Router, self.routers),
            groups=moved(resources.SecurityGroup, self.groups),
            floating_ips=moved(resources.FloatingIp, self.floating_ips),
            balancers=tuple(known.get(each.id) or Balancer(each, confirmed=False) for each in balancers),
            ports=moved(resources.Port, self.ports),
            others=tuple(each for each in self.others if each not in taken),
        )
