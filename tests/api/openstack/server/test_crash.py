"""The controller dies after each of its writes, to either side, before it has the answer: one of each is made, and all
of it goes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

import pytest

from tests.api.openstack.server.stage import Stage, Writes, at_work, held, says
from tests.patience import PATIENCE
from windlass.kube import config
from windlass.kube.client.client import Client
from windlass.kube.errors import NotFound
from windlass.kube.verbs import ApiRequest
from windlass.openstack.cloud.certainty import Times
from windlass.openstack.cloud.requests import OPENSTACK
from windlass.testing import PlaneAccess
from windlass.testing.cloud import Project
from windlass.testing.crash import Crashed, CrashPoint, When

T = TypeVar("T")

CALL = f" ({OPENSTACK})"
MOST_LIVES = 25
NOTHING_UNDER_WAY = Times(request=0.2)
"""A life that ends waits for its requests, so the next one need not."""


class FirstWrite(CrashPoint):
    """The process dies at the first write that is accepted: it is carried out, and the answer never comes."""

    def __init__(self) -> None:
        super().__init__(1, When.AFTER)
        self.died = asyncio.Event()

    async def write(self, what: str, do: Callable[[], Awaitable[T]]) -> T:
        with suppress(Crashed):
            try:
                return await super().write(what, do)
            except Exception:
                self.number = len(self.writes) + 1
                raise
        self.died.set()
        # A dead process does nothing more, until its tasks are cancelled.
        never: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        return await never


class MortalClient(Writes):
    """That of a process that dies at `point`."""

    point = CrashPoint()

    async def send(self, request: ApiRequest[Any], /) -> Any:
        if request.WRITES:
            return await self.point.write(str(request), lambda: super(MortalClient, self).send(request))
        return await super().send(request)


@pytest.fixture
async def mortal(openstack_plane: PlaneAccess, windlass_namespace: str, project: Project) -> AsyncIterator[Stage]:
    """A stage on which nobody is at work yet."""
    kubeconfig = config.load(kubeconfig=openstack_plane.kubeconfig())
    async with Client(kubeconfig) as client, MortalClient(kubeconfig) as ours:
        yield Stage(client, ours, windlass_namespace, project)


async def test_s23_one_that_dies_after_each_of_its_writes_makes_one_of_each_and_leaves_nothing(mortal: Stage) -> None:
    await mortal.secret()
    await mortal.server(trunk=True, rootVolume={"sizeGiB": 1})

    async def is_ready() -> bool:
        return says(await mortal.get(), "Ready") == "True Ready"

    asked = await _lives(mortal, until=is_ready)
    assert [what for what in asked if what.startswith("create ")] == [
        "create port", "create volume", "create trunk", "create server",
    ]  # fmt: skip
    assert held(mortal.project) == {"servers": 1, "ports": 1, "trunks": 1, "volumes": 1}
    assert len(mortal.asked(method="POST")) == 4

    await mortal.delete()

    async def is_gone() -> bool:
        try:
            await mortal.get()
        except NotFound:
            return True
        return False

    asked = await _lives(mortal, until=is_gone)
    assert {"delete server", "delete trunk", "delete port"} <= {*asked}


async def _lives(stage: Stage, *, until: Callable[[], Awaitable[bool]]) -> list[str]:
    """One life after the other, each with one write, until that holds; returns what was asked of the cloud."""
    assert isinstance(stage.ours, MortalClient)
    written: list[str] = []
    for _ in range(MOST_LIVES):
        if await until():
            return [what.removesuffix(CALL) for what in written if what.endswith(CALL)]
        point = stage.ours.point = FirstWrite()
        async with at_work(stage, point=point, times=NOTHING_UNDER_WAY):
            await asyncio.wait_for(point.died.wait(), PATIENCE)
        written += point.writes
    pytest.fail(f"no end after {MOST_LIVES} lives: {written}")
