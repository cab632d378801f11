"""The model's connections, one for each project, and the log of what was asked."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from windlass.testing.memory_cloud import compute, load_balancing, network, storage
from windlass.testing.memory_cloud.faults import Fault
from windlass.testing.memory_cloud.services import Refused, Services

_ROUTES = {
    "compute": compute.ROUTES,
    "network": network.ROUTES,
    "image": storage.IMAGES,
    "block-storage": storage.VOLUMES,
    "load-balancer": load_balancing.ROUTES,
}
SERVICES = frozenset(_ROUTES)


class Asked(Protocol):
    """A request below the endpoint of a service."""

    @property
    def service(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def query(self) -> tuple[tuple[str, str], ...]: ...
    @property
    def body(self) -> Mapping[str, Any] | None: ...


class Reply(Struct, frozen=True):
    """An answer; `headers` have lower-case names."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Request(Struct, frozen=True):
    """A request that was made."""

    project: str
    service: str
    method: str
    path: str
    status: int


class MemoryCloud:
    """The cloud. `no_answer(service, write, slow)` makes the error that a client raises when no answer comes."""

    def __init__(self, *, no_answer: Callable[[str, bool, bool], Exception]) -> None:
        self.services = Services(_ROUTES)
        self.requests: list[Request] = []
        self.faults: list[Fault] = []
        self.no_answer = no_answer

    def wire(self, project: str = "project") -> "MemoryWire":
        """The connection of a project; the project is there from now on."""
        return MemoryWire(self, project)

    def fault(self, **how: Any) -> Fault:
        """Make some requests go wrong; see `Fault`."""
        made = Fault(**how)
        self.faults.append(made)
        return made

    def pass_time(self, seconds: float) -> None:
        self.services.now += seconds

    def answer(self, project: str, asked: Asked) -> Reply:
        """Carry out a request, with all that goes wrong."""
        fault = next(
            (each for each in self.faults if each.meets(project, asked.service, asked.method, asked.path)), None
        )
        if fault is not None and not fault.after:
            return self._spoiled(fault, project, asked)
        reply = self._carried_out(project, asked)
        return reply if fault is None else self._spoiled(fault, project, asked)

    def _carried_out(self, project: str, asked: Asked) -> Reply:
        try:
            status, body = self.services.handle(project, asked)
        except Refused as refusal:
            status, body = refusal.status, refusal.body
        self._note(project, asked, status)
        number = f"req-{len(self.requests)}"
        return Reply(status, {"x-openstack-request-id": number}, msgspec.json.encode(body) if body is not None else b"")

    def _spoiled(self, fault: Fault, project: str, asked: Asked) -> Reply:
        if not fault.after:
            self._note(project, asked, fault.status)
        if fault.status:
            return Reply(fault.status, fault.headers, fault.body)
        raise self.no_answer(asked.service, asked.method != "GET", fault.slow)

    def _note(self, project: str, asked: Asked, status: int) -> None:
        self.requests.append(Request(project, asked.service, asked.method, asked.path, status))


class MemoryWire(Struct, frozen=True):
    """One project's connection."""

    cloud: MemoryCloud
    project: str

    @property
    def services(self) -> frozenset[str]:
        return SERVICES

    async def project_id(self) -> str:
        return self.project

    async def send(self, request: Asked, /, *, seconds: float, agent: str = "") -> Reply:
        return self.cloud.answer(self.project, request)

    def close(self) -> None:
        """Nothing to close."""
