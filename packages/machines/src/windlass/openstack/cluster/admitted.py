"""The networks from which the API servers are reached through the load balancer: IPv4, in one order, each once."""

from collections.abc import Iterable
from ipaddress import IPv4Network, ip_address, ip_network

from windlass.api import capo_cluster as api
from windlass.openstack.cloud.resources import Router, Subnet


def admitted(infra: api.OpenStackCluster, subnets: Iterable[Subnet], router: Router | None) -> list[str]:
    """What `allowedCIDRs` admits; empty: everything.

    Such a list would lock out the cluster itself, so its subnets, its router and its bastion are always in it.
    """
    wanted = infra.spec.api_server_load_balancer
    if wanted is None or not wanted.allowed_cidrs:
        return []
    bastion, gateway = infra.status.bastion, router.external_gateway_info if router is not None else None
    inside = [
        *([bastion.ip, bastion.floating_ip] if bastion is not None else []),
        *(each.cidr for each in subnets),
        *(each.ip_address for each in (gateway.external_fixed_ips if gateway is not None else ())),
    ]
    return canonical([*wanted.allowed_cidrs, *inside])


def canonical(entries: Iterable[str]) -> list[str]:
    return [str(each) for each in sorted({found for found in map(ipv4, entries) if found is not None})]


def ipv4(entry: str) -> IPv4Network | None:
    """The network that the entry is; an address is a network of its own. None if it is not IPv4."""
    try:
        found = ip_network(entry, strict=False)
    except ValueError:
        return None
    return found if isinstance(found, IPv4Network) else None


def literal(host: str) -> str:
    """The host if it is an address itself, else nothing."""
    try:
        return str(ip_address(host))
    except ValueError:
        return ""
