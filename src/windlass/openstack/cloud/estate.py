"""Facts for decisions: what an owner has in a project beside servers: networks, groups, addresses, load balancers."""

from datetime import datetime

from msgspec import Struct

from windlass.openstack.cloud import resources


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


class Estate(Struct, frozen=True, kw_only=True):
    """All resources with the mark of an owner, or recorded by it; each list oldest first.

    `ports`: those with the mark, and all on `networks` and of `routers`. `certain` and `certain_in`: as in
    `windlass.openstack.cloud.inventory.Inventory`. `as_of`: when the oldest list began. `others`: what has another mark
    of the same root, or of the same holder; load balancers without their parts.
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
