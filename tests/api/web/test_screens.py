"""The page on screens of all sizes, by keyboard and by ear."""

import pytest

from tests.api.web.conftest import OpenTab
from tests.api.web.live import LARGE, live, open_all, until_state
from tests.api.web.screens import CONTRAST, UNNAMED, WIDE
from tests.browser import require_browser

require_browser()

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
async def test_it_can_be_read_on_any_screen(tab: OpenTab, scheme: str, width: int) -> None:
    async with live(LARGE) as (_, link):
        page = await tab(link, color_scheme=scheme, viewport={"width": width, "height": 800})
        await until_state(page, "Live")
        await open_all(page)
        assert await page.evaluate(WIDE) == []
        assert await page.evaluate(CONTRAST) == []
        ground = await page.evaluate("getComputedStyle(document.body).backgroundColor")
        brightness = sum(int(part) for part in ground[4:-1].split(",")) / 3
        assert (brightness > 128) is (scheme == "light")


async def test_everything_can_be_reached_by_keyboard(tab: OpenTab) -> None:
    async with live() as (_, link):
        page = await tab(link)
        await until_state(page, "Live")
        await page.keyboard.press("Tab")
        assert await page.evaluate("document.activeElement.textContent") == "Skip to content"
        await page.keyboard.press("Enter")
        await page.keyboard.press("Tab")
        assert await page.evaluate("Boolean(document.activeElement.closest('main'))")
        everything = "main a, main summary, main button"
        there = await page.eval_on_selector_all(everything, "all => all.filter((one) => one.checkVisibility()).length")
        reached = 0
        while await page.evaluate("Boolean(document.activeElement.closest('main'))"):
            reached += 1
            outline = await page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert outline != "none", "the focus can be seen"
            await page.keyboard.press("Tab")
        assert reached == there


async def test_everything_has_a_name_for_screen_readers(tab: OpenTab) -> None:
    async with live(LARGE) as (_, link):
        page = await tab(link, viewport={"width": 360, "height": 800})
        await until_state(page, "Live")
        await open_all(page)
        assert await page.evaluate(UNNAMED) == []
        heard = await page.locator("body").aria_snapshot()
    # Narrow screens show blocks, which are still tables.
    for line in (
        '- table "Operators that are updated and healthy"',
        "columnheader",
        "rowheader",
        '- navigation "Views"',
        '- list "Progress"',
        '- heading "Needs attention" [level=2]',
        "- status: Live",
    ):
        assert line in heard, heard[:3000]


async def test_bars_are_seen_where_the_system_chooses_the_colours(tab: OpenTab) -> None:
    async with live() as (_, link):
        page = await tab(link, forced_colors="active")
        await until_state(page, "Live")
        colours = """() => [...document.querySelectorAll(".progress .bar span")]
          .map((one) => getComputedStyle(one).backgroundColor)"""
        assert len(set(await page.evaluate(colours))) > 1
