"""The metrics of pools, as a scrape shows them."""

from datetime import UTC, datetime
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from tests.unit.os_build.fake import DIGEST
from tests.unit.os_build.world import World, claimed
from windlass.api.core import Secret
from windlass.os_build.builder import Cause
from windlass.os_build.constants import NAMESPACE
from windlass.os_build.metrics import BuildFigures

STATES = ("none", "pending", "building", "succeeded", "failed", "interrupted")
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
    assert [each for each in STATES if value("ocl_build_state", {"pool": "worker", "state": each})] == [state]
    assert value("ocl_build_state", {"pool": "infra", "state": "none"}) is None, "a pool that is not opted in"
    assert value("ocl_active_builds", {"pool": "worker"}) == (state == "building")


async def test_times_are_those_of_the_conditions() -> None:
    assert (await scraped())("windlass_os_build_waiting_seconds", {"pool": "worker"}) == 7
    value = await scraped("run")
    assert value("windlass_os_build_waiting_seconds", {"pool": "worker"}) == 0
    assert value("ocl_build_start_timestamp_seconds", {"pool": "worker"}) == BEGAN + 30
    value = await scraped("run", "succeed")
    assert value("ocl_build_end_timestamp_seconds", {"pool": "worker", "state": "succeeded"}) == BEGAN + 60


@pytest.mark.parametrize(
    ("step", "state"), [("", "pending"), ("run", "building"), ("succeed", "succeeded"), ("fail", "failed")]
)
async def test_a_pool_with_a_machine_os_config_has_the_same_figures_and_those_of_its_nodes(
    step: str, state: str
) -> None:
    world = claimed()
    await world.patch_pool({"status": {"machineCount": 3, "updatedMachineCount": 2}}, subresource="status")
    await world.settle()
    [build] = world.builders.builds
    match step:
        case "run":
            world.builders.run(build)
        case "succeed":
            world.builders.succeed(build)
        case "fail":
            world.builders.fail(build, Cause.STEP)
    world.pass_time(5)
    await world.settle()
    registry = CollectorRegistry()
    registry.register(BuildFigures(world.api.listing, present=lambda: world.now().timestamp() + 7))
    value = registry.get_sample_value
    assert [each for each in STATES if value("ocl_build_state", {"pool": "worker", "state": each})] == [state]
    assert value("windlass_os_build_waiting_seconds", {"pool": "worker"}) == (12 if state == "pending" else 0)
    assert value("ocl_active_builds", {"pool": "worker"}) == (state == "building")
    assert value("mco_mosc_count") == 1
    nodes = ("ocl_layered_nodes_count", "ocl_rollout_total_nodes", "ocl_rollout_updated_nodes")
    assert [value(each, {"pool": "worker"}) for each in nodes] == [3 if state == "succeeded" else 0, 3, 2]


async def test_a_build_that_something_holds_back_waits_from_its_creation_on() -> None:
    world = claimed()
    await world.api.delete(Secret, "push", namespace=NAMESPACE)
    await world.settle()
    registry = CollectorRegistry()
    registry.register(BuildFigures(world.api.listing, present=lambda: world.now().timestamp() + 900))
    assert registry.get_sample_value("windlass_os_build_waiting_seconds", {"pool": "worker"}) == 900
