"""Which subnet the address of the load balancer is on. The first row that says something counts:

| | subnet |
|---|---|
| an address is known: the recorded one, `apiServerFixedIP`, or that of the endpoint | the one that contains it |
| `primarySubnet` | that one |
| a floating IP is to lead to it | the first with IPv4, since Neutron translates to IPv4 only |
| subnets are listed in the spec | the first of them |
| | the first with IPv4, else the first |

Neutron lists the subnets of a network in no order: on a network with both, the first may have IPv6.
"""

from collections.abc import Iterable, Sequence
from ipaddress import ip_address, ip_network
from typing import Final

from windlass.openstack.cloud.resources import Subnet

NO_IPV4: Final = (
    "a floating IP leads to IPv4 addresses only: add an IPv4 subnet, or create this object with "
    "spec.disableAPIServerFloatingIP"
)


def vip_subnet(
    subnets: Sequence[Subnet], *, address: str = "", primary: Subnet | None = None, floats: bool, listed: bool
) -> Subnet | None:
    """None: a floating IP is to lead there, and there is no IPv4. `listed`: the spec names `subnets` in this order.

    `address`: the known one, empty if there is none; one that is on none of the subnets decides nothing.
    """
    chosen = subnet_of(address, (*([primary] if primary is not None else ()), *subnets)) or primary
    if chosen is None:
        first = next(filter(is_ipv4, subnets), None)
        chosen = subnets[0] if not floats and (listed or first is None) else first
    return chosen if chosen is not None and (is_ipv4(chosen) or not floats) else None


def is_ipv4(subnet: Subnet) -> bool:
    """A subnet without a readable `cidr` counts as one."""
    return ":" not in subnet.cidr


def subnet_of(address: str, subnets: Iterable[Subnet]) -> Subnet | None:
    """The first of `subnets` that contains the address; None for a text that is no address."""
    return next((each for each in subnets if each.cidr and _contains(each.cidr, address)), None)


def _contains(cidr: str, address: str) -> bool:
    try:
        return ip_address(address) in ip_network(cidr, strict=False)
    except ValueError:
        return False
