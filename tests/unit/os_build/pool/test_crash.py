"""A crash before or after any write or Call is harmless: the same end, one image, and nothing left."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.unit.os_build.fake import DIGEST, SYSTEM
from tests.unit.os_build.world import FakeRegistries, Process, World, claimed, config_map, machine_config
from windlass.api.core import Node
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.api.machineosconfig import MachineOSConfig
from windlass.kube.verbs import PatchType
from windlass.model import MemoryApi
from windlass.os_build.builder import Cause, Phase
from windlass.os_build.constants import CONTAINERFILES, LAYERING, REBUILD
from windlass.os_build.registry.answers import Found
from windlass.testing.crash import Scenario, comparable, crash_everywhere

Actor = Any
BUILDER = re.compile("build-worker(-[a-z0-9]+)?-[0-9a-f]{32}")


def builders_work(world: World, *, outcome: str = "succeed") -> Actor:
    """The builders go on by one step."""

    async def act(api: MemoryApi) -> None:
        for build in list(world.builders.builds.values()):
            if build.phase == Phase.PENDING:
                world.builders.run(build.name)
            elif build.phase == Phase.RUNNING and outcome == "succeed":
                world.builders.succeed(build.name)
            elif build.phase == Phase.RUNNING:
                world.builders.fail(build.name, Cause.STEP, exit_code=1)
            else:
                continue
            # Builders are no objects of the model, and their steps wake the process.
            step = f"{build.name} {world.builders.builds[build.name].phase}"
            touched = {"metadata": {"annotations": {"builders": step}}}
            await api.patch(MachineConfigPool, "worker", touched, type=PatchType.MERGE)
            return

    return act


def once(change: Any) -> Actor:
    done = False

    async def act(api: MemoryApi) -> None:
        nonlocal done
        if not done:
            done = True
            await change(api)

    return act


async def opts_out(api: MemoryApi) -> None:
    await api.patch(MachineConfigPool, "worker", {"metadata": {"annotations": {LAYERING: None}}}, type=PatchType.MERGE)


async def renders(api: MemoryApi) -> None:
    api.load(machine_config("rendered-worker-2"))
    spec = {"spec": {"configuration": {"name": "rendered-worker-2"}}}
    await api.patch(MachineConfigPool, "worker", spec, type=PatchType.MERGE)


async def edits(api: MemoryApi) -> None:
    api.load(config_map(CONTAINERFILES, worker="RUN true"))
    await api.patch(MachineConfigPool, "worker", {"metadata": {"labels": {"woken": "yes"}}}, type=PatchType.MERGE)


async def renders_another_kernel(api: MemoryApi) -> None:
    api.load(machine_config("rendered-worker-2", kernelArguments=["quiet"]))
    spec = {"spec": {"configuration": {"name": "rendered-worker-2"}}}
    await api.patch(MachineConfigPool, "worker", spec, type=PatchType.MERGE)


async def asks_again(api: MemoryApi) -> None:
    asked = {"metadata": {"annotations": {REBUILD: ""}}}
    await api.patch(MachineOSConfig, "worker", asked, type=PatchType.MERGE)
    await api.patch(MachineConfigPool, "worker", {"metadata": {"labels": {"woken": "yes"}}}, type=PatchType.MERGE)


async def deletes_the_config(api: MemoryApi) -> None:
    await api.delete(MachineOSConfig, "worker")
    await api.patch(MachineConfigPool, "worker", {"metadata": {"labels": {"woken": "yes"}}}, type=PatchType.MERGE)


def compared(trees: Sequence[Any]) -> dict[str, Any]:
    """Names of builders follow from uids."""
    same: list[Any] = json.loads(BUILDER.sub(r"build-worker\1", json.dumps(trees)))
    return comparable(same)


def opted_in() -> World:
    world = World()
    world.add_pool()
    return world


def the_registry_has_all() -> FakeRegistries:
    registries = FakeRegistries()
    registries.found = Found(DIGEST)
    return registries


def scenario(
    changes: Sequence[Any], *, outcome: str = "succeed", left: int = 0, begin: Callable[[], World] = opted_in
) -> Any:
    def make() -> Scenario:
        world = begin()

        async def settle(api: Any, reader: Any, systems: Any) -> None:
            await Process(world, api=api, systems=systems).settle("worker")

        def unowned(trees: Sequence[Any]) -> list[str]:
            return [] if len(world.builders.builds) == left else [f"builders are left: {sorted(world.builders.builds)}"]

        return Scenario(
            world.api,
            settle,
            actors=(builders_work(world, outcome=outcome), *map(once, changes)),
            systems={SYSTEM: lambda: world.builders, "registry": the_registry_has_all},
            unowned=unowned,
            compared=compared,
        )

    return make


@pytest.mark.parametrize(
    ("changes", "outcome", "left", "least"),
    [
        pytest.param((), "succeed", 0, 6, id="built"),
        pytest.param((), "fail", 1, 4, id="failed"),
        pytest.param((renders,), "succeed", 0, 8, id="another configuration in mid-build"),
        pytest.param((renders, edits), "succeed", 0, 8, id="two changes in mid-build"),
        pytest.param((opts_out,), "succeed", 0, 4, id="opted out in mid-build"),
    ],
)
async def test_a_crash_at_any_write_leaves_the_same_end(
    changes: Sequence[Any], outcome: str, left: int, least: int
) -> None:
    report = await crash_everywhere(scenario(changes, outcome=outcome, left=left))
    assert report.points >= least


@pytest.mark.parametrize(
    ("changes", "outcome", "left", "least"),
    [
        pytest.param((), "succeed", 0, 10, id="built"),
        pytest.param((), "fail", 1, 6, id="failed"),
        pytest.param((renders,), "succeed", 0, 14, id="files alone in mid-build"),
        pytest.param((renders_another_kernel,), "succeed", 0, 14, id="another kernel in mid-build"),
        pytest.param((asks_again,), "succeed", 0, 14, id="a rebuild in mid-build"),
        pytest.param((deletes_the_config,), "succeed", 0, 6, id="the config is deleted in mid-build"),
    ],
)
async def test_a_crash_at_any_write_for_a_machine_os_config_leaves_the_same_end(
    changes: Sequence[Any], outcome: str, left: int, least: int
) -> None:
    report = await crash_everywhere(scenario(changes, outcome=outcome, left=left, begin=claimed))
    assert report.points >= least


def of_two_architectures(begin: Callable[[], World]) -> Callable[[], World]:
    """The pool has a Node of each."""

    def make() -> World:
        world = begin()
        world.add_nodes("amd64", "arm64")
        return world

    return make


def a_node(architecture: str) -> Any:
    """A Node of this architecture joins the pool."""

    async def joins(api: MemoryApi) -> None:
        labels = {"kubernetes.io/arch": architecture, "node-role.kubernetes.io/worker": ""}
        metadata = {"name": f"worker-{architecture}", "labels": labels}
        api.load({"apiVersion": "v1", "kind": "Node", "metadata": metadata})
        await api.patch(MachineConfigPool, "worker", {"metadata": {"labels": {"woken": "yes"}}}, type=PatchType.MERGE)

    return joins


async def the_last_node_goes(api: MemoryApi) -> None:
    await api.delete(Node, "worker-arm64")
    await api.patch(MachineConfigPool, "worker", {"metadata": {"labels": {"woken": "yes"}}}, type=PatchType.MERGE)


@pytest.mark.parametrize("begin", [opted_in, claimed], ids=["opted in", "claimed"])
@pytest.mark.parametrize(
    ("changes", "outcome", "left"),
    [
        pytest.param((), "succeed", 0, id="built"),
        pytest.param((), "fail", 2, id="failed"),
        pytest.param((renders_another_kernel,), "succeed", 0, id="another configuration in mid-build"),
        pytest.param((a_node("s390x"),), "succeed", 0, id="a Node of another architecture in mid-build"),
        pytest.param((the_last_node_goes,), "succeed", 0, id="the last Node of an architecture goes in mid-build"),
    ],
)
async def test_a_crash_at_any_write_of_a_list_leaves_the_same_end(
    changes: Sequence[Any], outcome: str, left: int, begin: Callable[[], World]
) -> None:
    made = scenario(changes, outcome=outcome, left=left, begin=of_two_architectures(begin))
    report = await crash_everywhere(made)
    assert report.points >= 6
