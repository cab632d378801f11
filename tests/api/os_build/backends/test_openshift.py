"""Builds on a real API server, by a played build controller."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from tests.api.os_build.backends.stage import DIGEST, Stage, at_work, order
from windlass.api.build import Build
from windlass.api.core import ConfigMap
from windlass.kube.control.permissions import Declaration, Permission
from windlass.kube.control.reader import CacheReader
from windlass.kube.errors import Forbidden, NotServed
from windlass.kube.object import Object
from windlass.os_build.backends.openshift import OpenShiftBackend
from windlass.os_build.builder import Cause, Phase
from windlass.testing import ControlPlane, PlaneAccess
from windlass.testing.builds.openshift import Built, PlayedBuilds

pytestmark = pytest.mark.plane


@pytest.fixture
async def stage(build_plane: ControlPlane, namespace: str) -> AsyncIterator[Stage]:
    async with at_work(build_plane, namespace, lambda reader: OpenShiftBackend(reader, namespace=namespace)) as stage:
        yield stage


@pytest.fixture
def builds(stage: Stage) -> PlayedBuilds:
    return PlayedBuilds(stage.client, namespace=stage.namespace)


async def test_a_build_goes_its_way_also_while_nobody_looks(
    stage: Stage, builds: PlayedBuilds, build_plane: ControlPlane
) -> None:
    pool = await stage.pool("worker")
    wanted = order(pool, files={"rootfs.tar": b"\x00\xff"})
    await stage.start(wanted)
    await stage.start(wanted)
    assert (await stage.until(pool, lambda _: True)).phase == Phase.PENDING
    [build] = await builds.all()
    assert await builds.context(build) == {"Dockerfile": b"FROM base\n", "rootfs.tar": b"\x00\xff"}
    await builds.wait(wanted.name)
    await builds.run(wanted.name)
    await stage.until(pool, lambda state: state.phase == Phase.RUNNING)
    namespace = stage.namespace
    async with at_work(build_plane, namespace, lambda reader: OpenShiftBackend(reader, namespace=namespace)) as later:
        await later.until(pool, lambda state: state.phase == Phase.RUNNING, what="a new process finds it")
        await builds.end(wanted.name, Built(digest=DIGEST))
        done = await later.until(pool, lambda state: state.is_over)
    assert (done.phase, done.digest, done.image) == (Phase.SUCCEEDED, DIGEST, wanted.image)
    await stage.until(pool, lambda state: state.is_over)
    await stage.clean(pool)
    await stage.until_gone(pool, Build)


async def test_a_failed_build_stays_and_says_why(stage: Stage, builds: PlayedBuilds) -> None:
    pool = await stage.pool("worker")
    await stage.start(order(pool))
    log = 'error: build error: building at STEP "RUN false": while running runtime: exit status 1'
    await builds.run(order(pool).name)
    await builds.end(
        order(pool).name, Built(reason="DockerBuildFailed", message="Docker build strategy has failed.", log=log)
    )
    state = await stage.until(pool, lambda state: state.is_over)
    assert state.failed is not None
    assert (state.failed.cause, state.failed.step, state.failed.exit_code) == (Cause.STEP, "RUN false", 1)
    for kind in (Build, ConfigMap):
        assert order(pool).name in [each.name for each in await stage.all(kind)]


async def test_a_cancelled_build_ends_at_once_and_stays(stage: Stage, builds: PlayedBuilds) -> None:
    async def never(_: Object[Build]) -> Built:
        await asyncio.Event().wait()
        raise AssertionError

    playing = asyncio.create_task(builds.play(never))
    try:
        pool = await stage.pool("worker")
        await stage.start(order(pool))
        state = await stage.until(pool, lambda state: state.phase == Phase.RUNNING)
        await stage.apply(*stage.backend.cancel(state, Cause.CANCELLED))
        over = await stage.until(pool, lambda state: state.is_over)
        assert over.failed is not None
        assert over.failed.cause == Cause.CANCELLED
    finally:
        playing.cancel()


async def test_the_garbage_collector_removes_the_builders_of_a_deleted_pool(stage: Stage) -> None:
    pool, other = await stage.pool("worker"), await stage.pool("infra")
    await stage.start(order(pool))
    await stage.start(order(other))
    await stage.client.delete(pool.kind, pool.name)
    await stage.until_gone(pool, Build)
    assert len(stage.backend.look(other.name)) == 1


async def test_without_the_right_to_block_the_deletion_of_pools_no_builder_can_be_created(
    build_plane: ControlPlane, namespace: str
) -> None:
    """OwnerReferencesPermissionEnforcement is on, as on OpenShift: the declared permissions are needed, all of them."""

    def without_finalizers(declared: Sequence[Declaration]) -> Sequence[Declaration]:
        return [each for each in declared if not (isinstance(each, Permission) and each.subresource == "finalizers")]

    def make(reader: CacheReader) -> OpenShiftBackend:
        return OpenShiftBackend(reader, namespace=namespace)

    async with at_work(build_plane, namespace, make, declared=without_finalizers) as stage:
        pool = await stage.pool("worker")
        outcome = await stage.tried(*stage.backend.start(order(pool)))
        assert isinstance(outcome.error, Forbidden)
        assert "blockOwnerDeletion" in str(outcome.error)


async def test_on_a_cluster_without_builds_the_process_works_and_the_backend_says_so(
    windlass_plane: PlaneAccess, windlass_namespace: str
) -> None:
    def make(reader: CacheReader) -> OpenShiftBackend:
        return OpenShiftBackend(reader, namespace=windlass_namespace)

    async with at_work(windlass_plane, windlass_namespace, make) as stage:
        with pytest.raises(NotServed, match=r"Build\.build\.openshift\.io/v1 is not served"):
            stage.backend.look("worker")
