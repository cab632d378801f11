"""Whatever happens, in whatever order: one builder at a time, one condition True, and in the end the right image."""

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.os_build.world import World, config_map, machine_config
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.os_build.builder import Cause, Phase
from windlass.os_build.constants import CONTAINERFILES, IMAGE_CONFIG, IMAGE_INPUTS, LAYERING, REBUILD, RESULT
from windlass.os_build.pool.conditions import VECTOR

STEPS = st.sampled_from(
    [
        "render 1",
        "render 2",
        "render 3",
        "containerfile a",
        "containerfile b",
        "rebuild 1",
        "rebuild 2",
        "rebuild",
        "opt out",
        "opt in",
        "run",
        "succeed",
        "fail",
        "fail for a moment",
        "lose",
        "restart",
        "wait",
    ]
)


async def step(world: World, what: str) -> None:
    verb, _, which = what.partition(" ")
    builds = [each for each in world.builders.builds.values() if not each.is_over]
    annotations: dict[str, Any] = {}
    match verb:
        case "render":
            world.api.load(machine_config(f"rendered-worker-{which}"))
            await world.patch_pool({"spec": {"configuration": {"name": f"rendered-worker-{which}"}}})
        case "containerfile":
            world.api.load(config_map(CONTAINERFILES, worker=f"RUN echo {which}"))
        case "rebuild":
            annotations = {REBUILD: which or None}
        case "opt":
            annotations = {LAYERING: "" if which == "in" else None}
        case "run" if builds:
            world.builders.run(builds[0].name)
        case "succeed" if builds:
            world.builders.succeed(builds[0].name)
        case "fail" if builds:
            world.builders.fail(builds[0].name, Cause.UNREACHABLE if which else Cause.STEP)
        case "lose" if builds:
            world.builders.lose(builds[0].name)
        case "restart":
            world.restart()
        case "wait":
            world.pass_time(30)
    if annotations:
        await world.patch_pool({"metadata": {"annotations": annotations}})


def sound(world: World) -> None:
    assert len([each for each in world.builders.builds.values() if not each.is_over]) <= 1
    assert len([each for each in world.true() if each in VECTOR]) <= 1
    recorded = set(world.annotations()) & set(RESULT)
    assert recorded in (set(), set(RESULT)), "the result is written and removed whole"


async def story(steps: list[str]) -> None:
    world = World()
    world.add_pool()
    for what in steps:
        await step(world, what)
        await world.settle()
        sound(world)
    # In the end the builders do their work.
    await step(world, "rebuild at last")
    for _ in range(4):
        await world.settle()
        sound(world)
        for build in list(world.builders.builds.values()):
            if build.phase in (Phase.PENDING, Phase.RUNNING):
                world.builders.succeed(build.name)
        world.pass_time(300)
    version = world.api.version
    await world.settle()
    assert world.api.version == version, "it does not rest"
    assert world.builders.builds == {}
    found = world.api.peek(MachineConfigPool, "worker")
    assert found is not None
    if LAYERING in world.annotations():
        assert world.annotations()[IMAGE_CONFIG] == found.decode().spec.configuration.name
        assert world.says()[0] == "BuildSuccess"
        assert "." in world.annotations()[IMAGE_INPUTS], "the request to build again was carried out"
    else:
        assert not set(world.annotations()) & set(RESULT)
        assert not set(world.conditions()) & set(VECTOR)


@given(st.lists(STEPS, max_size=14))
@settings(deadline=None)
def test_whatever_happens_the_pool_gets_its_image(steps: list[str]) -> None:
    asyncio.run(story(steps))
