"""The scenarios that the first builder of the Machine Config Operator was tested with, on a real API server.

Builds and Jobs are played step by step, Jobs by the real job controller; on this machine buildah really builds.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.api.os_build.pool.cluster import Cluster
from tests.api.os_build.pool.stage import HANDS, Hands, Stage, at_work, digest
from windlass.os_build.request import BackendName

OPENSHIFT, JOB, LOCAL = BackendName.OPENSHIFT, BackendName.JOB, BackendName.LOCAL
in_the_cluster = pytest.mark.parametrize("backend", [OPENSHIFT, JOB])
everywhere = pytest.mark.parametrize("backend", [OPENSHIFT, JOB, LOCAL])


@pytest.fixture
async def stage(cluster: Cluster, backend: BackendName, tmp_path: Path) -> AsyncIterator[Stage]:
    await cluster.configure(backend)
    async with at_work(cluster, folder=tmp_path if backend == LOCAL else None) as stage:
        yield stage


@pytest.fixture
def hands(cluster: Cluster, backend: BackendName) -> Hands:
    return HANDS[backend](cluster)


@in_the_cluster
async def test_a2_the_pool_follows_its_build_from_waiting_to_the_image(stage: Stage, hands: Hands) -> None:
    cluster = stage.cluster
    await cluster.add_pool("worker")
    name = await stage.begun("worker")
    await cluster.until("worker", "BuildPending", text=name)
    await hands.run(name)
    await cluster.until("worker", "BuildRunning", text=name)
    await hands.succeed(name)
    assert await cluster.until_built("worker") == f"{cluster.target}@{digest(name)}"
    await cluster.until_left()
