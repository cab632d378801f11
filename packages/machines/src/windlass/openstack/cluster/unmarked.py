"""Before something is created for a cluster: what is called like it and has no mark is adopted, or is in the way.

A cluster that is restored without its status, and without a mark, does not know what Cluster API's provider has made
for it. Nothing is created beside that.

| there is, without a mark | what is done |
|---|---|
| one, with the provider's description, and all that hangs on it fits the spec | it gets the mark; an Event says so |
| one that differs | nothing is created for the cluster, and the condition says what differs |
| several | the same |

The annotation `openstack.windlass.dev/adopt: none` on the OpenStackCluster says that none of it is the cluster's: what
has no mark is then left alone, and the cluster gets its own.
"""

from collections.abc import Callable, Iterator, Sequence
from ipaddress import ip_network
from typing import Final, TypeVar

from msgspec.structs import replace

from windlass.openstack.cloud.kinds import KINDS
from windlass.openstack.cloud.marks import mark_of
from windlass.openstack.cloud.network_inventory import NetworkInventory, Unmarked
from windlass.openstack.cloud.requests import CloudRequest, Creation
from windlass.openstack.cloud.resources import (
    FloatingIp,
    LoadBalancer,
    Network,
    Port,
    Router,
    SecurityGroup,
    Subnet,
)
from windlass.openstack.cloud.upkeep import called
from windlass.openstack.cluster.names import GROUP_OF_PROVIDER, balancer_name, of_provider
from windlass.openstack.cluster.part import ENDPOINT, GROUPS, NETWORK, ROUTER, SUBNET, News, Ours, Part
from windlass.openstack.constants import ADOPT_ANNOTATION, ADOPT_NONE
from windlass.openstack.status import Reason

T = TypeVar("T", Network, Subnet, Router, SecurityGroup, FloatingIp, LoadBalancer)

ADOPTING: Final = "AdoptingResource"
_OURS: Final = f"set the annotation {ADOPT_ANNOTATION} of the OpenStackCluster to {ADOPT_NONE}, and another one is made"
_INTERFACE: Final = "network:router_interface"
"""How the device owner of the interfaces of routers begins; `network:ha_router_replicated_interface` is another."""
_HIGHLY_AVAILABLE: Final = "network:ha_router_replicated_interface"


def network(ours: Ours, found: Unmarked, *, cidr: str) -> Part | None:
    """The part that takes the network over, or says why not; None, here and below: there is none without a mark."""

    def why_not(each: Network) -> Iterator[str]:
        yield from _described_otherwise(each, of_provider(ours.cluster))
        for subnet in found.subnets:
            if subnet.network_id == each.id and not same_cidr(subnet.cidr, cidr):
                yield f"its subnet {subnet.id} is {subnet.cidr}, not {cidr}"

    return settled(NETWORK, found.networks, why_not, ours.adopt)


def subnet(ours: Ours, found: Unmarked, on: Network | None, *, cidr: str) -> Part | None:
    """`on`: the network of the cluster."""
    if on is None and found.networks:  # they come first
        return None

    def why_not(each: Subnet) -> Iterator[str]:
        yield from _described_otherwise(each, of_provider(ours.cluster))
        if on is None or each.network_id != on.id:
            yield f"it is on network {each.network_id}, which is not that of the cluster"
        if not same_cidr(each.cidr, cidr):
            yield f"it is {each.cidr}, not {cidr}"

    return settled(SUBNET, found.subnets, why_not, ours.adopt)


def router(ours: Ours, found: Unmarked, to: Subnet | None) -> Part | None:
    """`to`: the subnet of the cluster."""
    if not found.routers:
        return None
    if to is None and (found.networks or found.subnets):
        return ROUTER.awaits(f"subnet {ours.name}")

    def why_not(each: Router) -> Iterator[str]:
        yield from _described_otherwise(each, of_provider(ours.cluster))
        for port in found.interfaces:
            for address in port.fixed_ips if port.device_id == each.id and is_interface(port) else ():
                if to is None or address.subnet_id != to.id:
                    yield f"it leads to subnet {address.subnet_id}, which is not that of the cluster"

    return settled(ROUTER, found.routers, why_not, ours.adopt)


def groups(ours: Ours, found: Unmarked, missing: Sequence[str]) -> Part | None:
    """`missing`: the names of the groups that would be created."""

    def why_not(each: SecurityGroup) -> Iterator[str]:
        yield from _described_otherwise(each, GROUP_OF_PROVIDER)

    there = {name: [each for each in found.groups if each.name == name] for name in missing}
    steps = [step for some in there.values() if (step := settled(GROUPS, some, why_not, ours.adopt)) is not None]
    if not steps:
        return None
    whole = replace(
        GROUPS,
        requests=tuple(each for step in steps for each in step.requests),
        obstacles=tuple(each for step in steps for each in step.obstacles),
        news=tuple(each for step in steps for each in step.news),
        why=steps[0].why,
    )
    return replace(whole, requests=(), news=(), holds=True) if whole.obstacles else whole


def balancer(ours: Ours, found: Unmarked, on: Network | None) -> Part | None:
    """`on`: the network that its address has to be on; None: the spec names another one than that of the cluster."""
    there = [each for each in found.balancers if each.name == balancer_name(ours.cluster)]

    def why_not(each: LoadBalancer) -> Iterator[str]:
        yield from _described_otherwise(each, of_provider(ours.cluster))
        if on is not None and each.vip_network_id != on.id:
            yield f"its address is on network {each.vip_network_id}, which is not that of the cluster"
        if each.provisioning_status == "ERROR":
            yield "it is in ERROR"

    step = settled(ENDPOINT, there, why_not, ours.adopt)
    if step is not None and step.requests and there[0].provisioning_status != "ACTIVE":  # Octavia would refuse
        return ENDPOINT.awaits(f"load balancer {there[0].name}: {there[0].provisioning_status}")
    return step


def floating_ip(
    part: Part,
    found: Sequence[FloatingIp],
    *,
    leads_to_ours: Callable[[FloatingIp], bool],
    adopt: Callable[[FloatingIp], CloudRequest],
) -> Part | None:
    """`found`: those that the provider has described as the cluster's."""

    def why_not(each: FloatingIp) -> Iterator[str]:
        if not leads_to_ours(each):
            yield f"it leads to port {each.port_id}, which is not known to be this cluster's"

    return settled(part, found, why_not, adopt)


def held(parts: Sequence[Part]) -> list[Part]:
    """The parts, without what they would create if one of them holds the cluster."""
    if not any(part.holds for part in parts):
        return list(parts)
    return [_without_creations(part) for part in parts]


def _without_creations(part: Part) -> Part:
    left = tuple(each for each in part.requests if not isinstance(each, Creation))
    if len(left) == len(part.requests):
        return part
    return replace(part, requests=left).awaits("somebody to say whose resources without a mark are")


def settled(
    part: Part, found: Sequence[T], why_not: Callable[[T], Iterator[str]], adopt: Callable[[T], CloudRequest]
) -> Part | None:
    """What is done about `found`, which are of one kind and called alike."""
    if not found:
        return None
    kind = KINDS[type(found[0])].name
    if len(found) > 1:
        which = ", ".join(f"{called(each)} ({each.id})" for each in found)
        text = f"{len(found)} {kind}s are called as that of this cluster and have no mark: {which}. Delete all but one"
        return replace(part.hindered(f"{text}; or {_OURS}", Reason.OWNED_BY_ANOTHER), holds=True)
    (one,) = found
    what = f"{kind} {called(one)} ({one.id})"
    if reasons := ", ".join(why_not(one)):
        text = f"{what} is called as that of this cluster and has no mark, but {reasons}. Correct or delete it"
        return replace(part.hindered(f"{text}; or {_OURS}", Reason.OWNED_BY_ANOTHER), holds=True)
    note = f"{what}, which Cluster API's provider has made for this cluster, gets its mark"
    news = (News(ADOPTING, note, warning=False),)
    return replace(part, news=news).needs(adopt(one), why="what was made for the cluster before gets its mark")


def own_ports(ours: Ours, inventory: NetworkInventory) -> frozenset[str]:
    """The ports of the addresses of the cluster's load balancers."""
    balancers = (each.balancer for each in inventory.balancers)
    return frozenset(each.vip_port_id for each in balancers if mark_of(each) == ours.mark and each.vip_port_id)


def leads_elsewhere(floating: FloatingIp) -> str:
    """What is said of a floating IP of the cluster that leads to a port which is not its own."""
    what = f"floating IP {floating.floating_ip_address} ({floating.id})"
    return (
        f"{what} leads to port {floating.port_id}, which is not this cluster's. If nothing needs it there: "
        f"openstack floating ip unset --port {floating.id}"
    )


def is_interface(port: Port) -> bool:
    """Whether it connects a router with a subnet."""
    return port.device_owner.startswith(_INTERFACE) or port.device_owner == _HIGHLY_AVAILABLE


def same_cidr(cidr: str, other: str) -> bool:
    try:
        return ip_network(cidr) == ip_network(other)
    except ValueError:
        return False


def _described_otherwise(found: T, description: str) -> Iterator[str]:
    if found.description != description:
        yield f'its description is not "{description}"'
