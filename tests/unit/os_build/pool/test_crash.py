"""A crash before or after any write or Call is harmless: the same end, one image, and nothing left."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.unit.os_build.fake import SYSTEM
from tests.unit.os_build.world import FakeRegistries, Process, World, config_map, machine_config
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.kube.verbs import PatchType
from windlass.os_build.builder import Cause, Phase
from windlass.os_build.constants import CONTAINERFILES, LAYERING
from windlass.testing.crash import Scenario, crash_everywhere
from windlass.testing.memory import MemoryApi

Actor = Any


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


def scenario(changes: Sequence[Any], *, outcome: str = "succeed", left: int = 0) -> Any:
    def make() -> Scenario:
        world = World()
        world.add_pool()

        async def settle(api: Any, reader: Any, systems: Any) -> None:
            await Process(world, api=api, systems=systems).settle("worker")

        def unowned(trees: Sequence[Any]) -> list[str]:
            return [] if len(world.builders.builds) == left else [f"builders are left: {sorted(world.builders.builds)}"]

        return Scenario(
            world.api,
            settle,
            actors=(builders_work(world, outcome=outcome), *map(once, changes)),
            systems={SYSTEM: lambda: world.builders, "registry": FakeRegistries},
            unowned=unowned,
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
