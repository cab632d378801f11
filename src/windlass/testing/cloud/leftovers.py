"""What a project has in a cloud: how each kind is listed and deleted, in the order in which they can be deleted."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from openstack.connection import Connection as Sdk
from openstack.exceptions import ConflictException

from windlass.testing.cloud.errors import CloudError
from windlass.testing.plane.waiting import wait_for

_DELETE_SECONDS = 60.0


@dataclass(frozen=True)
class Leftover:
    """Something that a project has; `going` says that it is being deleted."""

    kind: str
    id: str
    name: str
    status: str
    going: bool = False

    def __str__(self) -> str:
        return f"{self.kind} {self.name or '(unnamed)'} {self.id} ({self.status or 'no status'})"


class _Kind(NamedTuple):
    service: str
    find: Callable[[Sdk, str], Iterable[Any]]
    delete: Callable[[Sdk, str], object]


def _delete_router(admin: Sdk, router: str) -> None:
    for port in admin.network.ports(device_id=router):
        if port.device_owner == "network:router_interface":
            for address in port.fixed_ips:
                admin.network.remove_interface_from_router(router, address["subnet_id"])
    admin.network.delete_router(router)


KINDS: Mapping[str, _Kind] = {
    "load balancer": _Kind(
        "load-balancer",
        lambda admin, project: admin.load_balancer.load_balancers(project_id=project),
        lambda admin, ident: admin.load_balancer.delete_load_balancer(ident, cascade=True),
    ),
    "server": _Kind(
        "compute",
        lambda admin, project: admin.compute.servers(all_projects=True, project_id=project),
        lambda admin, ident: admin.compute.delete_server(ident),
    ),
    "floating IP": _Kind(
        "network",
        lambda admin, project: admin.network.ips(project_id=project),
        lambda admin, ident: admin.network.delete_ip(ident),
    ),
    "trunk": _Kind(
        "network",
        lambda admin, project: admin.network.trunks(project_id=project),
        lambda admin, ident: admin.network.delete_trunk(ident),
    ),
    "router": _Kind("network", lambda admin, project: admin.network.routers(project_id=project), _delete_router),
    "port": _Kind(
        "network",
        lambda admin, project: admin.network.ports(project_id=project),
        lambda admin, ident: admin.network.delete_port(ident),
    ),
    "snapshot": _Kind(
        "block-storage",
        lambda admin, project: admin.block_storage.snapshots(all_projects=True, project_id=project),
        lambda admin, ident: admin.block_storage.delete_snapshot(ident),
    ),
    "volume": _Kind(
        "block-storage",
        lambda admin, project: admin.block_storage.volumes(all_projects=True, project_id=project),
        lambda admin, ident: admin.block_storage.delete_volume(ident),
    ),
    "network": _Kind(
        "network",
        lambda admin, project: admin.network.networks(project_id=project),
        lambda admin, ident: admin.network.delete_network(ident),
    ),
    "security group": _Kind(
        "network",
        # Neutron makes `default` again as soon as the groups are listed.
        lambda admin, project: (
            group for group in admin.network.security_groups(project_id=project) if group.name != "default"
        ),
        lambda admin, ident: admin.network.delete_security_group(ident),
    ),
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
                except ConflictException:
                    # Something else still has it, or it is changing.
                    continue
            return not there or None

        if wait_for(step, seconds=_DELETE_SECONDS) is None:
            there = ", ".join(map(str, find(admin, project, kinds=[kind])))
            raise CloudError(f"cannot be deleted within {_DELETE_SECONDS:g} s: {there}")
