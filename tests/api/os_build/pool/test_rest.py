"""What a pool costs: nothing at rest, also after a restart, and few writes and requests for an image."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.api.os_build.pool.cluster import Cluster
from tests.api.os_build.pool.process import USER, running
from tests.api.os_build.pool.stage import HANDS, at_work, digest
from tests.program import ALONE
from windlass.os_build.constants import IMAGE, IMAGE_ALIAS, IMAGE_CONFIG, IMAGE_INPUTS
from windlass.os_build.identity import inputs_of
from windlass.os_build.inputs.context import ApplyBy
from windlass.os_build.pullspec import Target
from windlass.os_build.request import BackendName, Request
from windlass.testing import ControlPlane

POOLS = 50
PROBE = [("POST", 401), ("POST", 202), ("DELETE", 204)]
"""All that we ask a registry for one image: whether it wants credentials, an upload, and its end."""


@pytest.mark.parametrize(
    ("backend", "most"), [(BackendName.LOCAL, 5), (BackendName.OPENSHIFT, 10), (BackendName.JOB, 10)]
)
async def test_an_image_costs_few_writes_and_requests(
    cluster: Cluster, tmp_path: Path, backend: BackendName, most: int
) -> None:
    await cluster.configure(backend)
    hands = HANDS[backend](cluster)
    async with at_work(cluster, folder=tmp_path if backend == BackendName.LOCAL else None) as stage:
        await cluster.add_pool("worker")
        name = await stage.begun("worker")
        await hands.run(name)
        await cluster.until("worker", "BuildRunning")
        await hands.succeed(name)
        await cluster.until_built("worker")
        await cluster.until_left()
    writes = [each for each in stage.ours.sent if "Event" not in each]
    assert len(writes) <= most, writes
    asked = cluster.registry.requests(path=cluster.repository)
    probe = [each for each in asked if each.user_agent.startswith("windlass")]
    assert [(each.method, each.status) for each in probe] == PROBE


async def test_a_restart_with_many_built_pools_writes_builds_and_asks_nothing(
    operated: Cluster, build_plane: ControlPlane, account: Path, tmp_path: Path
) -> None:
    cluster = operated
    await cluster.configure(BackendName.OPENSHIFT)
    pools = [f"pool-{number}" for number in range(POOLS)]
    for pool in pools:
        await cluster.add_pool(pool)
        await cluster.patch(pool, {"metadata": {"annotations": recorded(cluster, pool)}})
    options: dict[str, Any] = {"registry": cluster.registry.host, "builds": None}
    async with running(account, tmp_path, *ALONE, **options):
        for pool in pools:
            await cluster.until_built(pool)
    before = sum(1 for _ in build_plane.audit.events(user=USER))
    cluster.registry.forget_requests()
    async with running(account, tmp_path, *ALONE, **options):
        # A pool that comes last is built last, so all others have been looked at.
        await cluster.add_pool("zlast")
        await cluster.until("zlast", "BuildPending")
        [build] = await cluster.builders()
    asked = [each for each in list(build_plane.audit.events(user=USER))[before:] if "objectRef" in each]
    counted = Counter(
        (each["verb"], each["objectRef"]["resource"])
        for each in asked
        if each["verb"] not in ("list", "watch") and each["objectRef"].get("name", "") not in ("zlast", build.name)
    )
    del counted["create", "events"]
    assert {key for key in counted if key[0] != "get"} == set()
    assert counted["get", "machineconfigs"] == 1, "that of the pool that is built"
    assert len(cluster.registry.requests()) == len(PROBE)


def recorded(cluster: Cluster, pool: str) -> dict[str, str]:
    """The annotations of a pool that has its image."""
    request = Request(
        pool=pool,
        config=f"rendered-{pool}-1",
        target=Target.parse(cluster.target),
        pull_secret="pull",
        push_secret="push",
    )
    image = f"{cluster.target}@{digest(pool)}"
    inputs = str(inputs_of(request, applied_by=ApplyBy.TREE))
    return {IMAGE: image, IMAGE_ALIAS: image, IMAGE_CONFIG: request.config, IMAGE_INPUTS: inputs}
