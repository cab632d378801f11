"""Whether the UpdateStatus is relied on, as the document says it: the API server is there, away, or has no kinds."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from tests.waiting import eventually
from windlass.api.meta import tree
from windlass.kube.client import Client
from windlass.kube.client.retry import RetryPolicy
from windlass.kube.config import ClusterConfig
from windlass.kube.process.serving import stop
from windlass.update_status.assessment import assess
from windlass.update_status.document import write
from windlass.update_status.times import SECOND, rfc3339
from windlass.update_status.view import following
from windlass.update_status.view.following import Following
from windlass.web.board import Board
from windlass.web.view import ELSEWHERE, STALE, TROUBLES

from .recorded_page import reading

KINDS = ("updatestatuses", "updaterecords", "updatestatusheartbeats")


class Server:
    """Lists of our kinds. `status`: of each answer but 200; `lists`: the objects."""

    def __init__(self) -> None:
        self.status = 200
        self.away = asyncio.Event()
        """Open watches end."""
        self.lists: dict[str, list[dict[str, Any]]] = {kind: [] for kind in KINDS}

    def keep(self, *, age: float) -> None:
        """An UpdateStatus, and a heartbeat of so many seconds ago."""
        found = reading("4.15.0-ec2-early")
        status = tree(write(assess(found.sources, now=found.now), now=found.now))
        named = {"metadata": {"name": "cluster", "uid": "u", "resourceVersion": "1"}}
        beat = {"lastBeat": rfc3339(time.time_ns() - int(age * SECOND)), "periodSeconds": 10}
        self.lists["updatestatuses"] = [{**named, "spec": {}, "status": status}]
        self.lists["updatestatusheartbeats"] = [{**named, **beat}]

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if self.status != 200:
            return web.json_response({"kind": "Status", "message": "no", "code": self.status}, status=self.status)
        items = self.lists[request.match_info["kind"]]
        if "watch" not in request.query:
            return web.json_response({"metadata": {"resourceVersion": "1"}, "items": items})
        response = web.StreamResponse()
        await response.prepare(request)
        if "sendInitialEvents" in request.query:
            end = {"resourceVersion": "1", "annotations": {"k8s.io/initial-events-end": "true"}}
            for kind, item in (*(("ADDED", item) for item in items), ("BOOKMARK", {"metadata": end})):
                await response.write(json.dumps({"type": kind, "object": item}).encode() + b"\n")
        await self.away.wait()
        return response


@asynccontextmanager
async def shown(server: Server) -> AsyncIterator[Callable[[], Awaitable[dict[str, Any]]]]:
    """Follows the server; yields what gives the document."""
    app = web.Application()
    app.router.add_get("/apis/update.openshift.io/v1alpha1/{kind}", server.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    config = ClusterConfig(f"http://127.0.0.1:{runner.addresses[0][1]}")
    board = Board()

    async def document() -> dict[str, Any]:
        found: dict[str, Any] = json.loads(board.since(""))["parts"]
        return found

    async with Client(config, retry=RetryPolicy(attempts=1)) as client:
        running = asyncio.ensure_future(Following(client).run(board))
        try:
            yield document
        finally:
            server.away.set()
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            await stop(runner)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "TICK", 0.1)
    monkeypatch.setattr(following, "LASTING", 0.5)


@pytest.mark.parametrize(
    ("status", "why"),
    [
        (404, "the cluster has no UpdateStatus API"),
        (403, "updatestatuses may not be read"),
        (200, "there is no UpdateStatus cluster"),
    ],
)
async def test_a_cluster_without_an_object_is_read_otherwise_and_is_not_current(status: int, why: str) -> None:
    server = Server()
    server.status = status
    async with shown(server) as document:
        found = await eventually(document, lambda found: ELSEWHERE in found)
        assert found[ELSEWHERE] == why
        assert found[STALE] == found[TROUBLES][0]
        # While the API server is away, that stays so: whoever reads for themselves keeps what they have.
        server.status = 503
        server.away.set()
        found = await eventually(document, lambda found: "updaterecords cannot be read" in str(found[TROUBLES]))
        assert found[ELSEWHERE] == why


async def test_an_object_that_is_kept_is_relied_on_and_one_that_is_not_for_a_while_is_not() -> None:
    server = Server()
    server.keep(age=0)
    async with shown(server) as document:
        found = await eventually(document, lambda found: "update" in found)
        assert not {ELSEWHERE, STALE} & found.keys()
    server = Server()
    server.keep(age=60)
    async with shown(server) as document:
        found = await eventually(document, lambda found: STALE in found)
        assert ELSEWHERE not in found, "heartbeats are late after a restart"
        found = await eventually(document, lambda found: ELSEWHERE in found)
        assert found[ELSEWHERE].startswith("nobody keeps the UpdateStatus up to date")
        assert "update" in found


async def test_an_api_server_that_was_never_there_is_no_reason_to_ask_it_otherwise() -> None:
    server = Server()
    server.status = 503
    async with shown(server) as document:
        found = await eventually(document, lambda found: "cannot be read" in str(found.get(TROUBLES)))
        assert STALE in found
        assert ELSEWHERE not in found
