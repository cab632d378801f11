"""Refuses addresses that an object of a tenant must not lead a controller to: this machine's, and metadata services'.

    if why := refusal("169.254.169.254"):
        raise ...(f"the Service has the address 169.254.169.254, {why}")

Private ranges are allowed: clouds and Services are there. A name is checked after it was resolved, at each connection.
"""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final

_METADATA: Final = frozenset({"100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254"})
_TRANSLATED: Final = IPv6Network("64:ff9b::/96")


def refusal(address: str, forbidden: Iterable[str] = ()) -> str:
    """Why nothing is sent to this address, or "". Metadata services of clouds are link-local or listed here;
    `forbidden` are more addresses: the API server's."""
    try:
        found = _plain(ip_address(address))
    except ValueError:
        return "which is no IP address"
    if found.is_loopback or found.is_unspecified:
        return "which is this machine"
    if found.is_link_local or str(found) in _METADATA:
        return "where clouds keep metadata"
    if found.is_multicast or found.is_reserved:
        return "which is no address of a server"
    if any(found == _plain(ip_address(one)) for one in forbidden):
        return "which is the API server's"
    return ""


def _plain(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """An IPv4 address that is written as one of IPv6, or reached by NAT64, is what it is."""
    if isinstance(address, IPv6Address):
        if address in _TRANSLATED:
            return IPv4Address(int(address) & 0xFFFFFFFF)
        return address.ipv4_mapped or address.sixtofour or address
    return address
