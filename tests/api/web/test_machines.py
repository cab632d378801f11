"""The view of machines in a real browser, with names as clouds give them."""

from typing import Any

import pytest

from tests.api.web.conftest import OpenTab, Watched
from tests.api.web.live import until_state
from tests.api.web.screens import CONTRAST, UNNAMED, WIDE
from tests.browser import require_browser
from tests.unit.web.serving import a_view, serving
from windlass.web.view import View

require_browser()

pytestmark = pytest.mark.asyncio(loop_scope="module")

CLUSTER = "prod-7xk2p-worker-us-east-2"
WHY = 'spec.nodeDrainTimeout: Invalid value: "1h": nodeDrainTimeout is not supported'


def a_row(name: str, kind: str = "Machine", **said: Any) -> dict[str, Any]:
    side: dict[str, Any] = {"phase": "Running", "node": f"ip-10-0-133-{len(name)}.us-east-2.compute.internal"}
    if kind == "MachineSet":
        side = {"replicas": {"desired": 3, "current": 3, "ready": 2}}
    return {
        "kind": kind,
        "name": name,
        "authority": "MachineAPI",
        "desiredAuthority": "MachineAPI",
        "machineAPI": side,
        "clusterAPI": side,
        "synchronized": {"status": "True", "reason": "ResourceSynchronized", "since": "2026-11-25T10:00:00Z"},
        **said,
    }


ROWS = (
    a_row(f"{CLUSTER}a-moves", authority="Migrating", desiredAuthority="ClusterAPI"),
    a_row(
        f"{CLUSTER}a-fails",
        synchronized={"status": "False", "reason": "FailedToConvert", "message": WHY, "since": "2026-11-25T10:00:00Z"},
    ),
    a_row(f"{CLUSTER}a-alone", machineAPI=None, synchronized=None),
    *(a_row(f"{CLUSTER}b-{number}") for number in range(5)),
    a_row(f"{CLUSTER}a", "MachineSet"),
)


def machines() -> View:
    return a_view("machine-sync", document={"troubles": [], **{f"{row['kind']}/{row['name']}": row for row in ROWS}})


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 800, 1153, 1280])
async def test_machines_can_be_read_on_any_screen(tab: OpenTab, scheme: str, width: int) -> None:
    async with serving(machines()) as link:
        page = await tab(link, color_scheme=scheme, viewport={"width": width, "height": 800})
        await until_state(page, "Live")
        assert await page.evaluate(WIDE) == []
        assert await page.evaluate(CONTRAST) == []
        assert await page.evaluate(UNNAMED) == []


async def test_what_moves_or_disagrees_stands_first_and_says_why(tab: OpenTab, watched: Watched) -> None:
    async with serving(machines()) as link:
        page = await tab(link)
        await until_state(page, "Live")
        rows = await page.locator("#Machine tbody tr").all_inner_texts()
        assert ["moving" in row for row in rows] == [False, True] + [False] * 6
        assert f"FailedToConvert: {WHY}" in rows[0]
        summary = "8 machines and 1 MachineSet · 1 not known to be in sync · authority of 1 moves"
        assert await page.get_by_text(summary).count() == 1
    assert watched.complaints == []
