"""Registries that fail, builders that die, Secrets that rotate: what becomes of real builds on this machine."""

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.api.os_build.pool.cluster import Cluster
from tests.api.os_build.pool.process import left
from tests.api.os_build.pool.stage import Stage, at_work
from tests.left import command_lines
from tests.waiting import until
from windlass.os_build.builder import Deadlines
from windlass.os_build.request import BackendName
from windlass.testing.registry import User

pytestmark = pytest.mark.sampled

HELD = "RUN wget -q -O /dev/null http://{host}/held || true"


@pytest.fixture
async def stage(cluster: Cluster, tmp_path: Path) -> AsyncIterator[Stage]:
    await cluster.configure(BackendName.LOCAL)
    async with at_work(cluster, folder=tmp_path / "builds") as stage:
        yield stage
        cluster.registry.clear_faults()
    assert left(tmp_path / "builds") == []


async def held(stage: Stage, pool: str = "worker") -> str:
    """A build whose command waits until the registry has no faults; returns its name."""
    cluster = stage.cluster
    fault = cluster.registry.fault(path="/held", hang=True)
    await cluster.containerfile(pool, HELD.format(host=cluster.registry.host))
    await cluster.add_pool(pool)
    await until(lambda: fault.hits)
    return await stage.begun(pool)


async def test_a_registry_that_fails_while_an_image_is_pushed(stage: Stage) -> None:
    cluster, registry = stage.cluster, stage.cluster.registry
    cut = registry.fault(method="PATCH", path="/blobs/uploads/", cut=True, count=1)
    await cluster.add_pool("cut")
    await cluster.until_built("cut")
    passing, lasting = {"busy": 429, "broken": 500, "gateway": 503}, {"denied": 403, "unknown": 401}
    faults = [
        registry.fault(method="PUT", path=f"/manifests/build-{pool}-", status=status, count=1)
        for pool, status in {**passing, **lasting}.items()
    ]
    for pool in (*lasting, *passing):
        await cluster.add_pool(pool)
    for pool in lasting:
        await cluster.until(pool, "PushDenied")
    for pool in passing:
        await cluster.until_built(pool)
        # Buildah itself waits after 429.
        attempt = "" if pool == "busy" else "-2"
        assert [tag[-2:] == attempt for tag in registry.images.tags(cluster.repository) if pool in tag] == [
            bool(attempt)
        ]
    other = {"registry.example.com": {"auth": "dTpw"}}
    await cluster.secret("push", {"auths": {**registry.auths("pusher")["auths"], **other}})
    for pool in lasting:
        await cluster.until_built(pool)
    assert [fault.hits for fault in (cut, *faults)] == [1] * 6


async def test_a_registry_that_is_away_is_waited_for_and_one_that_refuses_is_told_before_a_build_begins(
    stage: Stage,
) -> None:
    cluster, registry = stage.cluster, stage.cluster.registry
    with registry.down():
        await cluster.add_pool("worker")
        await cluster.until("worker", "Retrying")
        await cluster.until("worker", "RegistryUnavailable", text="4 of 4")
    await cluster.patch("worker", {"metadata": {"annotations": {"machineconfiguration.openshift.io/rebuild": "now"}}})
    await cluster.until_built("worker")
    await cluster.secret("push", registry.auths("puller"))
    await cluster.add_pool("infra")
    assert "push" in await cluster.until("infra", "PushDenied")
    assert stage.builds is not None
    assert stage.builds.states("infra") == ()
    await cluster.secret("push", registry.auths("pusher"))
    await cluster.until_built("infra")


async def test_a_builder_that_is_killed_begins_again_and_counts_as_no_attempt(stage: Stage) -> None:
    name = await held(stage)
    for pid in buildah(name):
        os.kill(pid, signal.SIGKILL)
    stage.cluster.registry.clear_faults()
    await stage.cluster.until_built("worker")
    assert name in stage.cluster.registry.images.tags(stage.cluster.repository)


async def test_a_secret_that_is_rotated_in_mid_build_stops_nothing_and_is_used_for_the_push(
    stage: Stage,
) -> None:
    cluster, registry = stage.cluster, stage.cluster.registry
    name = await held(stage)
    registry.add_user("pusher", User("renewed"))
    try:
        await cluster.secret("push", registry.auths("pusher"))
        await cluster.add_pool("later")
        await cluster.until_built("later")
        assert await stage.begun("worker") == name
        registry.clear_faults()
        await cluster.until_built("worker")
        assert not registry.requests(user="nobody"), "the credentials are read again before the push"
    finally:
        registry.add_user("pusher", User("s3cret"))


async def test_a_builder_that_hangs_is_ended_at_its_deadline(cluster: Cluster, tmp_path: Path) -> None:
    await cluster.configure(BackendName.LOCAL)
    cluster.registry.fault(path="os/base/manifests", hang=True)
    async with at_work(cluster, folder=tmp_path, deadlines=Deadlines(build=1.5)) as stage:
        await cluster.add_pool("worker")
        name = await stage.begun("worker")
        await cluster.until("worker", "DeadlineExceeded")
        assert buildah(name) == []


def buildah(name: str) -> list[int]:
    """The processes that build this; its keeper is none of them."""
    return [pid for pid, line in command_lines().items() if name in line and "_keeper.py " not in line]
