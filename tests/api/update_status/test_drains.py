"""A drain that a PodDisruptionBudget holds, on a real API server: the object and the command name the cause."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.program import ALONE
from tests.waiting import eventually
from windlass.api.core import Namespace, Pod
from windlass.api.policy import PodDisruptionBudget
from windlass.api.update import UPDATE_STATUS, UpdateStatus
from windlass.capability.planning import ClusterListing, plan_of
from windlass.capability.planning.decider import about_first_watch
from windlass.kube.client import Client
from windlass.kube.control.plan import MergeItems
from windlass.kube.errors import NotFound
from windlass.kube.verbs import PatchType
from windlass.testing.updates import PlayedCluster
from windlass.update_status.assessment import assess
from windlass.update_status.controller.declare import update_status_controller
from windlass.update_status.reading.live import read_live

from .conftest import SMALL
from .keeper import keeping, until_status

pytestmark = pytest.mark.plane

TARGET, NODE, SHOP = "4.16.1", "worker-0", "held-shop"
WAITING = {"name": "c", "image": "none", "imageID": "", "ready": False, "restartCount": 0}
BROKEN = {**WAITING, "state": {"waiting": {"reason": "ImagePullBackOff", "message": "not found"}}}
HELD = (
    f"Pod {SHOP}/broken cannot pull its image, so PodDisruptionBudget shop does not allow the eviction of "
    f"Pod {SHOP}/shop on node {NODE}"
)


async def put(admin: Client, name: str, node: str, status: dict[str, Any]) -> None:
    metadata = {"name": name, "labels": {"app": "shop"}}
    spec: dict[str, Any] = {"nodeName": node, "containers": [{"name": "c", "image": "none"}]}
    await admin.create(Pod, {"metadata": metadata, "spec": spec}, namespace=SHOP)
    await admin.patch(Pod, name, {"status": status}, type=PatchType.MERGE, namespace=SHOP, subresource="status")


@pytest.fixture
async def drain(admin: Client, cluster: PlayedCluster) -> AsyncIterator[asyncio.Future[None]]:
    """A node drains, and its budget waits for a Pod elsewhere; nobody but this test counts Pods."""
    await admin.create(Namespace, {"metadata": {"name": SHOP}})
    await put(admin, "shop", NODE, {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]})
    await put(admin, "broken", "worker-1", {"phase": "Pending", "containerStatuses": [BROKEN]})
    selector = {"minAvailable": 1, "selector": {"matchLabels": {"app": "shop"}}}
    made = await admin.create(PodDisruptionBudget, {"metadata": {"name": "shop"}, "spec": selector}, namespace=SHOP)
    counted = {"currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 2, "disruptionsAllowed": 0}
    status = {**counted, "observedGeneration": made.decode().metadata.generation}
    how: dict[str, Any] = {"type": PatchType.MERGE, "namespace": SHOP, "subresource": "status"}
    await admin.patch(PodDisruptionBudget, "shop", {"status": status}, **how)
    played = PlayedCluster(admin, SMALL, pace=0, patience=0)
    await played.cvo.start(TARGET)
    await played.mco.render(TARGET)
    await played.mco.node(NODE).prepare(SMALL.pool("worker").rendered(TARGET))
    draining = asyncio.ensure_future(played.mco.node(NODE).drain())
    yield draining
    draining.cancel()
    with suppress(NotFound):
        await admin.delete(PodDisruptionBudget, "shop", namespace=SHOP)
    for pod in (await admin.list(Pod, namespace=SHOP)).items:
        await admin.evict(Pod, pod.name, namespace=SHOP, uid=pod.uid, grace_seconds=0)
    await admin.delete(Namespace, SHOP)


async def planned(admin: Client) -> list[str]:
    """The causes in the status that a plan would write."""
    cluster_listing = ClusterListing(admin)
    decider = about_first_watch(update_status_controller(cluster_listing))
    await cluster_listing.take([decider])
    plan = await plan_of(decider, UPDATE_STATUS, cluster_listing, now=datetime.now(UTC))
    written = [one.desired["status"] for one in plan.actions if isinstance(one, MergeItems) and one.part == "status"]
    return [cause["summary"] for status in written for cause in status.get("causes", [])]


async def no_alerts(host: str) -> bytes:
    """Of a Route that another test may have left."""
    return b'{"status": "success", "data": {"alerts": []}}'


async def test_the_pod_that_keeps_a_budget_from_allowing_a_drain_is_named(
    admin: Client, account: Path, drain: asyncio.Future[None], tmp_path: Path
) -> None:
    # A plan names it before any controller has looked.
    await admin.create(UpdateStatus, {"metadata": {"name": UPDATE_STATUS}, "spec": {}})
    await eventually(lambda: planned(admin), lambda found: found == [HELD], what="the cause in a plan")
    async with keeping(account, tmp_path, *ALONE):
        found = await until_status(admin, lambda found: found.causes, "a cause")
        (cause,) = found.causes
        assert (cause.type, cause.level, cause.summary) == ("ImagePull", "Error", HELD)
        assert [one.name for one in cause.affected] == [NODE]
        assert not [gap for gap in found.gaps if "drain" in gap]
        reading = await read_live(admin, metadata=admin.metadata, alerts=no_alerts, clock=time.time_ns, steps=True)
        assert [one.summary for one in assess(reading.sources, now=reading.now).causes] == [HELD]
        assert not drain.done()
        await admin.delete(PodDisruptionBudget, "shop", namespace=SHOP)
        await drain
        await until_status(admin, lambda found: found.overview and not found.causes, "no cause")
