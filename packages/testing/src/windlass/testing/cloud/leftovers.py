"""What a project has in a cloud: how each kind is listed and deleted, in the order in which they can be deleted."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from openstack.connection import Connection as Sdk
from openstack.exceptions import BadRequestException, ConflictException

from windlass.testing.cloud.errors import CloudError
from windlass.testing.plane.waiting import wait_for

_DELETE_SECONDS = 60.0


@dataclass(frozen=True)
class Leftover:
    """A resource left in a project; `going`: its deletion is under way."""

    kind: str
    id: str
    name: str
    status: str
    going: bool = False

    def __str__(self) -> str:
        return f"{self.kind} {self.name or '(unnamed)'} {self.id} ({self.status or 'no status'})"


def _delete_router(admin: Sdk, router: str) -> None:
    for port in admin.network.ports(device_id=router):
        if port.device_owner == "network:router_interface":
            for address in port.fixed_ips:
                admin.network.remove_interface_from_router(router, address["subnet_id"])
    admin.network.delete_router(router)


class _Kind(NamedTuple):
    """`plural` and `singular` are the words in the names of openstacksdk's methods."""

    service: str
    plural: str
    singular: str
    listing: Mapping[str, Any] = {}
    deleting: Mapping[str, Any] = {}

    def find(self, admin: Sdk, project: str) -> Iterable[Any]:
        found = getattr(getattr(admin, self.service.replace("-", "_")), self.plural)(project_id=project, **self.listing)
        # Neutron makes the security group `default` again as soon as the groups are listed.
        return (each for each in found if (self.singular, each.name) != ("security_group", "default"))

    def delete(self, admin: Sdk, ident: str) -> None:
        if self.singular == "router":
            _delete_router(admin, ident)
        else:
            getattr(getattr(admin, self.service.replace("-", "_")), f"delete_{self.singular}")(ident, **self.deleting)


_OF_ALL = {"all_projects": True}
KINDS: Mapping[str, _Kind] = {
    "load balancer": _Kind("load-balancer", "load_balancers", "load_balancer", deleting={"cascade": True}),
    "server": _Kind("compute", "servers", "server", _OF_ALL),
    "floating IP": _Kind("network", "ips", "ip"),
    "trunk": _Kind("network", "trunks", "trunk"),
    "router": _Kind("network", "routers", "router"),
    "port": _Kind("network", "ports", "port"),
    "snapshot": _Kind("block-storage", "snapshots", "snapshot", _OF_ALL),
    "volume": _Kind("block-storage", "volumes", "volume", _OF_ALL),
    "network": _Kind("network", "networks", "network"),
    "security group": _Kind("network", "security_groups", "security_group"),
}


def find(admin: Sdk, project: str, *, kinds: Iterable[str] = KINDS, but: str = "") -> list[Leftover]:
    """What the project has of these kinds, without what has the id `but`."""
    return [
        _leftover(kind, found)
        for kind in kinds
        if admin.has_service(KINDS[kind].service)
        for found in KINDS[kind].find(admin, project)
        if found.id != but
    ]


def _leftover(kind: str, found: Any) -> Leftover:
    status = getattr(found, "status", None) or getattr(found, "provisioning_status", None) or ""
    going = "DELET" in status.upper() or getattr(found, "task_state", None) == "deleting"
    return Leftover(kind, found.id, found.name or "", status, going=going)


def delete(admin: Sdk, project: str) -> None:
    """Delete all that the project has. Raises CloudError for what stays."""
    for kind in KINDS:

        def step(kind: str = kind) -> bool | None:
            there = find(admin, project, kinds=[kind])
            for leftover in there:
                try:
                    KINDS[kind].delete(admin, leftover.id)
                except (ConflictException, BadRequestException):
                    # Something else still has it, or it is changing; Cinder answers 400 then.
                    continue
            return not there or None

        if wait_for(step, seconds=_DELETE_SECONDS) is None and (left := find(admin, project, kinds=[kind])):
            raise CloudError(f"cannot be deleted within {_DELETE_SECONDS:g} s: {', '.join(map(str, left))}")
