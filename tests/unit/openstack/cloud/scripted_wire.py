"""A wire whose answers a test gives, in virtual time, and one project behind it."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, datetime, timedelta
from functools import wraps
from typing import Any

import msgspec

from windlass.openstack.cloud.account import Account
from windlass.openstack.cloud.certainty import Times
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.gates import PAUSES
from windlass.openstack.cloud.session import Reply
from windlass.openstack.cloud.wire import Http
from windlass.testing.clock import run

EPOCH = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)

Answer = Reply | CloudFailure


class ScriptedWire:
    """Everything of a project, by path: `things["/servers/detail"]` is the list of servers. A list is that of the
    moment when it was asked for; its answer takes `seconds`. `answer` comes first, None leaves it to the lists."""

    def __init__(self) -> None:
        self.asked: list[Http] = []
        self.agents: list[str] = []
        self.things: dict[str, list[Mapping[str, Any]]] = {
            "/servers/detail": [],
            "/v2.0/ports": [],
            "/v2.0/trunks": [],
            "/volumes/detail": [],
            "/v2.0/extensions": [{"alias": "trunk"}],
        }
        self.instances = (-1, 0)
        """The quota of servers and its use, as Nova tells them."""
        self.limits: dict[str, int] = {}
        """More of what Nova tells about quotas, by its own names."""
        self.seconds = 0.1
        self.answer: Callable[[Http], Answer | None] = lambda _: None
        self.closed = False
        self.services = frozenset({"compute", "network", "image", "block-storage"})

    async def project_id(self) -> str:
        return "p1"

    def close(self) -> None:
        self.closed = True

    async def send(self, request: Http, /, *, seconds: float, agent: str = "") -> Reply:
        self.asked.append(request)
        self.agents.append(agent)
        said = self.answer(request)
        if said is None and (request.service, request.path) == ("compute", "/limits"):
            limit, used = self.instances
            told = {"maxTotalInstances": limit, "totalInstancesUsed": used, **self.limits}
            said = reply(200, {"limits": {"absolute": told}})
        if said is None:
            said = listed(request, self.things[request.path]) if request.method == "GET" else reply(202)
        await asyncio.sleep(self.seconds)
        if isinstance(said, CloudFailure):
            raise said
        return said

    def count(self, path: str, *, method: str = "GET") -> int:
        return sum(each.path == path and each.method == method for each in self.asked)

    def forget(self) -> None:
        self.asked.clear()
        self.agents.clear()


def reply(status: int, body: Any = None, **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, named, b"" if body is None else msgspec.json.encode(body))


def listed(request: Http, things: list[Mapping[str, Any]]) -> Reply:
    key = {"detail": request.path.split("/")[1]}.get(name := request.path.rsplit("/", 1)[-1], name)
    return reply(200, {key.replace("-", "_"): list(things)})


def now() -> datetime:
    return EPOCH + timedelta(seconds=clock())


def clock() -> float:
    return asyncio.get_running_loop().time()


def account(wire: ScriptedWire, *, born: set[str] | None = None) -> Account:
    """The project, in a term of leadership that begins now."""
    made = Account(
        wire,
        key="k",
        where="",
        project_id="p1",
        now=now,
        clock=clock,
        pauses=PAUSES,
        times=Times(request=30.0),
        unsent=set() if born is None else born,
        sent=lambda *_, **__: None,
    )
    made.knowledge.begin_term(clock())
    return made


def virtual(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run the test in virtual time."""

    @wraps(test)
    def in_virtual_time(*positional: Any, **arguments: Any) -> None:
        run(test(*positional, **arguments))

    return in_virtual_time
