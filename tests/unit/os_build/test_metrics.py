"""The metrics of pools, as a scrape shows them."""

from datetime import UTC, datetime
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from tests.unit.os_build.fake import DIGEST
from tests.unit.os_build.world import World
from windlass.os_build.builder import Cause
from windlass.os_build.metrics import BuildFigures

BEGAN = datetime(2026, 11, 22, 12, tzinfo=UTC).timestamp()


async def scraped(*steps: str) -> Any:
    world = World()
    world.add_pool()
    world.add_pool("infra", annotations={})
    await world.settle()
    [build] = world.builders.builds
    for step in steps:
        world.pass_time(30)
        match step:
            case "run":
                world.builders.run(build)
            case "succeed":
                world.builders.succeed(build, digest=DIGEST)
            case "fail":
                world.builders.fail(build, Cause.STEP)
        await world.settle()
    registry = CollectorRegistry()
    figures = BuildFigures(world.api.listing, present=lambda: world.now().timestamp() + 7)
    registry.register(figures)
    return registry.get_sample_value


@pytest.mark.parametrize(
    ("steps", "state"),
    [
        ((), "pending"),
        (("run",), "building"),
        (("run", "succeed"), "succeeded"),
        (("run", "fail"), "failed"),
    ],
    ids=["pending", "building", "succeeded", "failed"],
)
async def test_one_state_is_1(steps: tuple[str, ...], state: str) -> None:
    value = await scraped(*steps)
    states = ("none", "pending", "building", "succeeded", "failed")
    assert [each for each in states if value("ocl_build_state", {"pool": "worker", "state": each})] == [state]
    assert value("ocl_build_state", {"pool": "infra", "state": "none"}) is None, "a pool that is not opted in"
    assert value("ocl_active_builds") == (state == "building")


async def test_times_are_those_of_the_conditions() -> None:
    assert (await scraped())("ocl_build_queue_duration_seconds", {"pool": "worker"}) == 7
    value = await scraped("run")
    assert value("ocl_build_queue_duration_seconds", {"pool": "worker"}) == 0
    assert value("ocl_build_start_timestamp_seconds", {"pool": "worker"}) == BEGAN + 30
    value = await scraped("run", "succeed")
    assert value("ocl_build_end_timestamp_seconds", {"pool": "worker", "state": "succeeded"}) == BEGAN + 60
