"""The network that is made for a cluster, with its subnet and its router (`managedSubnets`).

| there is | next |
|---|---|
| something that the status records, without the mark | mark it, before anything else |
| something of its name, without a mark and not recorded | `unmarked` |
| no network, no router | create both, at the same time; the router on the external network |
| no subnet | create it, once the network is there |
| other DNS servers | change those of the subnet |
| no interface of the router on the subnet | add it |
| another gateway, or not all of `externalRouterIPs` | set the gateway |

Without an external network there is no router. A router that the spec names gets an interface, and its gateway is set
only for `externalRouterIPs`. On networks that exist nothing is made: their router is the user's own affair.
"""

from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from typing import Any, Final

from msgspec.structs import replace

from windlass.api.capo_cluster import ManagedSubnet, OpenStackClusterSpec
from windlass.openstack.cloud import network_requests as networks
from windlass.openstack.cloud.marks import described
from windlass.openstack.cloud.network_inventory import NetworkInventory
from windlass.openstack.cloud.requests import CloudRequest
from windlass.openstack.cloud.resources import Network, Router, Subnet
from windlass.openstack.cluster import unmarked
from windlass.openstack.cluster.network import Found
from windlass.openstack.cluster.ownership import ADOPTS, adoption, owned, strange
from windlass.openstack.cluster.part import NETWORK, ROUTER, SUBNET, Ours, Part
from windlass.openstack.status import Reason


def made(spec: OpenStackClusterSpec, ours: Ours, inventory: NetworkInventory, found: Found) -> Found:
    """`found`, with the network, the subnet and the router that were made for the cluster; as it is if it has none."""
    if not spec.managed_subnets:
        return found
    network = next(iter(owned(inventory.networks, ours)), None)
    subnet = _subnet(spec.managed_subnets[0], ours, inventory, network) if network is not None else None
    router = found.router if spec.router is not None else next(iter(owned(inventory.routers, ours)), None)
    return replace(found, network=network, subnets=(subnet,) if subnet is not None else (), router=router)


def network(spec: OpenStackClusterSpec, ours: Ours, inventory: NetworkInventory, found: Found) -> Part:
    """The network. `found`, here and below, is that of `made`."""
    if not spec.managed_subnets:
        return NETWORK
    if len(spec.managed_subnets) > 1:
        text = f"spec.managedSubnets has {len(spec.managed_subnets)} subnets: one is possible"
        return NETWORK.hindered(text, Reason.INVALID_CONFIGURATION)
    if marks := adoption(inventory.networks, ours):
        return NETWORK.needs(*marks, why=ADOPTS)
    if lost := strange(inventory.networks, ours, NETWORK):
        return replace(NETWORK, obstacles=lost)
    if found.network is not None:
        return NETWORK.needs(*ours.tag(found.network), why="tags of the spec")
    if (step := unmarked.network(ours, inventory.unmarked, cidr=spec.managed_subnets[0].cidr)) is not None:
        return step
    if not inventory.certain:
        return NETWORK.uncertain(inventory)
    body = {
        **_named(ours),
        **({"mtu": spec.network_mtu} if spec.network_mtu else {}),
        **({"port_security_enabled": False} if spec.disable_port_security else {}),
    }
    return NETWORK.needs(ours.create(networks.CreateNetwork, ours.name, body), why="the cluster has no network yet")


def subnet(spec: OpenStackClusterSpec, ours: Ours, inventory: NetworkInventory, found: Found) -> Part:
    """The subnet, on the network of `found`."""
    if len(spec.managed_subnets) != 1:
        return SUBNET
    wanted = spec.managed_subnets[0]
    try:
        cidr = ip_network(wanted.cidr)
        servers = [str(ip_address(each)) for each in wanted.dns_nameservers]
    except ValueError as error:
        return SUBNET.hindered(f"spec.managedSubnets[0]: {error}: correct it", Reason.INVALID_CONFIGURATION)
    if marks := adoption(inventory.subnets, ours):
        return SUBNET.needs(*marks, why=ADOPTS)
    step = unmarked.subnet(ours, inventory.unmarked, found.network, cidr=wanted.cidr)
    if not found.subnets and step is not None:
        return step
    if found.network is None:
        return SUBNET.awaits(f"network {ours.name}")
    if found.subnets:
        (there,) = found.subnets
        requests: list[CloudRequest] = list(ours.tag(there))
        if [str(ip_address(each)) for each in there.dns_nameservers] != servers:
            requests.append(_nameservers(there, wanted, ours))
        return SUBNET.needs(*requests, why="the subnet differs from the spec")
    if not inventory.certain:
        return SUBNET.uncertain(inventory)
    pools = [{"start": each.start, "end": each.end} for each in wanted.allocation_pools]
    body = {
        **_named(ours),
        "network_id": found.network.id,
        "ip_version": cidr.version,
        "cidr": str(cidr),
        **({"dns_nameservers": list(wanted.dns_nameservers)} if wanted.dns_nameservers else {}),
        **({"allocation_pools": pools} if pools else {}),
    }
    return SUBNET.needs(ours.create(networks.CreateSubnet, ours.name, body), why="the network has no subnet yet")


def router(spec: OpenStackClusterSpec, ours: Ours, inventory: NetworkInventory, found: Found) -> Part:
    """The router, from the external network to the subnet of `found`."""
    if len(spec.managed_subnets) != 1:
        return ROUTER
    if found.external is None:  # there is none, or nobody knows now
        return ROUTER.awaits("the external network") if found.obstacles else ROUTER
    if len(found.router_addresses) < len(spec.external_router_ips):
        return ROUTER.awaits("the subnets of spec.externalRouterIPs")
    if marks := adoption(inventory.routers, ours) if spec.router is None else ():
        return ROUTER.needs(*marks, why=ADOPTS)
    if lost := strange(inventory.routers, ours, ROUTER) if spec.router is None else ():
        return replace(ROUTER, obstacles=lost)
    if found.router is None and spec.router is not None:
        return ROUTER.awaits("the router that spec.router names")
    if found.router is None:
        if (step := unmarked.router(ours, inventory.unmarked, next(iter(found.subnets), None))) is not None:
            return step
        if not inventory.certain:
            return ROUTER.uncertain(inventory)
        body = {**_named(ours), "external_gateway_info": _gateway(found, found.external)}
        return ROUTER.needs(ours.create(networks.CreateRouter, ours.name, body), why="the cluster has no router yet")
    requests: list[CloudRequest] = []
    if spec.router is None:
        requests += ours.tag(found.router)
    if (spec.router is None or spec.external_router_ips) and not _leads_out(found.router, found, found.external):
        requests.append(_set_gateway(found.router, found, found.external, ours))
    if not found.subnets:
        return ROUTER.needs(*requests, why="the gateway").awaits(f"subnet {ours.name}")
    (there,) = found.subnets
    if not is_connected(found.router, there, inventory):
        add = networks.AddInterface(
            project=ours.project,
            mark=ours.mark,
            subject=found.router.name or found.router.id,
            id=found.router.id,
            network=there.network_id,
            subnet=there.id,
        )
        requests.append(add)
    return ROUTER.needs(*requests, why="the subnet is connected with the external network")


STEPS: Final = (network, subnet, router)


def is_connected(router: Router, subnet: Subnet, inventory: NetworkInventory) -> bool:
    """Whether a port of the router has an address of the subnet."""
    ports = (each for each in inventory.ports if each.device_id == router.id)
    return any(address.subnet_id == subnet.id for each in ports for address in each.fixed_ips)


def _subnet(wanted: ManagedSubnet, ours: Ours, inventory: NetworkInventory, network: Network) -> Subnet | None:
    on_network = (each for each in owned(inventory.subnets, ours) if each.network_id == network.id)
    return next((each for each in on_network if unmarked.same_cidr(each.cidr, wanted.cidr)), None)


def _named(ours: Ours) -> dict[str, Any]:
    return {"name": ours.name, "description": described(ours.description(), ours.mark)}


def _nameservers(found: Subnet, wanted: ManagedSubnet, ours: Ours) -> networks.ChangeNameservers:
    return networks.ChangeNameservers(
        project=ours.project,
        mark=ours.mark,
        subject=found.name,
        id=found.id,
        before=found.dns_nameservers,
        nameservers=wanted.dns_nameservers,
    )


def _gateway(found: Found, external: Network) -> Mapping[str, Any]:
    addresses = [
        {"subnet_id": each.subnet_id, **({"ip_address": each.ip_address} if each.ip_address else {})}
        for each in found.router_addresses
    ]
    return {"network_id": external.id, **({"external_fixed_ips": addresses} if addresses else {})}


def _leads_out(router: Router, found: Found, external: Network) -> bool:
    """Whether the gateway is on the external network, and has all wanted addresses there."""
    gateway = router.external_gateway_info
    if gateway is None or gateway.network_id != external.id:
        return False
    there = {(each.subnet_id, ip) for each in gateway.external_fixed_ips for ip in ("", each.ip_address)}
    return all((each.subnet_id, each.ip_address) in there for each in found.router_addresses)


def _set_gateway(router: Router, found: Found, external: Network, ours: Ours) -> networks.SetGateway:
    old = router.external_gateway_info
    before = None
    if old is not None:
        addresses = [{"subnet_id": each.subnet_id, "ip_address": each.ip_address} for each in old.external_fixed_ips]
        before = {"network_id": old.network_id, "external_fixed_ips": addresses}
    return networks.SetGateway(
        project=ours.project,
        mark=ours.mark,
        subject=router.name or router.id,
        id=router.id,
        before=before,
        gateway=_gateway(found, external),
    )
