"""A cloud in memory, with what the core looks at: it carries out requests, refuses as services do, and takes time.

`windlass.openstack` never sees it: tests turn it into an `Inventory`, ask for a step, and let the model carry it out.
"""

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from msgspec import convert
from msgspec.structs import replace

from windlass.openstack.cloud.inventory import MARK, Inventory, Recorded
from windlass.openstack.cloud.marks import mark_of
from windlass.openstack.cloud.project import NONE
from windlass.openstack.cloud.requests import (
    CloudRequest,
    CreatePort,
    CreateServer,
    CreateTrunk,
    CreateVolume,
    DeletePort,
    DeleteServer,
    DeleteTrunk,
    DeleteVolume,
    Describe,
    MarkServer,
    MarkVolume,
    RemoveSubports,
    SetTags,
)
from windlass.openstack.cloud.resources import Attachment, Port, Server, Trunk, Volume
from windlass.openstack.instance.match import DELETABLE

Found = TypeVar("Found", Server, Port, Trunk, Volume)


class RefusedError(Exception):
    """The service would answer 4xx: the core must not ask for it."""


class Model:
    """`doomed`: the names of volumes that Cinder fails to make, and how many of each."""

    def __init__(self, doomed: dict[str, int] | None = None) -> None:
        self.servers: dict[str, Server] = {}
        self.ports: dict[str, Port] = {}
        self.trunks: dict[str, Trunk] = {}
        self.volumes: dict[str, Volume] = {}
        self.requests: list[CloudRequest] = []
        self._doomed = dict(doomed or {})
        self._attached: dict[str, list[str]] = {}
        self._number = 0

    def inventory(self, mark: str, recorded: Recorded = NONE) -> Inventory:
        def of(resources: dict[str, Found], ids: Iterable[str]) -> tuple[Found, ...]:
            return tuple(each for each in resources.values() if mark_of(each) == mark or each.id in ids)

        return Inventory(
            servers=of(self.servers, (recorded.server,)),
            ports=of(self.ports, recorded.ports),
            volumes=of(self.volumes, recorded.volumes),
            trunks=of(self.trunks, recorded.trunks),
        )

    @property
    def everything(self) -> Iterator[Server | Port | Trunk | Volume]:
        yield from self.servers.values()
        yield from self.ports.values()
        yield from self.trunks.values()
        yield from self.volumes.values()

    def pass_time(self) -> None:
        """Everything that is under way comes to its end."""
        for volume in list(self.volumes.values()):
            if volume.status == "creating":
                left = self._doomed.get(volume.name, 0)
                self._doomed[volume.name] = left - 1
                self.volumes[volume.id] = replace(volume, status="error" if left > 0 else "available")
        for server in list(self.servers.values()):
            if server.task_state == "deleting":
                self.remove(server)
            elif server.status == "BUILD":
                self.servers[server.id] = replace(server, status="ACTIVE")

    def carry_out(self, request: CloudRequest) -> Any:
        """The answer; raises `RefusedError`."""
        self.requests.append(request)
        match request:
            case CreateServer() | CreatePort() | CreateTrunk() | CreateVolume():
                self._number += 1
                new = f"{request.subject}-{self._number:04}"
                return self._create(request, new)
            case SetTags(collection="ports"):
                self.ports[request.id] = replace(self._of(self.ports, request.id), tags=list(request.tags))
            case SetTags():
                self.trunks[request.id] = replace(self._of(self.trunks, request.id), tags=list(request.tags))
            case Describe(collection="ports"):
                self.ports[request.id] = replace(self._of(self.ports, request.id), description=request.description)
            case Describe():
                self.trunks[request.id] = replace(self._of(self.trunks, request.id), description=request.description)
            case MarkServer():
                server = self._of(self.servers, request.id)
                self.servers[server.id] = replace(server, metadata={**server.metadata, MARK: request.mark})
            case MarkVolume():
                volume = self._of(self.volumes, request.id)
                self.volumes[volume.id] = replace(volume, metadata={**volume.metadata, MARK: request.mark})
            case RemoveSubports():
                trunk = self._of(self.trunks, request.id)
                left = [each for each in trunk.sub_ports if each.port_id not in request.ports]
                self.trunks[trunk.id] = replace(trunk, sub_ports=left)
            case _:
                self._delete(request)
        return None

    def _create(self, request: CreateServer | CreatePort | CreateTrunk | CreateVolume, new: str) -> Any:
        body = dict(request.body)
        match request:
            case CreatePort():
                self.ports[new] = Port(
                    id=new, name=body["name"], network_id=body["network_id"], description=body["description"]
                )
                return self.ports[new]
            case CreateTrunk():
                port = self._of(self.ports, body["port_id"])
                if any(each.port_id == port.id for each in self.trunks.values()) or port.device_id:
                    raise RefusedError(f"port {port.id} has a trunk, or is bound")
                self.trunks[new] = convert({**body, "id": new}, Trunk)
                self.ports[port.id] = replace(port, trunk_details={"trunk_id": new, "sub_ports": []})
                return self.trunks[new]
            case CreateVolume():
                self.volumes[new] = convert({**body, "id": new, "status": "creating"}, Volume)
                return self.volumes[new]
            case _:
                return self._create_server(new, body)

    def _create_server(self, new: str, body: dict[str, Any]) -> Server:
        ports = [self._of(self.ports, each["port"]) for each in body["networks"]]
        devices = body["block_device_mapping_v2"]
        volumes = [self._of(self.volumes, each["uuid"]) for each in devices if each["source_type"] == "volume"]
        if any(each.status != "available" for each in volumes):
            raise RefusedError("a volume is not available")
        taken = any(port.device_id for port in ports)
        self.servers[new] = Server(
            id=new, name=body["name"], status="ERROR" if taken else "BUILD", metadata=body["metadata"]
        )
        if not taken:
            for port in ports:
                self.ports[port.id] = replace(port, device_id=new)
            for volume in volumes:
                self.volumes[volume.id] = replace(volume, status="in-use", attachments=[Attachment(new)])
            self._attached[new] = [volume.id for volume in volumes]
        return replace(self.servers[new], status="")

    def _delete(self, request: CloudRequest) -> None:
        match request:
            case DeleteServer():
                server = self._of(self.servers, request.id)
                self.servers[server.id] = replace(server, task_state="deleting")
            case DeletePort():
                if any(each.port_id == request.id for each in self.trunks.values()):
                    raise RefusedError(f"port {request.id} has a trunk")
                del self.ports[self._of(self.ports, request.id).id]
            case DeleteTrunk():
                trunk = self._of(self.trunks, request.id)
                port = self.ports.get(trunk.port_id)
                if trunk.sub_ports or (port is not None and port.device_id):
                    raise RefusedError(f"trunk {trunk.id} has subports, or its port is bound")
                del self.trunks[trunk.id]
                if port is not None:
                    self.ports[port.id] = replace(port, trunk_details=None)
            case DeleteVolume():
                volume = self._of(self.volumes, request.id)
                if volume.status not in DELETABLE or volume.attachments:
                    raise RefusedError(f"volume {volume.id} is {volume.status}")
                del self.volumes[volume.id]

    def remove(self, server: Server) -> None:
        """What Nova does at the end of a deletion: ports are free, volumes go with the server."""
        del self.servers[server.id]
        for port in list(self.ports.values()):
            if port.device_id == server.id:
                self.ports[port.id] = replace(port, device_id="")
        for volume in self._attached.pop(server.id, []):
            self.volumes.pop(volume, None)

    def _of(self, resources: dict[str, Found], resource: str) -> Found:
        if resource not in resources:
            raise RefusedError(f"{resource} does not exist")
        return resources[resource]
