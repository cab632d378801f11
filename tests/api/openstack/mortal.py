"""A process that dies after its first write, to either side, before it has the answer; another life follows."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from typing import Any, Final, TypeVar

import pytest

from tests.waiting import eventually
from windlass.kube.client.client import Client
from windlass.kube.verbs import ApiRequest
from windlass.openstack.cloud.certainty import Times
from windlass.openstack.cloud.requests import OPENSTACK
from windlass.testing.crash import Crashed, CrashPoint, When

T = TypeVar("T")

MOST_LIVES = 60
NOTHING_UNDER_WAY: Final = Times(request=0.2)
"""A life that ends waits for its requests, so the next one need not."""
_CALL = f" ({OPENSTACK})"


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


class MortalClient(Client):
    """That of a process that dies at `point`."""

    point = CrashPoint()

    async def send(self, request: ApiRequest[Any], /) -> Any:
        if request.WRITES:
            return await self.point.write(str(request), lambda: super(MortalClient, self).send(request))
        return await super().send(request)


async def lives(
    client: MortalClient,
    at_work: Callable[[FirstWrite], AbstractAsyncContextManager[object]],
    *,
    until: Callable[[], Awaitable[bool]],
) -> list[str]:
    """One life after the other, each with one write at most, until that holds; returns what was asked of the cloud."""
    written: list[str] = []
    for _ in range(MOST_LIVES):
        if await until():
            return [what.removesuffix(_CALL) for what in written if what.endswith(_CALL)]
        point = client.point = FirstWrite()
        async with at_work(point):
            await eventually(partial(_is_over, point, until), what="a write, or the end")
        written += point.writes
    pytest.fail(f"no end after {MOST_LIVES} lives: {written}")


async def _is_over(point: FirstWrite, until: Callable[[], Awaitable[bool]]) -> bool:
    """The last life may have nothing to write, when others do the rest."""
    return point.died.is_set() or await until()
