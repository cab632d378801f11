"""`windlass migrate` on real parts: a fleet goes there and back, is left halfway, and is taken up again."""

import asyncio
import json
import signal
import sys
from typing import Any

import pytest

from tests.explore import in_turn
from tests.patience import PATIENCE
from tests.waiting import eventually
from windlass.api import mapi
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API, MIGRATING

from .ground import Actors, Ground, assert_one_instance

pytestmark = [pytest.mark.plane, pytest.mark.sampled]


class Command:
    """`windlass migrate ARGUMENTS... -o json`, as a process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def ends(self) -> tuple[int, dict[str, Any], str]:
        """Its exit code, its report by name, and what it said on standard error."""
        async with asyncio.timeout(PATIENCE):
            out, err = await self.process.communicate()
        assert self.process.returncode is not None
        items = json.loads(out)["items"] if out else []
        return self.process.returncode, {item["name"]: item for item in items}, err.decode()

    async def says(self, text: str) -> None:
        """Wait until it has said so on standard error."""
        assert self.process.stderr is not None
        async with asyncio.timeout(PATIENCE):
            async for line in self.process.stderr:
                if text in line.decode():
                    return
        pytest.fail(f"it ended without saying {text!r}")


async def migrate(ground: Ground, *arguments: str) -> Command:
    places = ground.stage.namespaces
    return Command(
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "windlass", "--kubeconfig", str(ground.stage.plane.kubeconfig()), "migrate"),
            *("--machine-api-namespace", places.machine_api, "--cluster-api-namespace", places.cluster_api),
            *("-o", "json", *arguments),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    )


def outcomes(report: dict[str, Any]) -> set[str]:
    return {item["result"]["outcome"] for item in report.values()}


@pytest.mark.parametrize("platform", in_turn("AWS", "GCP", "OpenStack"))
async def test_a_fleet_is_moved_there_and_back(ground: Ground, actors: Actors) -> None:
    pool, alone = ground.name("pool"), ground.name("alone")
    async with ground.syncing():
        await ground.machine_set(pool, MACHINE_API, replicas=3)
        await ground.machine(alone, MACHINE_API)
        await ground.set_settled(pool, MACHINE_API, replicas=3)
        names = sorted(await ground.machines())
        await ground.all_settled(names, MACHINE_API)

        for target, authority in (("cluster-api", CLUSTER_API), ("machine-api", MACHINE_API)):
            code, report, errors = await (
                await migrate(ground, "--all", "--yes", "--to", target, "--max-in-flight", "3")
            ).ends()
            assert code == 0, errors
            assert outcomes(report) == {"migrated"}
            assert set(report) == {pool, *names}
            await ground.all_settled(names, authority)
            await ground.set_settled(pool, authority, replicas=3)

    for name in names:
        assert_one_instance(await ground.instance(name), hands=[MACHINE_API, CLUSTER_API, MACHINE_API])


async def test_what_was_left_halfway_is_taken_up_again(ground: Ground, actors: Actors) -> None:
    names = [ground.name(f"w-{number}") for number in range(3)]
    async with ground.syncing():
        for name in names:
            await ground.machine(name, MACHINE_API)
        await ground.all_settled(names, MACHINE_API)
    # Nobody synchronizes now, so the first two cannot arrive.
    command = await migrate(ground, *names, "--to", "cluster-api", "--max-in-flight", "2")
    await eventually(
        lambda: ground.machines(),
        lambda found: sum(one["spec"]["authoritativeAPI"] == CLUSTER_API for one in found.values()) == 2,
        what="a wave of two that is asked for",
    )
    command.process.send_signal(signal.SIGINT)
    await command.says("interrupted: no more objects are started; waiting for 2 in progress")
    command.process.send_signal(signal.SIGINT)
    code, report, _ = await command.ends()
    assert code == 130
    assert [report[name]["result"]["outcome"] for name in names] == ["left under way", "left under way", "not begun"]

    async with ground.syncing():
        code, report, errors = await (await migrate(ground, *names, "--to", "cluster-api")).ends()
        assert code == 0, errors
        assert outcomes(report) <= {"migrated", "already there"}
        await ground.all_settled(names, CLUSTER_API)
        for name in names:
            assert_one_instance(await ground.instance(name), hands=[MACHINE_API, CLUSTER_API])


async def test_a_migration_that_is_under_way_is_taken_back(ground: Ground, actors: Actors) -> None:
    name = ground.name("w-0")
    async with ground.syncing():
        await ground.machine(name, MACHINE_API)
        await ground.settled(name, MACHINE_API)
        await actors.kill()
        # The Machine API cannot say that it has paused, so this one stays halfway.
        await ground.hand_over(mapi.Machine, name, CLUSTER_API)
        await ground.stage.mirror_that(name, lambda tree: tree["status"]["authoritativeAPI"] == MIGRATING)
        code, report, _ = await (await migrate(ground, name, "--to", "cluster-api", "--timeout", "15s")).ends()
        assert code == 124
        assert report[name]["result"]["reason"] == "migrating: waits until the Machine API has paused"

        code, report, errors = await (await migrate(ground, name, "--to", "machine-api")).ends()
        assert code == 0, errors
        assert report[name]["findings"][0]["text"].endswith("has not said yet that it is paused: it goes back")
        await actors.start()
        await ground.settled(name, MACHINE_API)
    assert_one_instance(await ground.instance(name), hands=[MACHINE_API])
    found = await ground.stage.get(mapi.Machine, name)
    assert found is not None
    assert found["spec"]["authoritativeAPI"] == MACHINE_API
