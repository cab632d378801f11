"""`windlass run os-build` ends, or another one leads: one builder at a time, and nothing runs that nobody wants."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from tests.api.os_build.pool.cluster import Cluster
from tests.api.os_build.pool.process import alive, behind, left, running
from tests.api.os_build.pool.stage import OpenShiftHands
from tests.api.os_build.pool.stopping_front import StoppingFront
from tests.patience import Stalls
from tests.program import ALONE, QUICK
from tests.waiting import until
from windlass.os_build.request import BackendName
from windlass.testing import ControlPlane
from windlass.testing.blackhole import BlackHole

pytestmark = pytest.mark.sampled

HELD = "RUN wget -q -O /dev/null http://{host}/held"
LONGEST_END = 10.0
"""Seconds from SIGTERM to the end of the process."""


@pytest.fixture
async def local(operated: Cluster) -> Cluster:
    """Builds on this machine, whose command waits until the registry has no faults."""
    await operated.configure(BackendName.LOCAL)
    await operated.containerfile("worker", f"{HELD.format(host=operated.registry.host)} || true")
    operated.registry.fault(path="/held", hang=True)
    return operated


async def begun(cluster: Cluster, count: int = 1) -> None:
    """So many builds have come to the command that waits."""
    await until(lambda: len(cluster.registry.requests(path="/held")) == count)


async def test_sigterm_ends_builds_on_this_machine_and_the_next_process_begins_them_again(
    local: Cluster, account: Path, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"registry": local.registry.host, "builds": tmp_path / "builds"}
    async with running(account, tmp_path, *ALONE, **options) as process:
        await local.add_pool("worker")
        await begun(local)
        async with Stalls() as stalls:
            before = time.monotonic()
            assert await process.end() == 0
        assert time.monotonic() - before < LONGEST_END + stalls.seconds
    assert left(tmp_path / "builds") == []
    assert (await local.says("worker"))[0] == "Building"
    local.registry.clear_faults()
    async with running(account, tmp_path, *ALONE, **options):
        await local.until_built("worker")


async def test_sigterm_leaves_builds_in_the_cluster_running_and_the_next_process_takes_their_image(
    operated: Cluster, account: Path, tmp_path: Path
) -> None:
    await operated.configure(BackendName.OPENSHIFT)
    hands = OpenShiftHands(operated)
    options: dict[str, Any] = {"registry": operated.registry.host, "builds": None}
    async with running(account, tmp_path, *ALONE, **options) as process:
        await operated.add_pool("worker")
        await operated.until("worker", "BuildPending")
        [build] = await operated.builders()
        await hands.run(build.name)
        await operated.until("worker", "BuildRunning")
        async with Stalls() as stalls:
            before = time.monotonic()
            assert await process.end() == 0
        assert time.monotonic() - before < LONGEST_END + stalls.seconds
    [same] = await operated.builders()
    assert (same.uid, same.deleting, same.decode().status.cancelled) == (build.uid, False, False)
    await hands.succeed(build.name)
    async with running(account, tmp_path, *ALONE, **options):
        assert await operated.until_built("worker") == f"{operated.target}@{hands.digest(build.name)}"


async def test_a_leader_that_is_killed_leaves_its_build_to_the_one_that_stands_by(
    local: Cluster, account: Path, tmp_path: Path
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    async with running(account, tmp_path, *QUICK, registry=local.registry.host, builds=one) as leader:
        await local.add_pool("worker")
        await begun(local)
        async with running(account, tmp_path, *QUICK, registry=local.registry.host, builds=two):
            await leader.kill()
            await until(lambda: alive(one) == [], within=5.0)
            await begun(local, 2)
            local.registry.clear_faults()
            await local.until_built("worker")
            await until(lambda: left(two) == [])


async def test_a_leader_that_is_cut_off_while_it_waits_for_an_answer_stops_its_build_before_another_one_begins_it(
    local: Cluster, build_plane: ControlPlane, account: Path, tmp_path: Path
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    async with StoppingFront(build_plane.connection) as front, BlackHole.before(front.url) as network:
        lonely = behind(account, network.url)
        async with running(lonely, tmp_path, *QUICK, registry=local.registry.host, builds=one):
            await local.add_pool("worker")
            await begun(local)
            front.stop_at("push", "get secrets", stored=False)
            await local.add_pool("stuck")
            await front.stopped()
            async with running(account, tmp_path, *QUICK, registry=local.registry.host, builds=two):
                network.swallow()
                ran_both = False
                while len(local.registry.requests(path="/held")) < 2:
                    await asyncio.sleep(0.05)
                    ran_both = ran_both or (bool(building(one)) and bool(building(two)))
                assert not ran_both
                local.registry.clear_faults()
                await local.until_built("worker")


def building(folder: Path) -> list[str]:
    return [line for line in alive(folder) if " build --isolation" in line]
