"""The page in a real browser: what it shows, how it follows, and what no text of a cluster can make it do."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.api.web.conftest import OpenTab, Watched
from tests.api.web.live import LARGE, Live, document_of, live, open_all, reading, until_state
from tests.api.web.screens import WIDE
from tests.browser import require_browser
from tests.unit.web.hostile import HOSTILE, hostile_document
from tests.unit.web.serving import Front, a_view, serving
from windlass.update_status.as_tree import tree
from windlass.update_status.assessment import assess
from windlass.update_status.view.parts import parts
from windlass.update_status.view.update import recorded_view

require_browser()

pytestmark = pytest.mark.asyncio(loop_scope="module")

CASES = (
    "4.14.1-degraded",
    "4.15.0-ec2-unavailable-mco-20m",
    "4.16.0-ec2-control-plane-updated-pdb-prohibits-draining",
    "not-upgrading",
)


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

        headline = said["headline"]
        assert await page.inner_text("h1") == headline["text"]
        assert await page.inner_text(".verdict .why") == headline["why"]
        assert await page.locator(".verdict").get_attribute("data-tone") == headline["tone"]
        assert await page.title() == f"{headline['text']} \N{EN DASH} Windlass"
        shown = await page.locator("#attention .summary strong").all_inner_texts()
        ranks = ["Critical", "Error", "Warning", "Info"]
        document = parts(report, [], now=read.now)
        troubles = [one for key, one in document.items() if key.startswith(("cause/", "insight/"))]
        expected = [one for one in troubles if "under" not in one]
        expected.sort(
            key=lambda one: (
                0.5 if one.get("urgent") else ranks.index(one["level"]),
                not one.get("affected"),
                one["place"],
            )
        )
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
                state = node["phase"] if node["managed"] else "Not managed yet"
                assert state in nodes[node["name"]]["cells"][0]
                assert (node["version"] or "") == nodes[node["name"]]["cells"][2]
    assert watched.complaints == []


async def rows(page: Any, selector: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = await page.eval_on_selector_all(
        selector,
        "rows => rows.map((row) => ({name: row.cells[0].textContent,"
        " cells: [...row.cells].slice(1).map((cell) => cell.textContent)}))",
    )
    return found


async def test_a_colour_says_nothing_alone(tab: OpenTab) -> None:
    """Each bar that is red has its word beside it."""
    async with serving(recorded_view(reading("4.14.1-degraded"))) as link:
        page = await tab(link)
        await until_state(page, "Recorded")
        tracks = page.locator("#timeline li", has=page.locator("[data-tone=bad]"))
        words = await tracks.locator(".took").all_inner_texts()
        assert [text.rpartition(", ")[2] for text in words] == ["degraded"] * 4 + ["unavailable"]
        plane = page.locator(".progress li", has_text="Control plane")
        assert await plane.locator(".counts").inner_text() == "27 updated, 5 updated but unhealthy, 1 updating"


async def test_nothing_needs_attention_only_if_nothing_is_listed(tab: OpenTab) -> None:
    async with serving(recorded_view(reading("v-paused-custom-pool-one-draining"))) as link:
        page = await tab(link)
        await until_state(page, "Recorded")
        assert await page.locator(".facts div", has_text="Attention").inner_text() == "Attention\n1 info"


async def test_what_is_recorded_says_of_which_day_it_is(tab: OpenTab) -> None:
    async with serving(recorded_view(reading("4.14.1-degraded"))) as link:
        page = await tab(link)
        await until_state(page, "Recorded")
        assert await page.locator("#age").inner_text() == "at 3 Nov 2023 17:26:54 UTC"
        assert await page.locator("#age time").get_attribute("title") == "2023-11-03T17:26:54Z"


@pytest.mark.parametrize(
    ("zone", "shown"),
    [
        ("America/New_York", "at 3 Nov 2023 13:26:54 UTC-4"),
        ("Asia/Kathmandu", "at 3 Nov 2023 23:11:54 UTC+5:45"),
        ("Australia/Sydney", "at 4 Nov 2023 04:26:54 UTC+11"),
    ],
)
async def test_times_are_the_readers_and_name_their_zone(tab: OpenTab, zone: str, shown: str) -> None:
    async with serving(recorded_view(reading("4.14.1-degraded"))) as link:
        page = await tab(link, timezone_id=zone)
        await until_state(page, "Recorded")
        assert await page.locator("#age").inner_text() == shown
        assert await page.locator("#age time").get_attribute("title") == "2023-11-03T17:26:54Z"
        assert await page.locator("#timeline .zone").inner_text() == shown.rpartition(" ")[2]
        assert shown.rpartition(" ")[2] in await page.locator(".verdict .line").inner_text()


async def test_an_update_that_fails_is_red_with_the_sentence_of_its_operator(tab: OpenTab) -> None:
    async with serving(recorded_view(reading("4.14.1-degraded"))) as link:
        page = await tab(link)
        await until_state(page, "Recorded")
        first = page.locator("#attention > ul > li").first
        assert await first.get_attribute("data-tone") == "bad"
        assert await first.locator(".badge").inner_text() == "Failing"
        assert await first.locator(".reason").inner_text() == "Cluster operators etcd, kube-apiserver are degraded"


async def test_an_operator_that_waits_does_not_say_since_when_it_was_at_rest(tab: OpenTab) -> None:
    async with live("4.15.0-ec2-early") as (shown, link):
        waiting = [part for key, part in shown.document.items() if key.startswith("operator/")]
        started = shown.document["update"]["controlPlane"]["started"]
        old = [one["name"] for one in waiting if one["state"] == "Pending" and one["since"] < started]
        assert old
        page = await tab(link)
        await until_state(page, "Live")
        rows = page.locator("#operators tbody tr", has_text="Pending")
        for name in old[:3]:
            row = rows.filter(has=page.get_by_role("rowheader", name=name, exact=True))
            assert await row.locator("td.since").inner_text() == ""
            assert "AsExpected" not in await row.inner_text()


async def test_nothing_needs_attention_is_said_only_while_the_page_is_current(tab: OpenTab) -> None:
    document = {key: part for key, part in document_of("not-upgrading").items() if not key.startswith("insight/")}
    shown = Live({**document, "troubles": []})
    async with serving(shown.view) as link, Front(link) as front:
        page = await tab(front.link)
        await until_state(page, "Live")
        attention = page.locator(".facts div", has_text="Attention")
        assert await attention.inner_text() == "Attention\nnothing"
        await shown.show(stale="nobody keeps it")
        await until_state(page, "Not current")
        await page.locator(".facts").get_by_text("not known").wait_for()
        shown.document.pop("stale")
        await shown.show()
        await until_state(page, "Live")
        await front.cut()
        await until_state(page, "Not current")
        after = "() => getComputedStyle(document.querySelector('.facts .ok'), '::after').content"
        assert await page.evaluate(after) == '" when last seen"'


async def test_a_page_without_a_report_says_why(tab: OpenTab) -> None:
    async with serving(a_view("update-status", document={"problem": {"text": "hosted"}, "troubles": []})) as link:
        page = await tab(link)
        await page.get_by_role("heading", name="Nothing is known of an update").wait_for()
        await page.get_by_text("hosted").wait_for()


async def test_a_change_is_shown_without_a_reload(tab: OpenTab) -> None:
    async with live() as (shown, link):
        page = await tab(link)
        await until_state(page, "Live")
        operator = shown.document["operator/machine-config"]
        await shown.show(**{"operator/machine-config": {**operator, "message": "now this", "health": "Healthy"}})
        await page.get_by_text("now this").wait_for()


async def test_how_old_it_is_does_not_depend_on_when_somebody_looks(tab: OpenTab) -> None:
    async with live() as (shown, link):
        page = await tab(link)
        hour_ago = datetime.now(UTC) - timedelta(hours=1, minutes=1)
        await shown.show(changed={"at": hour_ago.isoformat()})
        await page.get_by_text("changed 1h1m").wait_for()


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
    followers = [key for key, part in document.items() if key.startswith("insight/") and part.get("pool")]
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
        reports = under.locator(".symptoms > li")
        assert await reports.count() == len(followers) > 1
        assert await reports.get_by_role("link", name="What to do").count() == len(followers)
        assert "Scale up" in await under.inner_text()
        # It stays open, with the focus, when something else changes and when it changes itself.
        await shown.show(**{"cause/b": {**cause, "summary": "another one", "about": [], "remedy": "", "place": 1}})
        await page.get_by_text("another one").wait_for()
        await shown.show(**{"cause/a": {**cause, "remedy": "Only relax it."}})
        await under.get_by_text("Only relax it.").wait_for()
        assert await reports.first.is_visible()
        assert await page.evaluate("document.activeElement.matches('.waiting[open] > summary')")


@pytest.mark.parametrize(("number", "stand_open"), [(2, True), (61, False)])
async def test_nodes_under_way_stand_open_in_the_timeline_unless_there_are_many(
    tab: OpenTab, number: int, stand_open: bool
) -> None:
    started = datetime.now(UTC).isoformat()
    took = {f"took/node/n-{place}": {"name": f"n-{place}", "started": started} for place in range(number)}
    record = {"name": "a", "target": "4.16.1", "state": "Progressing", "started": started}
    shown = Live({**document_of(LARGE), **took, "record": record, "troubles": []})
    async with serving(shown.view) as link:
        page = await tab(link)
        await until_state(page, "Live")
        nodes = page.locator("#timeline details", has_text=f"Nodes: 0 updated, {number} under way")
        assert await nodes.evaluate("one => one.open") is stand_open
        assert await nodes.locator("li").count() == (number if stand_open else 0)
        if not stand_open:
            await nodes.locator("summary").click()
            await nodes.locator("li").nth(number - 1).wait_for()


async def test_ends_are_expected_in_a_range(tab: OpenTab) -> None:
    document = document_of("4.15.0-ec2-unavailable-mco-20m")
    end = {"earliest": "2023-11-24T16:00:00Z", "latest": "2023-11-24T16:20:00Z", "basis": "3 nodes of this update"}
    update = {**document["update"], "controlPlane": {**document["update"]["controlPlane"], "expectedEnd": end}}
    pool = {**document["pool/worker"], "expectedEnd": {**end, "latest": "2023-11-24T17:30:00Z"}}
    moment = {"now": "2023-11-24T15:48:28Z"}
    shown = Live({**document, "update": update, "pool/worker": pool, "clock": moment, "troubles": []})
    async with serving(shown.view) as link:
        page = await tab(link)
        await page.get_by_text("16:00\N{EN DASH}16:20 UTC").wait_for()
        await page.get_by_text("16:00\N{EN DASH}17:30 UTC").wait_for()
        assert await page.get_by_title("3 nodes of this update").count() == 2


async def test_names_stand_as_people_sort_them_and_times_have_a_day_unless_it_is_today(tab: OpenTab) -> None:
    async with live() as (_, link):
        page = await tab(link)
        names = "names => import('/static/dom.js').then(({ compare }) => names.sort(compare))"
        shuffled = ["worker-10", "worker-2", "etcd", "worker-2a", "", "worker-02"]
        assert await page.evaluate(names, shuffled) == ["", "etcd", "worker-2", "worker-02", "worker-2a", "worker-10"]
        times = """moments => import('/static/time.js').then(({ clock, freeze }) => {
          freeze("2024-02-28T12:00:00Z");
          return moments.map((moment) => clock(moment));
        })"""
        moments = ["2024-02-28T01:02:03Z", "2024-02-27T23:59:59Z", "2023-02-28T01:02:03Z", "soon"]
        assert await page.evaluate(times, moments) == ["01:02:03", "27 Feb 23:59:59", "28 Feb 2023 01:02:03", "soon"]


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
        headline = {"text": "Updating to 4.99.0", "why": "", "tone": "busy"}
        await shown.show(update={**shown.document["update"], "headline": headline})
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


async def test_a_first_visit_asks_for_everything_once_and_for_the_update_before_any_script_runs(
    tab: OpenTab, watched: Watched
) -> None:
    async with live() as (_, link):
        page = await tab(link)
        await until_state(page, "Live")
        asked = Counter(url for url in watched.asked if "icon" not in url)
        assert set(asked.values()) == {1}
        begun = """() => Object.fromEntries(performance.getEntriesByType("resource").map((one) =>
          [new URL(one.name).pathname, [one.startTime, one.responseEnd]]))"""
        times = await page.evaluate(begun)
        assert times["/api/views/update-status/document"][0] < times["/static/page.js"][1]


async def test_a_link_that_another_site_has_opens_the_page(tab: OpenTab) -> None:
    """The cookie is for this site alone, and no navigation of theirs brings it."""
    async with live() as (_, link), serving(a_view()) as elsewhere:
        page = await tab(elsewhere.replace("127.0.0.1", "localhost"))
        await page.evaluate("link => { location.href = link; }", link)
        await until_state(page, "Live")
        await page.reload()
        await until_state(page, "Live")


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
