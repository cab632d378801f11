"""The view of machines in a real browser, with names as clouds give them."""

import pytest

from tests.api.web.conftest import OpenTab, Watched
from tests.api.web.live import until_state
from tests.api.web.screens import CONTRAST, UNNAMED, WIDE
from tests.api.web.shown import ROWS, WHY
from tests.browser import require_browser
from tests.unit.web.serving import a_view, serving
from windlass.web.view import View

require_browser()

pytestmark = pytest.mark.asyncio(loop_scope="module")


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
