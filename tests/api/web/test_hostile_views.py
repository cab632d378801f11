"""Texts that try to be more than texts, and fleets: in the views of OpenStack and OS images, and on the first page."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.api.web.conftest import OpenTab, Watched
from tests.api.web.live import open_all, until_state
from tests.api.web.screens import WIDE
from tests.api.web.shown import views
from tests.browser import require_browser
from tests.unit.web.examples import clouds_document, clouds_objects, pools_document
from tests.unit.web.hostile import HOSTILE, TURNING
from tests.unit.web.serving import serving
from windlass.web.brief import Need, brief

require_browser()

pytestmark = pytest.mark.asyncio(loop_scope="module")

TEXTS = (*HOSTILE, TURNING)


def hostile(document: dict[str, Any], *parts: str) -> dict[str, Any]:
    """Each of `parts` once for each text, which is in all its words."""
    found = dict(document)
    for part in parts:
        row = next(value for key, value in document.items() if key.startswith(f"{part}/"))
        for number, text in enumerate(TEXTS):
            found[f"{part}/x/{number}"] = worded(row, text)
    needs = [Need(text, "bad", text) for text in TEXTS[:5]]
    return {**found, "brief": brief(TURNING, needs), "troubles": [*TEXTS]}


def worded(value: Any, text: str) -> Any:
    if isinstance(value, str):
        return value if value in ("bad", "warn", "busy", "good", "calm") else text
    if isinstance(value, dict):
        return {key: worded(each, text) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(worded(each, text) for each in value)
    if hasattr(value, "__struct_fields__"):
        return replace(value, **{name: worded(getattr(value, name), text) for name in value.__struct_fields__})
    return value


@pytest.mark.parametrize("name", ["openstack", "os-build", "overview"])
async def test_hostile_texts_are_inert_in_every_view(tab: OpenTab, watched: Watched, name: str) -> None:
    documents = {
        "openstack": hostile(clouds_document(), "cluster", "machine", "server", "pool", "trouble", "quota"),
        "os-build": hostile(pools_document(), "pool", "build"),
    }
    async with serving(*views(documents)) as link:
        base, _, key = link.partition("/?")
        page = await tab(f"{base}/{name}?{key}", viewport={"width": 360, "height": 800})
        await until_state(page, "Live")
        await page.locator("main h1").wait_for()
        await open_all(page)
        for text in TEXTS[:5]:
            assert await page.evaluate("text => document.body.textContent.includes(text)", text.strip()), text
        assert await page.evaluate("window.harm") is None
        assert await page.locator("main img, main script, main iframe, main svg, main style, main form").count() == 0
        assert await page.locator("main a[href^='javascript'], main a[target]").count() == 0
        assert await page.evaluate(WIDE) == []
        turning = "() => /[\\u0007\\u001b\\u202e\\u2066]/.test(document.body.textContent)"
        assert await page.evaluate(turning) is False
        assert [url for url in watched.asked if not url.startswith(base + "/")] == []
    assert watched.complaints == []


async def test_a_thousand_machines_can_be_found_and_a_change_of_one_draws_one(tab: OpenTab) -> None:
    async with serving(*views({"openstack": clouds_document(clouds_objects(1000))})) as link:
        page = await tab(link)
        await until_state(page, "Live")
        rows = page.locator("#machine tbody tr")
        await rows.nth(1003).wait_for()
        assert await rows.count() == 1004
        # What is not in order stands first.
        assert "Needs somebody" in await rows.first.inner_text()
        await page.get_by_label("Filter").fill("one-workers-777")
        assert await rows.count() == 1
        await page.get_by_label("Filter").fill("")
        await page.get_by_label("Only what is not in order").check()
        assert await rows.count() == 4
        assert await page.locator("#machine h2").inner_text() == "Machines (4 of 1004)"
