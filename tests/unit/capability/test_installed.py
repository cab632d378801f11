"""A capability whose own kinds are not served is not ready, and says which command installs them."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.unit.kube.process.scripted_world import World, running
from tests.waiting import until
from windlass.capability.installed import PERIOD, Installed, Own
from windlass.kube.errors import NotServed, Status
from windlass.kube.process.manager import Manager
from windlass.kube.process.tasks import end
from windlass.testing.clock import VirtualLoop
from windlass.testing.scripted import Widget

from .toy import Greeting

UNKNOWN = NotServed(Status("Failure", "the server could not find the requested resource", "NotFound", 404))
MISSING = "the API server does not serve widgets.example.com: kubectl apply -k deploy/toy/crds"


@pytest.fixture
def world() -> Iterator[World]:
    loop = VirtualLoop()
    yield World(loop)
    loop.close()


def installed(world: World, own: Own, manager: Manager) -> Installed:
    return Installed(own, manager.pool.unserved, clock=world.loop.clock)


def test_while_a_kind_of_its_own_is_not_served_readiness_names_the_remedy(world: World) -> None:
    world.server.fail(*[UNKNOWN] * 4)

    async def scenario() -> None:
        async with world.manager() as manager:
            await manager.start(world.controller())
            own = installed(world, Own("toy", (Widget, Greeting)), manager)
            async with running(manager):
                await until(lambda: own.report() == {"crds": MISSING})
                assert not any(manager.report_ready().values()), "nothing else says it"
                await until(lambda: own.report() == {"crds": ""})

    world.run(scenario())


def test_a_kind_of_others_that_is_not_served_is_no_trouble(world: World) -> None:
    world.server.fail(*[UNKNOWN] * 4)

    async def scenario() -> None:
        async with world.manager() as manager:
            await manager.start(world.controller())
            await manager.synced()
            assert manager.pool.unserved() == {Widget.RESOURCE}
            assert installed(world, Own("toy", (Greeting,)), manager).report() == {"crds": ""}
            assert installed(world, Own("toy"), manager).report() == {}

    world.run(scenario())


def test_the_log_says_once_what_is_missing_and_once_that_it_is_there(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="windlass.capability.installed")
    gone = [Widget.RESOURCE]

    async def scenario() -> None:
        saying = asyncio.create_task(Installed(Own("toy", (Widget,)), lambda: gone, clock=world.loop.clock).run())
        await asyncio.sleep(3 * PERIOD)
        gone.clear()
        await asyncio.sleep(3 * PERIOD)
        await end(saying)

    world.run(scenario())
    said = [(each.levelname, each.getMessage()) for each in caplog.records if "installed" in each.name]
    assert said == [
        ("ERROR", MISSING),
        ("INFO", "the API server serves all kinds of the capability capability='toy'"),
    ]
