"""Steps a controller on the in-memory model, where nothing runs by itself: processes everything that it watches once.

from windlass.testing.machines.simulators.stepping import actor

provision = actor(lambda reader: infrastructure_machine_simulator(reader, platform=OPENSTACK), now=clock.now)
Scenario(world, settle=run_controllers, actors=(provision,))          # windlass.testing.crash
"""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

from windlass.kube.control.controller import Controller
from windlass.kube.control.executor import Executor
from windlass.kube.control.permissions import Declared
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader


async def step(controller: Controller[Any, Any], api: MemoryApi, *, now: datetime) -> int:
    """Take every key of `controller` to rest, as if it had just started; returns how many writes that took.

    Only what the controller declares can be written, as on a real cluster. A key that comes to no rest because of an
    error raises AssertionError with that error.
    """
    executor = Executor(api, permits=Declared(controller.declared), manager="simulators", now=lambda: now)
    keys = {
        key: None
        for watch in controller.watches
        for found in api.listing(watch.kind, watch.namespace)
        for key in watch.map(found)
    }
    writes = 0
    for key in keys:
        rest = await controller.reconcile(key, executor=executor, now=lambda: now)
        if rest.failed:
            raise AssertionError(f"{controller.name} {controller.key_text(key)}: {rest.next}")
        writes += rest.writes
    return writes


def actor(
    make: Callable[[MemoryReader], Controller[Any, Any]], *, now: Callable[[], datetime]
) -> Callable[[MemoryApi], Awaitable[int]]:
    """The simulator that `make` gives, as an actor of a scenario (`windlass.testing.crash`)."""

    async def act(api: MemoryApi) -> int:
        reader = MemoryReader(api)
        controller = make(reader)
        reader.only(controller)
        return await step(controller, api, now=now())

    return act
