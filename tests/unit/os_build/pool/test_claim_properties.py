"""Whatever happens to a pool with a MachineOSConfig: one build at a time, nothing that the API refuses, and in the end
the right image."""

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.explore import examples
from tests.unit.os_build.fake import DIGEST
from tests.unit.os_build.world import World, claimed, machine_config, machine_os_config
from windlass.api.core import Secret
from windlass.api.machineosconfig import MachineOSBuild, MachineOSBuildStatus, MachineOSConfig
from windlass.kube.verbs import PatchType
from windlass.os_build.builder import Cause
from windlass.os_build.constants import NAMESPACE, REBUILD
from windlass.os_build.machine_os.build import CURRENT
from windlass.os_build.machine_os.conditions import IMAGE_BUILD_DEGRADED, State, state_of
from windlass.os_build.registry.answers import Found, Gone, NotAsked

CONFIGS: dict[str, dict[str, Any]] = {"1": {}, "2": {}, "quiet": {"kernelArguments": ["quiet"]}}
REGISTRY = {"has": Found(DIGEST), "lost": Gone("manifest unknown"), "silent": NotAsked("no route to host")}
STEPS = st.sampled_from(
    [
        *(f"render {name}" for name in CONFIGS),
        *(f"registry {name}" for name in REGISTRY),
        "containerfile a",
        "containerfile b",
        "containerfile broken",
        "rebuild",
        "delete config",
        "create config",
        "delete build",
        "rotate",
        "run",
        "succeed",
        "fail",
        "fail for a moment",
        "lose",
        "restart",
        "wait",
    ]
)
TEXTS = {"a": "RUN echo a", "b": "RUN echo b", "broken": "RUNN"}


class Seen:
    """What the API compares a write with: statuses of builds by uid, and the generation that was observed."""

    def __init__(self) -> None:
        self.statuses: dict[str, MachineOSBuildStatus] = {}
        self.observed: dict[str, int] = {}

    def look(self, world: World) -> None:
        builds = [each.decode() for each in world.api.listing(MachineOSBuild)]
        going = [each for each in builds if not _is_over(each.status)]
        assert len(going) <= 1, "two builds at a time"
        assert len([each for each in world.builders.builds.values() if not each.is_over]) <= 1
        for each in builds:
            self._compare(self.statuses.get(each.metadata.uid, MachineOSBuildStatus()), each.status)
            self.statuses[each.metadata.uid] = each.status
        if config := _config(world):
            uid, observed = config.metadata.uid, config.status.observed_generation
            assert observed >= self.observed.get(uid, 0)
            self.observed[uid] = observed

    def _compare(self, old: MachineOSBuildStatus, new: MachineOSBuildStatus) -> None:
        assert not _is_over(old) or new.conditions == old.conditions
        assert old.build_start in (None, new.build_start)
        assert old.build_end in (None, new.build_end)
        if new.build_end is not None:
            assert new.build_start is not None
            assert new.build_start < new.build_end


def _is_over(status: MachineOSBuildStatus) -> bool:
    return (state_of(status.conditions) or State.INITIAL).is_over


def _config(world: World) -> MachineOSConfig | None:
    found = world.api.peek(MachineOSConfig, "worker")
    return found.decode() if found else None


async def step(world: World, what: str) -> None:
    verb, _, which = what.partition(" ")
    running = [each.name for each in world.builders.builds.values() if not each.is_over]
    there = _config(world) is not None
    match verb:
        case "render":
            name = f"rendered-worker-{which}"
            world.api.load(machine_config(name, **CONFIGS[which]))
            await world.patch_pool({"spec": {"configuration": {"name": name}}})
        case "registry":
            world.process.registries.found = REGISTRY[which]
        case "containerfile" if there:
            generation = (_config(world) or MachineOSConfig()).metadata.generation
            spec = {"containerFile": [{"content": TEXTS[which]}]}
            await patch(world, {"metadata": {"generation": generation + 1}, "spec": spec})
        case "rebuild" if there:
            await patch(world, {"metadata": {"annotations": {REBUILD: ""}}})
        case "delete":
            kind = MachineOSConfig if which == "config" else MachineOSBuild
            for each in world.api.listing(kind):
                await world.api.delete(kind, each.name)
            if which == "config":  # as the garbage collector does
                for build in world.api.listing(MachineOSBuild):
                    await world.api.delete(MachineOSBuild, build.name)
        case "create" if not there:
            config = machine_os_config()
            config["metadata"]["uid"] = f"uid-of-config-{world.api.version}"
            world.api.load(config)
        case "rotate":
            body = {"metadata": {"labels": {"rotated": f"{len(world.builders.begun)}-{world.api.version}"}}}
            await world.api.patch(Secret, "push", body, type=PatchType.MERGE, namespace=NAMESPACE)
        case "run" if running:
            world.builders.run(running[0])
        case "succeed" if running:
            world.builders.succeed(running[0])
        case "fail" if running:
            world.builders.fail(running[0], Cause.UNREACHABLE if which else Cause.STEP)
        case "lose" if running:
            world.builders.lose(running[0])
        case "restart":
            found = world.process.registries.found
            world.restart()
            world.process.registries.found = found
        case "wait":
            world.pass_time(30)


async def patch(world: World, body: dict[str, Any]) -> None:
    await world.api.patch(MachineOSConfig, "worker", body, type=PatchType.MERGE)


async def story(steps: list[str]) -> None:
    world, seen = claimed(), Seen()
    for what in steps:
        await step(world, what)
        await world.settle()
        seen.look(world)
    # In the end the builders do their work.
    for what in ("registry has", "create config", "containerfile a", "rebuild"):
        await step(world, what)
    for _ in range(4):
        await world.settle()
        seen.look(world)
        await step(world, "succeed")
        world.pass_time(300)
    version = world.api.version
    await world.settle()
    assert world.api.version == version, "it does not rest"
    assert world.builders.builds == {}
    config = _config(world)
    assert config is not None
    assert REBUILD not in config.metadata.annotations
    build = world.api.peek(MachineOSBuild, config.metadata.annotations[CURRENT])
    assert build is not None
    status, wanted = build.decode().status, world.pool()["spec"]["configuration"]["name"]
    assert state_of(status.conditions) is State.SUCCEEDED
    assert build.decode().spec.machine_config.name == wanted
    assert config.status.current_image_pull_spec == status.digested_image_push_spec
    assert world.conditions()[IMAGE_BUILD_DEGRADED]["status"] == "False"


@pytest.mark.slow
@given(st.lists(STEPS, max_size=14))
@settings(examples(60), deadline=None)
def test_whatever_happens_nodes_get_the_image_of_their_configuration(steps: list[str]) -> None:
    asyncio.run(story(steps))
