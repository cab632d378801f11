"""The first page: made of what views say of themselves, and of those alone that somebody may see."""

import asyncio
from typing import Any

from aiohttp import ClientSession

from tests.unit.web.serving import a_view, browsing, serving
from tests.waiting import eventually
from windlass.web.board import Board
from windlass.web.brief import Need, brief
from windlass.web.overview import Overview

THINGS = {"thing/a": 1, "brief": brief("3 things", [Need("thing a is broken", "bad")]), "troubles": ["old"]}


async def overview(me: ClientSession) -> Any:
    async with me.get("/api/views/overview/document") as answer:
        assert answer.status == 200, await answer.text()
        return (await answer.json())["parts"]


async def test_each_view_stands_there_with_what_it_says_of_itself() -> None:
    views = (a_view(document=THINGS), a_view("others", document={"stale": "dead"}))
    async with serving(*views) as link, browsing(link) as me:
        found = await eventually(lambda: _both(me))
    things, others = found["view/things"], found["view/others"]
    assert things["brief"] == {
        "line": "3 things",
        "tone": "bad",
        "needs": [{"text": "thing a is broken", "tone": "bad"}],
        "more": 0,
    }
    assert (things["troubles"], things["title"], things["place"]) == (["old"], "Things", 0)
    assert (others["stale"], others["place"]) == ("dead", 1)
    assert "thing/a" not in found


async def _both(me: ClientSession) -> Any:
    found = await overview(me)
    return found if "brief" in found["view/things"] and "stale" in found["view/others"] else None


async def test_views_with_the_same_rights_share_a_document_and_others_do_not() -> None:
    boards = {"a": Board(), "b": Board()}
    found = Overview([a_view("a"), a_view("b")], boards)
    assert found.board(["a", "b"]) is found.board(["b", "a"])
    assert found.board(["a"]) is not found.board(["a", "b"])
    assert found.board(["a"]).stamp.partition(".")[0] != found.board(["a", "b"]).stamp.partition(".")[0]


async def test_the_first_page_hears_of_changes_and_of_nothing_else() -> None:
    boards = {"a": Board()}
    found = Overview([a_view("a")], boards)
    page = found.board(["a"])
    running = asyncio.create_task(found.run())
    try:
        stamp = page.stamp
        boards["a"].show({"row/1": 1, "brief": brief("1 row")})
        await asyncio.wait_for(page.newer_than(stamp), 20)
        stamp = page.stamp
        boards["a"].change({"row/1": 2})
        boards["a"].change({"brief": brief("2 rows")})
        await asyncio.wait_for(page.newer_than(stamp), 20)
        assert b"2 rows" in page.since("")
        assert b"row/1" not in page.since("")
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
