"""Every view is accessible: axe-core finds no violation, in light and dark, on a desk and on a telephone.

axe-core judges roles, names, contrast, headings, landmarks and more; it comes with `axe-playwright-python`. Our own
`screens` looks for what it does not judge: a page that has to be scrolled sideways.
"""

from typing import Any

import pytest

from tests.api.web.conftest import OpenTab, Watched
from tests.api.web.live import open_all, until_state
from tests.api.web.screens import CONTRAST, UNNAMED, WIDE
from tests.api.web.shown import TITLES, documents, empty, views
from tests.browser import require_browser
from tests.unit.web.serving import serving

require_browser()

pytestmark = pytest.mark.asyncio(loop_scope="module")

SCREENS = {"desk": {"width": 1280, "height": 800}, "telephone": {"width": 360, "height": 800}}


async def violations(page: Any) -> list[str]:
    """What axe-core finds, one line each."""
    from axe_playwright_python.async_playwright import Axe

    found = (await Axe().run(page)).response
    assert len(found["passes"]) > 10, "axe-core has looked"
    return [
        f"{each['id']}: {each['help']}: {node['html'][:160]}" for each in found["violations"] for node in each["nodes"]
    ]


async def until_whole(page: Any) -> None:
    await page.locator("main h1").wait_for()
    await page.locator("main [aria-busy]").wait_for(state="detached")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("name", TITLES)
async def test_axe_finds_nothing_in_any_view(
    tab: OpenTab, watched: Watched, name: str, screen: str, scheme: str
) -> None:
    async with serving(*views(documents())) as link:
        page = await tab(link, color_scheme=scheme, viewport=SCREENS[screen], reduced_motion="reduce")
        await page.get_by_role("link", name=TITLES[name], exact=True).first.click()
        await until_whole(page)
        await open_all(page)
        assert await violations(page) == []
        for what in (WIDE, CONTRAST, UNNAMED):
            assert await page.evaluate(what) == []
    assert watched.complaints == []


@pytest.mark.parametrize("screen", SCREENS)
async def test_axe_finds_nothing_where_there_is_nothing_to_show(tab: OpenTab, screen: str) -> None:
    async with serving(*views(empty())) as link:
        page = await tab(link, viewport=SCREENS[screen], reduced_motion="reduce")
        for name in ("overview", *empty()):
            await page.get_by_role("link", name=TITLES[name], exact=True).first.click()
            await until_whole(page)
            assert await violations(page) == [], name
            assert await page.evaluate(WIDE) == [], name


@pytest.mark.parametrize("name", ["openstack", "os-build"])
async def test_a_view_that_has_not_been_read_does_not_say_that_there_is_nothing(tab: OpenTab, name: str) -> None:
    async with serving(*views({name: {"troubles": ["the API server does not answer"]}})) as link:
        page = await tab(link)
        await page.get_by_text("The cluster is being read.").wait_for()
        assert "There " not in await page.inner_text("main")
        assert await violations(page) == []


async def test_axe_would_find_something(tab: OpenTab) -> None:
    """A page with a fault that people would meet is no page without violations."""
    async with serving(*views(documents())) as link:
        page = await tab(link)
        await until_state(page, "Live")
        await page.evaluate("document.querySelector('main').append(document.createElement('button'))")
        assert [each.partition(":")[0] for each in await violations(page)] == ["button-name"]
