"""The model of a cloud as the core sees it: an inventory, requests that are carried out, time that passes."""

from collections.abc import Iterator
from typing import Any, Final, TypeVar

import msgspec

from tests.unit.openstack.clouded import no_answer
from windlass.openstack.cloud.inventory import NONE, Recorded, ServerInventory
from windlass.openstack.cloud.marks import mark_of
from windlass.openstack.cloud.requests import CloudRequest, CreateVolume
from windlass.openstack.cloud.resources import Port, Server, Trunk, Volume
from windlass.openstack.cloud.wire import Http
from windlass.testing.memory_cloud import MemoryCloud

PROJECT: Final = "project"
R = TypeVar("R", Server, Port, Trunk, Volume)


class RefusedError(Exception):
    """The service answers 4xx: the core must not ask for it."""


class Model:
    """`doomed`: how many volumes of each name Cinder fails to make."""

    def __init__(self, doomed: dict[str, int] | None = None) -> None:
        self.cloud = MemoryCloud(no_answer=no_answer)
        self.services = self.cloud.services
        self.network = self.services.network("lan")
        self.image, self.flavor = self.services.image("rhcos"), self.services.flavor("m1.small")
        self.requests: list[CloudRequest] = []
        self._doomed = dict(doomed or {})

    @property
    def servers(self) -> list[Server]:
        return self._list(Http("compute", "GET", "/servers/detail"), "servers", Server)

    @property
    def ports(self) -> list[Port]:
        return self._list(Http("network", "GET", "/v2.0/ports"), "ports", Port)

    @property
    def trunks(self) -> list[Trunk]:
        return self._list(Http("network", "GET", "/v2.0/trunks"), "trunks", Trunk)

    @property
    def volumes(self) -> list[Volume]:
        return self._list(Http("block-storage", "GET", "/volumes/detail"), "volumes", Volume)

    @property
    def everything(self) -> Iterator[Server | Port | Trunk | Volume]:
        yield from self.servers
        yield from self.ports
        yield from self.trunks
        yield from self.volumes

    def inventory(self, mark: str, recorded: Recorded = NONE) -> ServerInventory:
        def of(resources: list[R], *ids: str) -> tuple[R, ...]:
            return tuple(each for each in resources if mark_of(each) == mark or each.id in ids)

        return ServerInventory(
            servers=of(self.servers, recorded.server),
            ports=of(self.ports, *recorded.ports),
            volumes=of(self.volumes, *recorded.volumes),
            trunks=of(self.trunks, *recorded.trunks),
        )

    def carry_out(self, request: CloudRequest) -> None:
        self.requests.append(request)
        answer = self._send(request.http)
        if isinstance(request, CreateVolume) and self._doomed.get(request.subject, 0) > 0:
            self._doomed[request.subject] -= 1
            self.services.volumes[answer["volume"]["id"]]["ends"] = "error"

    def pass_time(self) -> None:
        """Everything that is under way comes to its end."""
        self.cloud.pass_time(2)

    def remove(self, server: Server) -> None:
        """Somebody deletes it by hand."""
        self._send(Http("compute", "DELETE", f"/servers/{server.id}"))
        self.pass_time()

    def _list(self, asked: Http, key: str, kind: type[R]) -> list[R]:
        return msgspec.convert(self._send(asked)[key], list[kind])  # type: ignore[valid-type]

    def _send(self, asked: Http) -> Any:
        reply = self.cloud.answer(PROJECT, asked)
        if reply.status >= 400:
            raise RefusedError(f"{asked.method} {asked.path}: {reply.body.decode()}")
        return msgspec.json.decode(reply.body) if reply.body else None
