"""The page in a real browser: what it shows, how it follows, and what no text of a cluster can make it do."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest

from tests.api.web.conftest import OpenTab, Watched
from tests.browser import require_browser
from tests.shared import fixtures
from tests.unit.web.hostile import HOSTILE, hostile_document
from tests.unit.web.serving import Front, a_view, serving
from windlass.update_status.as_tree import tree
from windlass.update_status.assessment import assess
from windlass.update_status.reading import Reading
from windlass.update_status.reading.mock import read_mock
from windlass.update_status.times import of_datetime
from windlass.web.board import Board
from windlass.web.view import View
from windlass.web.views.update_status import parts, recorded_view

require_browser()

pytestmark = pytest.mark.asyncio(loop_scope="module")

CASES = (
    "4.14.1-degraded",
    "4.15.0-ec2-unavailable-mco-20m",
    "4.16.0-ec2-control-plane-updated-pdb-prohibits-draining",
    "not-upgrading",
)
LARGE = CASES[2]

CONTRAST = """() => {
  const linear = (c) => (c /= 255, c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !element.checkVisibility() || element.closest(".hidden, .skip, noscript, thead")) continue;
    const [a, b] = [light(parse(getComputedStyle(element).color)), light(behind(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) found.push(`${ratio.toFixed(2)} ${element.outerHTML.slice(0, 80)}`);
  }
  return found;
}"""

WIDE = """() => document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll("body *")]
  .filter((element) => element.checkVisibility() && element.getBoundingClientRect().right > innerWidth)
  .map((element) => `${element.tagName}.${element.className}: ${element.textContent.slice(0, 40)}`).slice(0, 12)"""

UNNAMED = """() => [...document.querySelectorAll("a, button, input, textarea, table, section")]
  .filter((element) => element.checkVisibility())
  .filter((element) => !(element.textContent.trim() || element.getAttribute("aria-label") || element.labels?.length))
  .map((element) => element.outerHTML.slice(0, 80))"""


@cache
def reading(name: str) -> Reading:
    path = fixtures("update_status") / f"{name}-cv.yaml"
    return read_mock(str(path), wall=of_datetime(datetime.now(UTC)))


@cache
def document_of(name: str) -> dict[str, Any]:
    """The document of a recorded cluster, as if it were live."""
    read = reading(name)
    return parts(assess(read.sources, now=read.now, wall=read.wall), [], now=read.now)


class Live:
    """A view of the update whose board the test has."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self.board: asyncio.Future[Board] = asyncio.get_running_loop().create_future()
        self.view: View = a_view("update-status", document=document, publish=self._keep)

    async def _keep(self, board: Board) -> None:
        self.board.set_result(board)

    async def show(self, **changed: Any) -> None:
        self.document = {**self.document, **changed}
        (await self.board).show(self.document)


@asynccontextmanager
async def live(name: str = "4.15.0-ec2-unavailable-mco-20m") -> AsyncIterator[tuple[Live, str]]:
    shown = Live({**document_of(name), "troubles": []})
    async with serving(shown.view) as link:
        yield shown, link


def state(page: Any) -> Any:
    return page.locator("#state")


async def until_state(page: Any, text: str) -> None:
    await page.locator("#state", has_text=text).wait_for()


async def open_all(page: Any) -> None:
    await page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")


@pytest.mark.parametrize("name", CASES)
async def test_the_page_shows_what_the_assessment_says(tab: OpenTab, watched: Watched, name: str) -> None:
    read = reading(name)
    report = assess(read.sources, now=read.now, wall=read.wall)
    said = tree(report, now=read.now)
    async with serving(recorded_view(read)) as link:
        page = await tab(link)
        await page.wait_for_selector("h1")
        await until_state(page, "Recorded")
        await open_all(page)

        heading = await page.inner_text("h1")
        assert said["controlPlane"]["versions"]["target"] in heading
        assert heading.startswith("Not updating") is not report.updating
        shown = await page.locator("#attention .summary strong").all_inner_texts()
        ranks = ["Critical", "Error", "Warning", "Info"]
        document = parts(report, [], now=read.now)
        troubles = [one for key, one in document.items() if key.startswith(("cause/", "insight/"))]
        assert len(troubles) == len(said["causes"]) + len(said["insights"])
        expected = [one for one in troubles if "under" not in one]
        expected.sort(key=lambda one: (ranks.index(one["level"]), not one.get("affected"), one["place"]))
        assert shown == [one["summary"] for one in expected]
        assert await page.locator("#attention .symptoms li").count() == len(troubles) - len(expected)

        operators = {row["name"]: row for row in await rows(page, "#operators tbody tr")}
        assert operators.keys() == {one["name"] for one in said["controlPlane"]["operators"]}
        for one in said["controlPlane"]["operators"]:
            assert one["state"] in operators[one["name"]]["cells"][0]
            assert (one["health"] in operators[one["name"]]["cells"][0]) is (one["health"] != "Healthy")

        for pool in said["pools"]:
            nodes = {row["name"]: row for row in await rows(page, f"[id='pool-{pool['name']}'] tbody tr")}
            assert nodes.keys() == {node["name"] for node in pool["nodes"]}
            for node in pool["nodes"]:
                assert node["phase"] in nodes[node["name"]]["cells"][0]
                assert (node["version"] or "") == nodes[node["name"]]["cells"][2]
    assert watched.complaints == []


async def rows(page: Any, selector: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = await page.eval_on_selector_all(
        selector,
        "rows => rows.map((row) => ({name: row.cells[0].textContent,"
        " cells: [...row.cells].slice(1).map((cell) => cell.textContent)}))",
    )
    return found


async def test_a_change_is_shown_within_a_second(tab: OpenTab) -> None:
    async with live() as (shown, link):
        page = await tab(link)
        await until_state(page, "Live")
        operator = shown.document["operator/machine-config"]
        began = time.monotonic()
        await shown.show(**{"operator/machine-config": {**operator, "message": "now this", "health": "Healthy"}})
        await page.get_by_text("now this").wait_for()
        assert time.monotonic() - began < 1.0


async def test_what_did_not_change_stays_as_the_reader_left_it(tab: OpenTab) -> None:
    """Open parts stay open, and the focus stays where it is."""
    async with live() as (shown, link):
        page = await tab(link)
        await until_state(page, "Live")
        opened = page.locator("#operators > details > summary")
        await opened.focus()
        await page.keyboard.press("Enter")
        operator = shown.document["operator/machine-config"]
        await shown.show(**{"operator/machine-config": {**operator, "healthMessage": "another text"}})
        await page.get_by_text("another text").first.wait_for()
        assert await page.evaluate("document.activeElement.matches('#operators > details[open] > summary')")


async def test_what_follows_from_a_cause_stands_under_it(tab: OpenTab) -> None:
    """An insight about a node that waits is no trouble of its own."""
    document = document_of(LARGE)
    followers = [key for key, part in document.items() if key.startswith("insight/") and part.get("pool")][:3]
    document |= {key: {**document[key], "under": "cause/a"} for key in followers}
    budget = {"group": "policy", "resource": "poddisruptionbudgets", "namespace": "ns", "name": "tight"}
    cause = {
        "type": "PodDisruptionBudget",
        "level": "Warning",
        "summary": "PodDisruptionBudget ns/tight allows no eviction",
        "description": "0 of 1 may be disrupted",
        "remedy": "Scale up, or relax the budget.",
        "started": "2024-02-27T15:00:00Z",
        "about": [budget],
        "affected": [document[key]["resources"][0] for key in followers],
        "place": 0,
    }
    shown = Live({**document, "cause/a": cause, "troubles": []})
    async with serving(shown.view) as link:
        page = await tab(link)
        await until_state(page, "Live")
        troubles = await page.locator("#attention > ul > li > .summary strong").all_inner_texts()
        assert cause["summary"] in troubles
        alone = [
            key for key, part in document.items() if key.startswith(("cause/", "insight/")) and "under" not in part
        ]
        assert len(troubles) == len(alone) + 1
        under = page.locator("#attention > ul > li").filter(has_text="ns/tight")
        await under.locator(".waiting > summary").click()
        assert await under.locator(".symptoms li").count() == 3
        assert "Scale up" in await under.inner_text()


async def test_ends_are_expected_in_a_range(tab: OpenTab) -> None:
    document = document_of("4.15.0-ec2-unavailable-mco-20m")
    end = {"earliest": "2023-11-24T16:00:00Z", "latest": "2023-11-24T16:20:00Z", "basis": "3 nodes of this update"}
    update = {**document["update"], "controlPlane": {**document["update"]["controlPlane"], "expectedEnd": end}}
    pool = {**document["pool/worker"], "expectedEnd": {**end, "latest": "2023-11-24T17:30:00Z"}}
    moment = {"now": "2023-11-24T15:48:28Z"}
    shown = Live({**document, "update": update, "pool/worker": pool, "clock": moment, "troubles": []})
    async with serving(shown.view) as link:
        page = await tab(link)
        await page.get_by_text("16:00\N{EN DASH}16:20").wait_for()
        await page.get_by_text("16:00\N{EN DASH}17:30").wait_for()
        assert await page.get_by_title("3 nodes of this update").count() == 2


async def test_links_to_parts_of_the_page_leave_everything_as_it_is(tab: OpenTab) -> None:
    async with live() as (_, link):
        page = await tab(link)
        await until_state(page, "Live")
        await page.locator("#operators > details > summary").click()
        await page.get_by_role("link", name="Control plane").click()
        await page.go_back()
        assert await page.locator("#operators > details[open]").count() == 1


async def test_a_page_that_lost_the_server_says_so_and_catches_up(tab: OpenTab) -> None:
    async with live() as (shown, link), Front(link) as front:
        page = await tab(front.link)
        await until_state(page, "Live")
        await front.cut()
        await until_state(page, "Not current")
        assert await page.locator("#operators").count() == 1, "what was known stays"
        plane = shown.document["update"]["controlPlane"]
        versions = {**plane["versions"], "target": "4.99.0"}
        await shown.show(update={**shown.document["update"], "controlPlane": {**plane, "versions": versions}})
        await front.mend()
        await page.get_by_role("heading", name="4.99.0").wait_for()
        await until_state(page, "Live")


async def test_a_hidden_page_closes_its_stream_and_catches_up(tab: OpenTab) -> None:
    async with live() as (shown, link):
        page = await tab(link)
        await until_state(page, "Live")
        hide = """(hidden) => {
          Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
          document.dispatchEvent(new Event("visibilitychange"));
        }"""
        async with page.expect_event("requestfailed", lambda request: "/changes" in request.url):
            await page.evaluate(hide, True)
        await until_state(page, "Paused")
        await shown.show(troubles=["while you were away"])
        await page.evaluate(hide, False)
        await page.get_by_role("alert").get_by_text("while you were away").wait_for()


async def test_without_the_key_the_page_says_what_to_do(tab: OpenTab) -> None:
    async with live() as (_, link):
        page = await tab(link.partition("?")[0])
        await page.get_by_text("open the link that").wait_for()
        assert await page.locator("textarea").count() == 0


async def test_the_key_is_not_left_in_the_address(tab: OpenTab) -> None:
    async with live() as (_, link):
        page = await tab(link)
        await until_state(page, "Live")
        assert "key" not in page.url


async def test_control_9_hostile_texts_are_inert(tab: OpenTab, watched: Watched) -> None:
    async with serving(a_view("update-status", document=hostile_document())) as link:
        page = await tab(link, viewport={"width": 360, "height": 800})
        await until_state(page, "Live")
        await open_all(page)
        for text in HOSTILE:
            assert await page.evaluate("text => document.body.textContent.includes(text)", text.strip()), text
        assert await page.evaluate("window.harm") is None
        assert await page.locator("main img, main script, main iframe, main svg, main style, main form").count() == 0
        links = await page.eval_on_selector_all(
            "main a[target]",
            "links => links.map((one) => [one.protocol, one.rel, one.querySelector('.host').textContent])",
        )
        assert links
        assert {tuple(one[:2]) for one in links} == {("https:", "noopener noreferrer")}
        assert {one[2] for one in links} == {"evil.example"}
        assert await page.evaluate(WIDE) == []
        turning = "() => /[\\u0007\\u001b\\u202e\\u2066]/.test(document.body.textContent)"
        assert await page.evaluate(turning) is False
        base = link.partition("/?")[0]
        assert [url for url in watched.asked if not url.startswith(base + "/")] == []
    assert watched.complaints == []


async def test_nothing_is_asked_of_others_and_nothing_runs_that_the_page_did_not_bring(
    tab: OpenTab, watched: Watched
) -> None:
    async with live(LARGE) as (_, link):
        page = await tab(link)
        await until_state(page, "Live")
        base = link.partition("/?")[0]
        assert [url for url in watched.asked if not url.startswith(base + "/")] == []
        with pytest.raises(Exception, match="TrustedHTML"):
            await page.evaluate("document.createElement('div').innerHTML = '<b>x</b>'")


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
