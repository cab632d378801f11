"""Workers of one process that are at work at the same time: their requests arrive, and are answered, in any order."""

import asyncio
from random import Random
from typing import Any, Final

from tests.unit.openstack.clouded import PROJECT, Process, World
from windlass.openstack.cloud.certainty import Times
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.wire import Answer, Http

_MOST: Final = 12
"""The turns of others that a request, or its answer, is under way."""


class Crossing:
    """A connection of a project on which requests overtake each other."""

    def __init__(self, world: World, order: Random) -> None:
        self._wire = world.cloud.wire(PROJECT)
        self._order = order

    def __getattr__(self, name: str) -> Any:
        return getattr(self._wire, name)

    async def send(self, http: Http, **how: Any) -> Answer:
        await self._under_way()
        answer = await self._wire.send(http, **how)
        await self._under_way()
        return answer

    async def _under_way(self) -> None:
        for _ in range(self._order.randrange(_MOST)):
            await asyncio.sleep(0)


def crossing(world: World, order: Random) -> Clouds:
    return Clouds(
        wire=lambda _: Crossing(world, order), now=lambda: world.now, clock=world._clock, times=Times(request=31.0)
    )


async def together(*processes: Process) -> None:
    """All are at work in the same moments, then each until it rests."""
    for _ in range(4):
        await asyncio.gather(*(each.step() for each in processes))
        processes[0].world.cloud.pass_time(1)
    for each in (*processes, *processes):
        for member in each.clouds._members.values():  # the next poll
            await member.account.refresh(volumes=True)
        await each.settle()
