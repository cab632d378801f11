"""Jobs on a real API server with the real job controller; the kubelet of their Pods is played."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from tests.api.os_build.backends.stage import DIGEST, Stage, at_work, order
from tests.explore import usually
from tests.patience import Stalls
from tests.waiting import eventually
from windlass.api.batch import Job
from windlass.api.core import Pod
from windlass.kube.object import Object
from windlass.os_build.backends.job import JobBackend
from windlass.os_build.backends.job_state import Exit
from windlass.os_build.builder import ATTEMPTS, Cause, Phase
from windlass.testing import ControlPlane
from windlass.testing.builds.pods import Ended, PlayedPods

pytestmark = pytest.mark.plane

STEP = 'STEP 2/2: RUN false\nError: building at STEP "RUN false": exit status 1'
AWAY = "Error: writing blob: connection refused"
GONE_WITHIN = 3.0
"""Seconds until the Pod of a superseded build is gone."""


@pytest.fixture
async def stage(build_plane: ControlPlane, namespace: str) -> AsyncIterator[Stage]:
    async with at_work(build_plane, namespace, lambda reader: JobBackend(reader, namespace=namespace)) as stage:
        yield stage


@pytest.fixture
def pods(stage: Stage) -> PlayedPods:
    return PlayedPods(stage.client, namespace=stage.namespace)


async def first(pods: PlayedPods, job: str, *, number: int = 1) -> Object[Pod]:
    """The latest Pod of the Job once there have been so many."""
    found = await eventually(lambda: pods.of(job), lambda found: len(found) == number, what=f"{number} Pods of {job}")
    return found[-1]


async def test_a_job_runs_and_its_pod_says_the_digest(stage: Stage, pods: PlayedPods) -> None:
    pool = await stage.pool("worker")
    wanted = order(pool)
    await stage.start(wanted)
    await stage.start(wanted)
    pod = await first(pods, wanted.name)
    await pods.wait(pod, reason="ImagePullBackOff", message="no such image")
    await stage.until(pool, lambda state: state.note == f"waits: Pod {pod.name}: ImagePullBackOff: no such image")
    await pods.run(pod)
    await stage.until(pool, lambda state: state.phase == Phase.RUNNING and not state.note)
    await pods.end(pod, Ended(message=DIGEST))
    done = await stage.until(pool, lambda state: state.is_over and state.digest)
    assert (done.phase, done.digest, done.attempt) == (Phase.SUCCEEDED, DIGEST, 1)
    await stage.clean(pool)
    await stage.until_gone(pool, Job, Pod)


async def test_an_exit_code_that_would_come_again_fails_the_job_at_once(stage: Stage, pods: PlayedPods) -> None:
    pool = await stage.pool("worker")
    await stage.start(order(pool))
    pod = await first(pods, order(pool).name)
    await pods.run(pod)
    await pods.end(pod, Ended(exit_code=65, message=STEP))
    state = await stage.until(pool, lambda state: state.is_over)
    assert (state.phase, state.attempt) == (Phase.FAILED, 1)
    assert state.failed is not None
    assert (state.failed.cause, state.failed.step, state.failed.exit_code) == (Cause.STEP, "RUN false", 1)
    assert len(await pods.of(order(pool).name)) == 1


async def test_what_may_pass_is_repeated_and_what_the_infrastructure_takes_is_not_counted(
    stage: Stage, pods: PlayedPods
) -> None:
    """The job controller waits 10, 20, 40 s between Pods: three stories at the same time."""
    begin = usually(ATTEMPTS - 1, exploring=1)

    async def transient() -> None:
        pool = await stage.pool("transient")
        wanted = order(pool, attempt=begin)
        await stage.start(wanted)
        for number in range(1, ATTEMPTS - begin + 2):
            pod = await first(pods, wanted.name, number=number)
            await pods.run(pod)
            await pods.end(pod, Ended(exit_code=76, message=AWAY))
        state = await stage.until(pool, lambda state: state.is_over)
        assert (state.phase, state.attempt) == (Phase.FAILED, ATTEMPTS), "the controller sees that no attempt is left"
        assert state.failed is not None
        assert state.failed.cause == Cause.UNREACHABLE

    async def disrupted() -> None:
        pool = await stage.pool("disrupted")
        await stage.start(order(pool))
        pod = await first(pods, order(pool).name)
        await pods.run(pod)
        await pods.end(pod, Ended(exit_code=143, disrupted=True))
        again = await first(pods, order(pool).name, number=2)
        await pods.run(again)
        await pods.end(again, Ended(message=DIGEST))
        state = await stage.until(pool, lambda state: state.is_over)
        assert (state.phase, state.attempt) == (Phase.SUCCEEDED, 1), "a lost Node is no attempt"

    async def deleted() -> None:
        pool = await stage.pool("deleted")
        await stage.start(order(pool))
        pod = await first(pods, order(pool).name)
        await pods.run(pod)
        await stage.client.delete(Pod, pod.name, namespace=stage.namespace)
        await pods.end(pod, Ended(exit_code=143))

        async def others() -> list[Object[Pod]]:
            return [each for each in await pods.of(order(pool).name) if each.uid != pod.uid]

        [again] = await eventually(others, what="another Pod")
        await pods.run(again)
        state = await stage.until(pool, lambda state: state.attempt == 2)
        assert state.phase == Phase.RUNNING

    async with asyncio.TaskGroup() as stories:
        for story in (transient, disrupted, deleted):
            stories.create_task(story())


async def test_a_job_that_somebody_deletes_is_interrupted_and_begins_again(stage: Stage, pods: PlayedPods) -> None:
    pool = await stage.pool("worker")
    wanted = order(pool)
    await stage.start(wanted)
    await pods.run(await first(pods, wanted.name))
    await stage.client.delete(Job, wanted.name, namespace=stage.namespace, propagation="Background")
    lost = await stage.until(pool, lambda state: state.phase == Phase.INTERRUPTED and not state.ending)
    assert lost.ended is not None
    await stage.clean(pool)
    await stage.until_gone(pool, Job, Pod)
    await stage.start(wanted)
    await stage.until(pool, lambda state: state.phase in (Phase.PENDING, Phase.RUNNING))


async def test_a_build_that_takes_too_long_fails_at_once(stage: Stage, pods: PlayedPods) -> None:
    """The script ends itself."""
    pool = await stage.pool("worker")
    await stage.start(order(pool))
    pod = await first(pods, order(pool).name)
    await pods.run(pod)
    await pods.end(pod, Ended(exit_code=Exit.OVERDUE, message="STEP 2/2: RUN sleep 9999"))
    state = await stage.until(pool, lambda state: state.is_over)
    assert state.failed is not None
    assert state.failed.cause == Cause.DEADLINE


async def test_a_cancelled_job_stays_as_a_record_and_its_pod_goes(stage: Stage, pods: PlayedPods) -> None:
    pool = await stage.pool("worker")
    await stage.start(order(pool))
    await pods.run(await first(pods, order(pool).name))
    state = await stage.until(pool, lambda state: state.phase == Phase.RUNNING)
    await stage.apply(*stage.backend.cancel(state, Cause.CANCELLED))
    playing = asyncio.create_task(pods.play(never))
    try:
        over = await stage.until(pool, lambda state: state.is_over)
        assert over.failed is not None
        assert over.failed.cause == Cause.CANCELLED
        await eventually(lambda: pods.of(order(pool).name), lambda found: found == [], what="no Pod")
        assert len(await stage.all(Job)) == 1
    finally:
        playing.cancel()


async def never(_: Object[Pod]) -> Ended:
    await asyncio.Event().wait()
    raise AssertionError


async def test_a_superseded_build_is_gone_within_three_seconds(stage: Stage, pods: PlayedPods) -> None:
    pool = await stage.pool("worker")
    playing = asyncio.create_task(pods.play(never))
    try:
        await stage.start(order(pool))
        await stage.until(pool, lambda state: state.phase == Phase.RUNNING)
        async with Stalls() as stalls:
            began = time.monotonic()
            await stage.clean(pool)
            await stage.until_gone(pool, Job, Pod)
            took = time.monotonic() - began
        assert took <= GONE_WITHIN + stalls.seconds
    finally:
        playing.cancel()


async def test_the_garbage_collector_removes_the_builders_of_a_deleted_pool(stage: Stage, pods: PlayedPods) -> None:
    pool = await stage.pool("worker")
    await stage.start(order(pool))
    await first(pods, order(pool).name)
    await stage.client.delete(pool.kind, pool.name)
    await stage.until_gone(pool, Job, Pod)
