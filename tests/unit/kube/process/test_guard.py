"""What tokens of strangers cost, whoever sends them and however many."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from aiohttp import web

from windlass.api.authorization import ResourceAttributes
from windlass.api.coordination import Lease
from windlass.kube.client import Client
from windlass.kube.client.retry import RetryPolicy
from windlass.kube.config import ClusterConfig
from windlass.kube.errors import NotFound
from windlass.kube.process.guard import AT_ONCE, IN_LINE, PAUSE, Guard, Ruling
from windlass.kube.process.lease import Election
from windlass.kube.process.scrape import METRICS
from windlass.kube.process.serving import stop
from windlass.kube.verbs import PatchType
from windlass.model import MemoryApi
from windlass.testing.clock import VirtualClock, VirtualLoop

FLOOD = 600
SLOW = 1.0
"""Seconds that an API server takes for a review, as one does that asks a webhook."""


class Server:
    """An API server over HTTP: Leases, and reviews that take their time. The token `good` may read metrics."""

    def __init__(self, clock: VirtualClock) -> None:
        self.leases = MemoryApi(Lease, clock=clock.now)
        self.reviewed: list[str] = []
        self.under_way = self.most = 0
        self.overloaded = False

    @asynccontextmanager
    async def client(self, **settings: Any) -> AsyncIterator[Client]:
        app = web.Application()
        leases = "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        app.router.add_post("/apis/authentication.k8s.io/v1/tokenreviews", self._review_token)
        app.router.add_post("/apis/authorization.k8s.io/v1/subjectaccessreviews", self._review_access)
        app.router.add_route("*", leases, self._lease)
        app.router.add_route("*", leases + "/{name}", self._lease)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        async with Client(ClusterConfig(f"http://127.0.0.1:{runner.addresses[0][1]}"), **settings) as client:
            yield client
        await stop(runner)

    async def _review_token(self, request: web.Request) -> web.Response:
        token = (await request.json())["spec"]["token"]
        self.reviewed.append(token)
        if self.overloaded:
            return web.Response(status=429, headers={"Retry-After": "1"})
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(SLOW)
        self.under_way -= 1
        return web.json_response({"status": {"authenticated": token == "good", "user": {"username": "scraper"}}})

    async def _review_access(self, request: web.Request) -> web.Response:
        asked = (await request.json())["spec"].get("resourceAttributes", {})
        return web.json_response({"status": {"allowed": asked.get("resource") != "secrets"}})

    async def _lease(self, request: web.Request) -> web.Response:
        namespace = request.match_info["namespace"]
        name = request.match_info.get("name", "")
        try:
            if request.method == "POST":
                stored = await self.leases.create(Lease, await request.json(), namespace=namespace)
            elif request.method == "PATCH":
                body, how = await request.json(), PatchType.MERGE
                stored = await self.leases.patch(Lease, name, body, type=how, namespace=namespace)
            else:
                stored = await self.leases.get(Lease, name, namespace=namespace)
        except NotFound as error:
            body = {"kind": "Status", **msgspec.to_builtins(error.status)}
            return web.json_response(body, status=404)
        return web.json_response(stored.tree())


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    loop = VirtualLoop()
    yield loop
    loop.close()


@pytest.fixture
def server(loop: VirtualLoop) -> Server:
    return Server(loop.clock)


def run(loop: VirtualLoop, main: Coroutine[Any, Any, None]) -> None:
    loop.run_until_complete(main)


async def verdicts(guard: Guard, *tokens: str) -> list[Ruling]:
    return await asyncio.gather(*(guard.judge(f"Bearer {token}") for token in tokens))


def test_many_strangers_at_once_cost_few_reviews_and_are_told_to_come_later(loop: VirtualLoop, server: Server) -> None:
    async def scenario() -> None:
        async with server.client() as client:
            found = await verdicts(
                Guard(client, METRICS, clock=loop.clock), *(f"bad-{number}" for number in range(FLOOD))
            )
        statuses = [verdict.status for verdict in found]
        assert (statuses.count(401), statuses.count(429)) == (IN_LINE, FLOOD - IN_LINE)
        assert len(server.reviewed) == IN_LINE
        assert server.most == AT_ONCE

    run(loop, scenario())


@pytest.mark.parametrize("known", [False, True], ids=["strangers", "somebody who was let in"])
def test_an_api_server_that_is_overloaded_is_asked_no_more_often_and_a_warning_a_minute_tells_it(
    loop: VirtualLoop, server: Server, caplog: pytest.LogCaptureFixture, known: bool
) -> None:
    async def keep_asking(guard: Guard, name: str, *, until: float) -> None:
        for number in itertools.count():
            if loop.time() >= until:
                return
            ruling = await guard.judge(f"Bearer {'good' if known else f'{name}-{number}'}")
            assert ruling.status in (500, 429)
            await asyncio.sleep(0.01)

    async def scenario() -> None:
        async with server.client(retry=RetryPolicy(attempts=1)) as client:
            guard = Guard(client, METRICS, remember=5.0, clock=loop.clock)
            if known:
                assert (await guard.judge("Bearer good")).status == 200
                await asyncio.sleep(5)
            server.reviewed.clear()
            server.overloaded = True
            until = loop.time() + 50
            await asyncio.gather(*(keep_asking(guard, f"bad-{number}", until=until) for number in range(20)))
            assert len(server.reviewed) <= 60 * AT_ONCE / PAUSE
            assert [record.levelname for record in caplog.records].count("WARNING") == 1
            await asyncio.sleep(10)
            await guard.judge("Bearer good")
            told = [record.message for record in caplog.records if record.levelname == "WARNING"]
            assert len(told) == 2
            assert f"failed={len(server.reviewed) - 1}" in told[1]

    run(loop, scenario())


def test_a_token_is_reviewed_once_however_often_it_comes_and_a_refusal_holds_for_seconds(
    loop: VirtualLoop, server: Server
) -> None:
    async def scenario() -> None:
        async with server.client() as client:
            guard = Guard(client, METRICS, refuse=10.0, clock=loop.clock)
            found = await verdicts(guard, *["bad"] * FLOOD)
            assert {verdict.status for verdict in found} == {401}
            await verdicts(guard, "bad")
            assert server.reviewed == ["bad"]
            await asyncio.sleep(10)
            await verdicts(guard, "bad")
            assert server.reviewed == ["bad", "bad"]

    run(loop, scenario())


def test_strangers_do_not_keep_a_scraper_out_that_was_let_in_before(loop: VirtualLoop, server: Server) -> None:
    async def scenario() -> None:
        async with server.client() as client:
            guard = Guard(client, METRICS, remember=60.0, clock=loop.clock)
            assert (await guard.judge("Bearer good")).status == 200
            await asyncio.sleep(60)
            flood = asyncio.create_task(verdicts(guard, *(f"bad-{number}" for number in range(FLOOD))))
            await asyncio.sleep(SLOW / 2)
            began = loop.time()
            assert (await guard.judge("Bearer good")).status == 200
            assert loop.time() - began < 2 * SLOW
            await flood

    run(loop, scenario())


def test_strangers_do_not_cost_the_leadership_even_over_the_same_connections(loop: VirtualLoop, server: Server) -> None:
    async def scenario() -> None:
        async with server.client(connections=4) as client:
            election = Election(client, "windlass", namespace="system", identity="one", clock=loop.clock)
            await election.acquire()
            keeping = asyncio.create_task(election.keep())
            await verdicts(Guard(client, METRICS, clock=loop.clock), *(f"bad-{number}" for number in range(FLOOD)))
            await asyncio.sleep(60)
            assert not keeping.done()
            assert election.leading
            keeping.cancel()
            await asyncio.wait([keeping])

    run(loop, scenario())


def test_all_that_is_asked_must_be_allowed(loop: VirtualLoop, server: Server) -> None:
    nodes = ResourceAttributes(verb="list", resource="nodes")
    secrets = ResourceAttributes(verb="get", resource="secrets", namespace="kube-system", name="s")

    async def scenario() -> None:
        async with server.client() as client:
            one = await Guard(client, nodes, clock=loop.clock).judge_token("good")
            both = await Guard(client, nodes, secrets, clock=loop.clock).judge_token("good")
        assert one == Ruling(200, user="scraper")
        assert both == Ruling(403, "scraper may not get secrets s in kube-system", "scraper")

    run(loop, scenario())


def test_a_guard_that_asks_nothing_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="lets everybody in"):
        Guard(MemoryApi(Lease))
