"""From a MachineOSConfig to the image that nodes get, with OpenShift's CRDs, the real job controller, and our rights.

The CRDs refuse what must not happen to the status of a MachineOSBuild. So no test may see a write that was refused.
"""

from collections.abc import AsyncIterator

import pytest

from tests.api.os_build.machine_os.claimed import POOL, Claimed
from tests.api.os_build.pool.stage import JobHands, Stage, at_work, digest
from tests.waiting import eventually
from windlass.api.core import Event, Secret
from windlass.api.machineosconfig import MachineOSConfig
from windlass.kube.config import ClusterConfig
from windlass.os_build.constants import LAYERING, REBUILD, RESULT
from windlass.os_build.machine_os.build import CURRENT
from windlass.os_build.pool.conditions import VECTOR

pytestmark = pytest.mark.registry

JOB_WRITES = 8
"""Writes that a success may take with a Job and without a MachineOSConfig, but for Events."""
MORE_WRITES = 8
LATE_WRITES = 3
"""Writes that tell of a builder which does not start: the condition of the pool, again when its Job says more, and
away."""
LATE = "BuilderNotStarted"
EVENTS = {
    *("BuildStarted", "BuildPreparing", "JobCreated", "JobStarted", "BuildBuilding"),
    *("JobCompleted", "BuildCompleted", "JobDeleted"),
}


@pytest.fixture
async def stage(cluster: Claimed, account: ClusterConfig) -> AsyncIterator[Stage]:
    async with at_work(cluster, machine_os_configs=True, account=account) as stage:
        yield stage
        assert stage.ours.refused == []


async def succeed(stage: Stage, hands: JobHands, *, other_than: str = "") -> str:
    """Let the one build succeed; returns the name of its builder."""
    name = await stage.begun(POOL, other_than=other_than)
    await hands.run(name)
    await hands.succeed(name)
    return name


async def test_a_build_reads_on_its_objects_until_nodes_get_its_image(
    cluster: Claimed, stage: Stage, hands: JobHands
) -> None:
    await cluster.ask(containerFile=[{"content": "RUN true"}])
    builder = await stage.begun(POOL)
    [name] = await cluster.builds()
    assert (await cluster.config()).metadata.annotations[CURRENT] == name
    await hands.run(builder)
    await cluster.until_state("Building")
    await cluster.until_degraded("False", "Building: Build started for pool worker")
    await hands.succeed(builder)
    build = await cluster.until_current(digest(builder))
    await cluster.until_degraded("False", "BuildSuccess")
    await cluster.until_left()
    status = build.status
    assert build.metadata.name == name
    assert build.spec.rendered_image_push_spec == f"{cluster.target}:{name}"
    assert status.builder is not None
    assert status.builder.job is not None
    assert status.builder.job.name == builder
    assert status.build_end is not None
    assert status.build_start is not None
    assert status.build_start < status.build_end
    assert (await cluster.config()).status.observed_generation == 1
    assert not set(VECTOR) & set(await cluster.conditions(POOL))
    assert not set(RESULT) & set(await cluster.annotations(POOL))
    told = [each.decode() for each in (await cluster.client.list(Event, namespace="default")).items]
    reasons = [each.reason for each in told if each.involved_object.uid == build.metadata.uid]
    # On a busy machine, the builder may not start for a while, and that is told, too.
    assert sorted(each for each in reasons if each != LATE) == sorted(EVENTS), "each is sent once"
    writes = [one for one in stage.ours.sent if not one.startswith("create Event ")]
    assert len(writes) <= JOB_WRITES + MORE_WRITES + (LATE_WRITES if LATE in reasons else 0), writes


async def test_a_restart_writes_nothing_of_what_is_built(
    cluster: Claimed, account: ClusterConfig, hands: JobHands
) -> None:
    await cluster.ask()
    async with at_work(cluster, machine_os_configs=True, account=account) as stage:
        name = await succeed(stage, hands)
        await cluster.until_current(digest(name))
        await cluster.until_degraded("False", "BuildSuccess")
        await cluster.until_left()
    async with at_work(cluster, machine_os_configs=True, account=account) as restarted:
        await cluster.add_pool("infra")
        await cluster.until("infra", "ConfigurationMissing")
        assert [one for one in restarted.ours.sent if "infra" not in one] == []


async def test_a_rebuild_has_the_same_name_and_another_image(cluster: Claimed, stage: Stage, hands: JobHands) -> None:
    await cluster.ask()
    first = await succeed(stage, hands)
    build = await cluster.until_current(digest(first))
    await cluster.tell(rebuild="")
    second = await succeed(stage, hands, other_than=first)
    again = await cluster.until_current(digest(second))
    assert again.metadata.name == build.metadata.name
    assert again.metadata.uid != build.metadata.uid
    await eventually(
        cluster.config, lambda config: REBUILD not in config.metadata.annotations, what="the annotation is gone"
    )
    await cluster.until_left()


async def test_a_failure_reads_on_build_and_pool_is_written_once_and_goes_with_its_cause(
    cluster: Claimed, stage: Stage, hands: JobHands
) -> None:
    await cluster.ask()
    builder = await stage.begun(POOL)
    await hands.run(builder)
    await hands.fail(builder)
    await cluster.until_state("Failed")
    [name] = await cluster.builds()
    await cluster.until_degraded("True", "BuildFailed: Failed to build OS image for pool worker", name, "RUN exit 7")
    [failed] = (await cluster.builds()).values()
    seen = len(stage.ours.sent)
    await cluster.pool_changes()
    await cluster.condition(POOL, "Degraded", "True", "a build failed")
    assert [each.name for each in await cluster.builders(POOL)] == [builder], "people can look at it"

    await cluster.change(containerFile=[{"content": "RUN true"}])
    fixed = await stage.begun(POOL, other_than=builder)
    written = [one for one in stage.ours.sent[seen:] if failed.name in one and "MachineOSBuild" in one]
    assert len(written) == 1, "it is deleted, and nothing else is tried"
    await hands.run(fixed)
    await hands.succeed(fixed)
    await cluster.until_current(digest(fixed))
    await cluster.until_degraded("False", "BuildSuccess")
    assert failed.name not in await cluster.builds()


async def test_files_alone_take_the_image_that_there_is_and_a_kernel_does_not(
    cluster: Claimed, stage: Stage, hands: JobHands
) -> None:
    """Also of an image that is gone from the registry there is nothing to take."""
    image = await cluster.pushed("first")
    await cluster.ask()
    name = await stage.begun(POOL)
    await hands.run(name)
    await hands.push(name, image)
    first = await cluster.until_current(image)
    await cluster.until_left()

    await cluster.move("rendered-worker-2")
    second = await cluster.until_current(image, config="rendered-worker-2")
    assert second.metadata.name != first.metadata.name
    assert second.status.builder is None
    assert await cluster.builders(POOL) == []

    await cluster.move("rendered-worker-3", kernelArguments=["quiet"])
    third = await succeed(stage, hands)
    await cluster.until_current(digest(third), config="rendered-worker-3")
    assert len(await cluster.builds()) == 3

    await cluster.move("rendered-worker-4", kernelArguments=["quiet"])
    fourth = await succeed(stage, hands, other_than=third)
    await cluster.until_current(digest(fourth), config="rendered-worker-4")


async def test_a_change_in_mid_build_leaves_one_build_and_one_builder(
    cluster: Claimed, stage: Stage, hands: JobHands
) -> None:
    await cluster.ask()
    first = await stage.begun(POOL)
    await hands.run(first)
    [superseded] = await cluster.builds()
    await cluster.change(containerFile=[{"content": "RUN true"}])
    second = await succeed(stage, hands, other_than=first)
    await cluster.until_current(digest(second))
    await cluster.until_left()
    assert len(await cluster.builds()) == 1
    assert superseded not in await cluster.builds()


async def test_a_missing_secret_is_told_before_a_builder_heals_and_goes_with_the_config(
    cluster: Claimed, stage: Stage, hands: JobHands
) -> None:
    await cluster.client.delete(Secret, "push", namespace=cluster.namespace)
    await cluster.ask()
    await cluster.until_degraded("True", f"Secret {cluster.namespace}/push does not exist")
    assert await cluster.builders(POOL) == []
    await cluster.secret("push", cluster.registry.auths("pusher"))
    name = await succeed(stage, hands)
    await cluster.until_current(digest(name))
    await cluster.client.delete(MachineOSConfig, POOL)
    await eventually(cluster.builds, lambda found: not found, what="builds go with their MachineOSConfig")


async def test_a_closed_door_leaves_claimed_pools_alone_even_annotated_ones(cluster: Claimed) -> None:
    async with at_work(cluster) as stage:
        await cluster.ask()
        await cluster.patch(POOL, {"metadata": {"annotations": {LAYERING: "", REBUILD: "1"}}})
        await cluster.add_pool("infra")
        await cluster.until("infra", "ConfigurationMissing")
        written = [one for one in stage.ours.sent if "infra" not in one]
    assert written == []
    assert await cluster.builds() == {}
    assert await cluster.builders() == []
