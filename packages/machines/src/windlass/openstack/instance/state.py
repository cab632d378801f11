"""What the state of a server means: whether it is ready, what people read, and its addresses."""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from windlass.api.capi import Address
from windlass.openstack.cloud import resources
from windlass.openstack.cloud.resources import Server, ServerAddress

ACTIVE: Final = "ACTIVE"
DELETED: Final = resources.DELETED

_KINDS: Final = {"fixed": "InternalIP", "floating": "ExternalIP"}


class Verdict(Struct, frozen=True):
    """`ready` None: unknown. `reason` and `message` are those of the condition `InstanceReady`.

    `building`: it will change soon by itself.
    """

    ready: bool | None
    reason: str
    message: str = ""
    building: bool = False


def verdict(server: Server) -> Verdict:
    """What the state of `server` means. Nova's answer to the POST has no state yet: the server is being built."""
    match server.status:
        case "ACTIVE":
            return Verdict(True, "Ready")
        case "ERROR":
            return Verdict(False, "InstanceStateError", _in_error(server))
        case "DELETED":
            return Verdict(False, "InstanceDeleted", f"Server {server.id} has been deleted in the cloud")
        case "SOFT_DELETED":
            message = f"Server {server.id} has been deleted in the cloud, and can still be restored there"
            return Verdict(False, "InstanceDeleted", message)
        case "BUILD" | "":
            doing = f" ({server.task_state})" if server.task_state else ""
            return Verdict(False, "InstanceNotReady", f"Instance is building{doing}", building=True)
        case other:
            return Verdict(None, "InstanceNotReady", f"Instance state is not handled: {other}")


def _in_error(server: Server) -> str:
    """A sentence with Nova's fault: its message, and the first line of its details if that says more."""
    if server.fault is None:
        return f"Instance is in ERROR state: Nova gives no reason for server {server.id}"
    fault = server.fault
    first = next(iter(fault.details.splitlines()), "")
    more = f" ({first})" if first and first not in fault.message else ""
    code = f" {fault.code}" if fault.code else ""
    return f"Instance is in ERROR state: fault{code}: {fault.message}{more}"


def addresses(server: Server) -> tuple[Address, ...]:
    """The addresses by network, IPv4 before IPv6, and then the name of the server as its internal DNS name."""
    found = [Address(type=_KINDS[each.type], address=each.addr) for each in _in_order(server) if each.type in _KINDS]
    return (*found, Address(type="InternalDNS", address=server.name))


def _in_order(server: Server) -> Iterator[ServerAddress]:
    for _, each in sorted(server.addresses.items()):
        yield from sorted(each, key=lambda address: address.version)
