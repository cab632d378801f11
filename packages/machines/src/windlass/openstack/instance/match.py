"""Which resource of the cloud is which part of the server, and which of them are surplus.

A part is found by its recorded ID, else by mark and name. There can be two of one name, when a request whose answer was
lost arrived late. Then the recorded one stays, else the one that is in use, else the oldest.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeVar

from msgspec import Struct

from windlass.openstack.cloud.inventory import Recorded, ServerInventory
from windlass.openstack.cloud.marks import mark_of
from windlass.openstack.cloud.resources import Port, Server, SubPort, Trunk, Volume
from windlass.openstack.instance.spec import Resolved
from windlass.openstack.instance.state import DELETED

Marked = TypeVar("Marked", Server, Port, Trunk, Volume)

DELETABLE: Final = frozenset({"available", "error", "error_extending", "error_managing", "error_restoring"})
"""The states in which Cinder deletes a volume that is attached to nothing."""


class Matched(Struct, frozen=True, kw_only=True):
    """`ports`: one for each resolved port, None where there is none. `volumes`: the usable ones by name.

    `broken`: the volumes in an error state, by name. `surplus`: what to delete.
    """

    server: Server | None
    ports: tuple[Port | None, ...]
    volumes: Mapping[str, Volume]
    broken: Mapping[str, tuple[Volume, ...]]
    surplus: tuple[Server | Port | Volume, ...]


def match(resolved: Resolved, inventory: ServerInventory, *, recorded: Recorded, mark: str) -> Matched:
    server = server_of(inventory, recorded)
    surplus: list[Server | Port | Volume] = [
        each for each in marked(inventory.servers, mark) if each != server and not is_going(each)
    ]
    ports: list[Port | None] = []
    mine = own(inventory.ports, mark)
    for index, port in enumerate(resolved.ports):
        if port.id:
            ports.append(Port(id=port.id))
            continue
        known = recorded.ports[index] if index < len(recorded.ports) else ""
        named = [each for each in mine if each.id == known or (each.name == port.name and mark_of(each) == mark)]
        kept = min(named, key=lambda each: (each.id != known, not each.device_id), default=None)
        ports.append(kept)
        surplus += [each for each in marked(named, mark) if each != kept and not each.device_id]
    volumes: dict[str, Volume] = {}
    broken: dict[str, tuple[Volume, ...]] = {}
    for volume in resolved.volumes:
        alike = [
            each for each in own(inventory.volumes, mark) if each.name == volume.name and each.status != "deleting"
        ]
        failed = tuple(each for each in alike if each.status.startswith("error"))
        usable = [each for each in alike if each not in failed]
        if not usable:
            broken[volume.name] = failed
            continue
        kept_volume = min(usable, key=lambda each: (each.id not in recorded.volumes, not each.attachments))
        volumes[volume.name] = kept_volume
        # Until its replacement is usable, the broken one stays: it tells that a replacement was tried already.
        others = alike if server is not None or kept_volume.status in ("available", "in-use") else usable
        surplus += [each for each in marked(others, mark) if each != kept_volume and each.status in DELETABLE]
    return Matched(server=server, ports=tuple(ports), volumes=volumes, broken=broken, surplus=tuple(surplus))


def server_of(inventory: ServerInventory, recorded: Recorded) -> Server | None:
    """The server: the recorded one and no other, if one is recorded; else the oldest that was not deleted."""
    if recorded.server:
        return next((each for each in inventory.servers if each.id == recorded.server), None)
    return min(inventory.servers, key=lambda each: each.status in DELETED, default=None)


def trunk_on(port: Port, inventory: ServerInventory) -> Trunk | None:
    """The trunk on a port, which has one at most. The port itself may tell of it, without the trunk's tags."""
    for trunk in inventory.trunks:
        if trunk.port_id == port.id:
            return trunk
    if not port.trunk_details:
        return None
    subports = [SubPort(each.get("port_id", "")) for each in port.trunk_details.get("sub_ports") or ()]
    return Trunk(id=port.trunk_details.get("trunk_id", ""), name=port.name, port_id=port.id, sub_ports=subports)


def is_going(server: Server) -> bool:
    """It is deleted, or will be without another request."""
    return server.status in DELETED or server.task_state == "deleting"


def marked(resources: Iterable[Marked], mark: str) -> Iterator[Marked]:
    """Those that certainly belong to the owner."""
    return (each for each in resources if mark_of(each) == mark)


def own(resources: Iterable[Marked], mark: str) -> list[Marked]:
    """Those of an inventory that belong to nobody else: without a mark, a recorded one is the owner's."""
    return [each for each in resources if mark_of(each) in ("", mark)]
