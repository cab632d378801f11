"""Our controllers at work in this process, as those of a new process that leads, until its end or its death."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Final

from windlass.capability.service import Make
from windlass.kube.client.client import Client
from windlass.kube.process.manager import Manager
from windlass.kube.process.tasks import end
from windlass.openstack.cloud.certainty import Times
from windlass.openstack.cloud.clouds import Clouds, PollTimes
from windlass.openstack.cloud.requests import OPENSTACK
from windlass.testing.crash import CrashPoint, MortalCarrier

TIMES: Final = Times(request=2.0)


@asynccontextmanager
async def working(
    client: Client,
    makers: Callable[[Clouds], Iterable[Make]],
    *,
    at_rest: float = 60.0,
    times: Times = TIMES,
    point: CrashPoint | None = None,
) -> AsyncIterator[None]:
    """What `makers` makes. A process with a `point` does not shut down, it is cut off."""
    clouds = Clouds(polls=PollTimes(after_write=0.3, building=1.0, at_rest=at_rest), times=times)
    carrier = clouds if point is None else MortalCarrier(clouds, point)
    async with clouds, Manager(client, systems={OPENSTACK: carrier}) as manager:
        for make in makers(clouds):
            await manager.start(make)
        running = asyncio.create_task(manager.run())
        try:
            yield
        finally:
            if point is None:
                manager.shut_down()
                await running
            else:
                await end(running)
