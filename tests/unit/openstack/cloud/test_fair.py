"""Clouds that hang or trickle, fifty of each, cost the projects of a cloud that answers nothing."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count

import pytest

from tests.unit.openstack.cloud.hostile import hostile, keystone_at, silent, trickling_body
from tests.unit.openstack.cloud.http_cloud import HttpCloud, Said, Seen, served
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.credentials import Credentials
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.waiting import WORKERS, Waiting

CLOUDS = 50
WORKERS_OF_USER = 16


def listed(seen: Seen) -> Said:
    key = seen.path.split("?")[0].split("/")[-1]
    return Said(200, {"servers" if key == "detail" else key: []})


@pytest.fixture
def cloud() -> Iterator[HttpCloud]:
    with served(HttpCloud()) as cloud:
        cloud.answer = listed
        yield cloud


class Process:
    """The workers of a process, which look for marks in projects. Failed looks come back, as the failure says.
    `done`: the tenants whose looks had an answer."""

    def __init__(self) -> None:
        self.clouds = Clouds(waiting=Waiting(time.monotonic))
        self.done: list[str] = []
        self.failed = 0
        self._queue: asyncio.Queue[Credentials] = asyncio.Queue()
        self._changed = asyncio.Condition()
        self._marks = count()
        self._workers = [asyncio.create_task(self._work()) for _ in range(WORKERS_OF_USER + WORKERS)]

    def look(self, credentials: Credentials) -> None:
        self._queue.put_nowait(credentials)

    async def looked(self, tenant: str, times: int, *, seconds: float) -> None:
        async with asyncio.timeout(seconds), self._changed:
            await self._changed.wait_for(lambda: self.done.count(tenant) >= times)

    async def _work(self) -> None:
        while True:
            credentials = await self._queue.get()
            try:
                async with self.clouds.turn(credentials):
                    project = await self.clouds.project(credentials)
                    await project.look(f"mark-{next(self._marks)}", fresh=True)
                async with self._changed:
                    self.done.append(credentials.tenant)
                    self._changed.notify_all()
            except CloudFailure as failure:
                self.failed += failure.retry_after is None
                asyncio.get_running_loop().call_later(failure.retry_after or 1.0, self.look, credentials)

    def end(self) -> None:
        for worker in self._workers:
            worker.cancel()


async def test_a_cloud_that_answers_is_asked_at_once_beside_fifty_that_hang_and_fifty_that_trickle(
    cloud: HttpCloud,
) -> None:
    with ExitStack() as servers:
        bad = [
            servers.enter_context(hostile(behave, f"127.0.0.{number}"))
            for behave in (silent, trickling_body)
            for number in range(2, CLOUDS + 2)
        ]
        process = Process()
        good = keystone_at(f"{cloud.url}/identity/v3", tenant="good")
        process.look(good)
        await process.looked("good", 1, seconds=20)
        for number, place in enumerate(bad):
            for _ in range(3):
                process.look(keystone_at(f"http://{place}/v3", tenant=f"evil-{number}"))
        for _ in range(50):
            process.look(good)
        await process.looked("good", 51, seconds=20)
        assert process.failed == 0, "no bad cloud has come to its deadline, so nothing good has waited for one"
        assert set(process.done) == {"good"}
        process.end()


async def test_a_hundred_projects_of_one_cloud_whose_nova_hangs_keep_nobody_else_waiting(cloud: HttpCloud) -> None:
    """Their Keystone answers, so each has a token."""
    with served(HttpCloud()) as half, hostile(silent) as nova:
        half.base = f"http://{nova}"
        process = Process()
        good = keystone_at(f"{cloud.url}/identity/v3", tenant="good")
        process.look(good)
        await process.looked("good", 1, seconds=20)
        for number in range(2 * CLOUDS):
            process.look(keystone_at(f"{half.url}/identity/v3", tenant=f"team-{number}", region_name=None))
        for _ in range(50):
            process.look(good)
        await process.looked("good", 51, seconds=20)
        assert process.failed == 0
        assert set(process.done) == {"good"}
        process.end()
