"""What happens to pools while their images are built, where the API server and its controllers take part."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.api.os_build.pool.cluster import Cluster
from tests.api.os_build.pool.stage import HANDS, Hands, OpenShiftHands, Stage, at_work, digest
from tests.waiting import eventually
from windlass.api.build import Build
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.kube.errors import Conflict, NotFound
from windlass.kube.verbs import PatchType
from windlass.os_build.constants import IMAGE
from windlass.os_build.pool.conditions import VECTOR
from windlass.os_build.request import BackendName

PHASES = ("pending", "running", "failed", "built")


@pytest.fixture
def backend() -> BackendName:
    return BackendName.OPENSHIFT


@pytest.fixture
async def stage(cluster: Cluster, backend: BackendName) -> AsyncIterator[Stage]:
    await cluster.configure(backend)
    async with at_work(cluster) as stage:
        yield stage


@pytest.mark.parametrize("backend", [BackendName.OPENSHIFT, BackendName.JOB])
async def test_pools_that_are_changed_opted_out_or_deleted_in_any_phase_leave_nothing_that_is_not_wanted(
    stage: Stage, backend: BackendName
) -> None:
    cluster, hands = stage.cluster, HANDS[backend](stage.cluster)

    async def brought_to(phase: str, pool: str) -> str:
        await cluster.add_pool(pool)
        name = await stage.begun(pool)
        if phase != "pending":
            await hands.run(name)
            await cluster.until(pool, "BuildRunning")
        if phase == "failed":
            await hands.fail(name)
            await cluster.until(pool, "StepFailed")
        if phase == "built":
            await hands.succeed(name)
            await cluster.until_built(pool)
        return name

    async def changed(phase: str) -> None:
        pool = f"{phase}changed"
        old = await brought_to(phase, pool)
        await cluster.change(pool, f"rendered-{pool}-2")
        new = await stage.begun(pool, other_than=old)
        await hands.run(new)
        await hands.succeed(new)
        assert await cluster.until_built(pool, f"rendered-{pool}-2") == f"{cluster.target}@{digest(new)}"

    async def opted_out(phase: str) -> None:
        pool = f"{phase}optedout"
        await brought_to(phase, pool)
        await cluster.opt(pool, into=False)
        await cluster.until(pool, "")
        assert IMAGE not in await cluster.annotations(pool)

    async def deleted(phase: str) -> None:
        pool = f"{phase}deleted"
        await brought_to(phase, pool)
        # It blocks until all that has it as its owner is gone.
        await cluster.client.delete(MachineConfigPool, pool, propagation="Foreground")
        await eventually(lambda: exists(cluster, pool), lambda there: not there, what=f"{pool} is gone")

    async with asyncio.TaskGroup() as stories:
        for phase in PHASES:
            for story in (changed, opted_out, deleted):
                stories.create_task(story(phase))
    await cluster.until_left()


async def test_another_writer_of_the_conditions_neither_loses_its_own_nor_ours(stage: Stage) -> None:
    cluster, hands, number = stage.cluster, OpenShiftHands(stage.cluster), 0
    await cluster.add_pool("worker")

    async def write() -> None:
        nonlocal number
        while True:
            try:
                await cluster.condition("worker", "NodeDegraded", "False", f"look {number + 1}")
                number += 1
            except Conflict:
                continue

    writing, names = asyncio.create_task(write()), [""]
    try:
        for config in range(2, 5):
            names.append(await build(stage, hands, names[-1]))
            await cluster.change("worker", f"rendered-worker-{config}")
        await build(stage, hands, names[-1])
    finally:
        writing.cancel()
        await asyncio.wait([writing])
    assert number > len(names)
    assert (await cluster.conditions("worker"))["NodeDegraded"]["message"] in (f"look {number}", f"look {number + 1}")
    await cluster.patch("worker", {"status": {"conditions": []}}, part="status")
    await cluster.until("worker", "BuildSucceeded")
    assert {*await cluster.conditions("worker")} == {*VECTOR}


async def test_the_late_end_of_a_superseded_build_is_not_taken_for_that_of_the_next_one(stage: Stage) -> None:
    cluster, hands = stage.cluster, OpenShiftHands(stage.cluster)
    await cluster.add_pool("worker")
    old = await stage.begun("worker")
    await hands.run(old)
    await finalizers(cluster, old, "example.com/lingers")
    await cluster.change("worker", "rendered-worker-2")
    found = await eventually(cluster.builders, lambda found: len(found) == 2, what="the next build")
    [new] = [each.name for each in found if each.name != old]
    await hands.run(new)
    await hands.succeed(old)
    await cluster.until("worker", "BuildRunning", text=new)
    await hands.succeed(new)
    assert await cluster.until_built("worker", "rendered-worker-2") == f"{cluster.target}@{digest(new)}"
    await finalizers(cluster, old)
    await cluster.until_left()
    assert (await cluster.annotations("worker"))[IMAGE] == f"{cluster.target}@{digest(new)}"


async def build(stage: Stage, hands: Hands, before: str) -> str:
    name = await stage.begun("worker", other_than=before)
    await hands.run(name)
    await hands.succeed(name)
    await stage.cluster.until("worker", "BuildSucceeded")
    return name


async def finalizers(cluster: Cluster, build: str, *names: str) -> None:
    body = {"metadata": {"finalizers": [*names]}}
    await cluster.client.patch(Build, build, body, type=PatchType.MERGE, namespace=cluster.namespace)


async def exists(cluster: Cluster, pool: str) -> bool:
    try:
        await cluster.pool(pool)
    except NotFound:
        return False
    return True
