"""A whole update, played on a real API server, kept by Update status, and watched in a browser."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.update_status.keeper import install, keeping, our_kinds, records
from tests.api.web.conftest import OpenTab, Watched
from tests.browser import require_browser
from tests.program import ALONE
from tests.unit.web.serving import serving
from tests.waiting import eventually
from windlass.kube import config as connections
from windlass.kube.client import Client
from windlass.testing import BlockingAccess, crds
from windlass.testing.plane.pool import PlanePool
from windlass.testing.updates import Layout, PlayedCluster, Pool
from windlass.update_status.view.update import live_view

require_browser()

pytestmark = [pytest.mark.plane, pytest.mark.asyncio(loop_scope="module")]

SMALL = Layout(operators=("etcd", "machine-config"), pools=(Pool(name="master", nodes=1), Pool(name="worker", nodes=2)))


@pytest.fixture(scope="module")
def plane(windlass_planes: PlanePool) -> Iterator[BlockingAccess]:
    with our_kinds(windlass_planes, crds.documents(*crds.UPDATES)) as plane:
        yield plane


async def test_an_update_is_watched_from_its_beginning_to_its_end(
    tab: OpenTab, watched: Watched, plane: BlockingAccess, tmp_path: Path
) -> None:
    account = await asyncio.to_thread(install, plane)
    config = connections.load(kubeconfig=plane.kubeconfig())
    async with Client(config) as admin:
        cluster = PlayedCluster(admin, SMALL, pace=0.3)
        await cluster.install()
        async with (
            serving(live_view(admin), config=config) as link,
            keeping(account, tmp_path, *ALONE) as keeper,
        ):
            page = await tab(link)
            await page.get_by_role("heading", name="Not updating: 4.16.0").wait_for()
            steps = list(cluster.healthy_update("4.16.1"))
            await steps[0].play()
            await page.get_by_role("heading", name="Updating to 4.16.1").wait_for()
            for step in steps[1:]:
                await step.play()
            await page.get_by_role("heading", name="Not updating: 4.16.1").wait_for()
            await page.get_by_text("3 of 3").wait_for()
            [record] = await eventually(
                lambda: records(admin), lambda found: [one.state for one in found] == ["Completed"]
            )
            await page.locator("#timeline").get_by_text("under way").first.wait_for(state="detached")
            for kind, took in (("Operators", record.operators), ("Pools", record.pools), ("Nodes", record.nodes)):
                tracks = page.locator("#timeline details", has=page.locator("summary", has_text=kind))
                await tracks.evaluate("one => { one.open = true; }")
                await tracks.locator(".name").first.wait_for()
                shown = await tracks.locator(".name").all_inner_texts()
                assert sorted(shown) == sorted(one.name for one in took)
            await page.locator("#state", has_text="Live").wait_for()
            await keeper.kill()
            await page.locator("#state", has_text="Not current").wait_for(timeout=90_000)
            await page.get_by_text("nobody keeps the UpdateStatus up to date").wait_for()
            # Whoever looks may read the cluster, and so does the page from then on.
            await page.get_by_text("Read from the cluster itself").wait_for(timeout=90_000)
            await page.locator("#state", has_text="Live").wait_for()
            await page.get_by_role("heading", name="Not updating: 4.16.1").wait_for()
    assert watched.complaints == []
