"""Deletes what a cluster has in its project, after its last Machine and its bastion. No spec is needed. In order:

| there is | next |
|---|---|
| something that an earlier provider recorded, without the mark | mark it |
| floating IPs | delete them; take those of a user off the load balancer and ports that were left |
| a load balancer | `balancer` |
| interfaces of routers on the networks of the cluster | remove them; a router of the user's stays |
| routers | delete them |
| ports that were left on the networks | delete them; those of others are in the way, and are named |
| networks | delete them, with their subnets |
| security groups | delete them |
| nothing, while an earlier request may still arrive | wait, then look again |

A port was left if it has the mark, or no device and a name that begins with that of the cluster, as the ports of its
machines have. Everything else that the cluster did not make stays.
"""

from collections.abc import Collection, Iterable
from typing import Final, TypeVar

from windlass.openstack.cloud.kinds import KINDS
from windlass.openstack.cloud.marks import in_words, mark_of
from windlass.openstack.cloud.network_inventory import NetworkInventory
from windlass.openstack.cloud.network_requests import RemoveInterface
from windlass.openstack.cloud.requests import CloudRequest
from windlass.openstack.cloud.resources import FloatingIp, Markable, Network, Port, Router, SecurityGroup
from windlass.openstack.cluster.ownership import ADOPTS, Markless, adoption, owned
from windlass.openstack.cluster.part import Ours, Part
from windlass.openstack.cluster.unmarked import is_interface, own_ports
from windlass.openstack.status import DELETING, Reason

T = TypeVar("T", Network, Router, SecurityGroup, FloatingIp)

_NETWORK: Final = Part(condition=DELETING, reason=Reason.DELETING_NETWORK)
_GROUPS: Final = Part(condition=DELETING, reason=Reason.DELETING_SECURITY_GROUPS)
_BY_ITSELF: Final = ("network:dhcp", "network:distributed", "network:router_centralized_snat")
"""Device owners of ports that Neutron makes itself, and deletes with the network or the interface."""


def removal(ours: Ours, inventory: NetworkInventory, *, names: Collection[str], balancer: Part) -> Part:
    """What comes next; nothing is left if it is there. `names`: those of the OpenStackCluster, with which the names of
    its machines begin. `balancer`: what the removal of the load balancer needs next."""
    steps = (
        _marking(ours, inventory),
        _floating_ips(ours, inventory, names),
        balancer,
        _interfaces(ours, inventory),
        _routers(ours, inventory),
        _networks(ours, inventory, names),
        _GROUPS.needs(*_deletions(inventory.groups, ours)),
    )
    if (step := next((each for each in steps if not each.is_there), None)) is not None:
        return step
    return _NETWORK if inventory.certain else _NETWORK.uncertain(inventory)


def staying(ours: Ours, inventory: NetworkInventory) -> tuple[str, ...]:
    """What the status records, and is not deleted, because it has the mark of somebody else or none."""
    balancers = (each.balancer for each in inventory.balancers)
    found: tuple[Markable, ...] = (
        *inventory.networks,
        *inventory.routers,
        *inventory.groups,
        *inventory.floating_ips,
        *balancers,
    )
    return tuple(f"{KINDS[type(each)].name} {each.id}" for each in found if mark_of(each) != ours.mark)


def _marking(ours: Ours, inventory: NetworkInventory) -> Part:
    recorded: tuple[Markless, ...] = (*inventory.networks, *inventory.subnets, *inventory.routers, *inventory.groups)
    return _NETWORK.needs(*adoption(recorded, ours), why=ADOPTS)


def _floating_ips(ours: Ours, inventory: NetworkInventory, names: Collection[str]) -> Part:
    left = {each.id for each in inventory.ports if _on(each, ours, inventory) and _was_left(each, ours, names)}
    ports = left | own_ports(ours, inventory)
    theirs = (each for each in inventory.floating_ips if mark_of(each) != ours.mark and each.port_id in ports)
    requests = (*_deletions(inventory.floating_ips, ours), *(ours.lead(each, None) for each in theirs))
    return _NETWORK.needs(*requests, why="floating IPs go before what they lead to")


def _interfaces(ours: Ours, inventory: NetworkInventory) -> Part:
    names = {each.id: each.name for each in inventory.routers}
    requests = tuple(
        RemoveInterface(
            project=ours.project,
            mark=ours.mark,
            subject=f"{names.get(port.device_id) or port.device_id} to subnet {address.subnet_id}",
            id=port.device_id,
            network=port.network_id,
            subnet=address.subnet_id,
        )
        for port in inventory.ports
        if is_interface(port) and _on(port, ours, inventory)
        for address in port.fixed_ips
    )
    return _NETWORK.needs(*requests, why="a network that a router leads to cannot be deleted")


def _routers(ours: Ours, inventory: NetworkInventory) -> Part:
    gone = owned(inventory.routers, ours)
    ids = {each.id for each in gone}
    elsewhere = [each for each in inventory.ports if is_interface(each) and each.device_id in ids]
    if elsewhere:
        subnets = ", ".join(address.subnet_id for each in elsewhere for address in each.fixed_ips)
        text = f"a router of the cluster leads to subnets of others: {subnets}. Remove its interfaces there"
        return _NETWORK.hindered(text)
    return _NETWORK.needs(*_deletions(gone, ours))


def _networks(ours: Ours, inventory: NetworkInventory, names: Collection[str]) -> Part:
    ports = [each for each in inventory.ports if _on(each, ours, inventory) and each.device_owner not in _BY_ITSELF]
    left = [each for each in ports if _was_left(each, ours, names)]
    if left:
        return _NETWORK.needs(*map(ours.delete, left), why="ports that were left on the network")
    if ports:
        what = ", ".join(f"{each.name or 'port'} ({each.id}) of {_device(each)}" for each in ports)
        text = f"the network of the cluster has ports of others: {what}. Delete them"
        return _NETWORK.hindered(text)
    return _NETWORK.needs(*_deletions(inventory.networks, ours))


def _on(port: Port, ours: Ours, inventory: NetworkInventory) -> bool:
    """Whether it is on a network of the cluster."""
    return any(each.id == port.network_id for each in owned(inventory.networks, ours))


def _was_left(port: Port, ours: Ours, names: Collection[str]) -> bool:
    if (mark := mark_of(port)) or port.device_id:
        return mark == ours.mark
    return any(port.name == name or port.name.startswith(f"{name}-") for name in names)


def _device(port: Port) -> str:
    if port.device_id:
        return f"{port.device_owner} {port.device_id}".strip()
    return in_words(mark_of(port)) if mark_of(port) else "no device"


def _deletions(resources: Iterable[T], ours: Ours) -> tuple[CloudRequest, ...]:
    return tuple(map(ours.delete, owned(resources, ours)))
