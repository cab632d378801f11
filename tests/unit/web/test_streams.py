"""What open pages hear, and when."""

import asyncio
import gzip
from contextlib import AsyncExitStack

import pytest
from aiohttp import ClientSession, web

from tests.unit.web.hearing import following
from tests.unit.web.serving import a_view, browsing, serving
from tests.waiting import eventually, until
from windlass.kube.process.guard import Ruling
from windlass.kube.process.serving import serve
from windlass.web import streams
from windlass.web.access import HomeAccess, Visitor
from windlass.web.board import Board
from windlass.web.streams import Streams
from windlass.web.view import View


class Published:
    """A view whose board the test has."""

    def __init__(self) -> None:
        self.board: asyncio.Future[Board] = asyncio.get_running_loop().create_future()
        self.view = a_view(document={"a": 1}, publish=self._keep)

    async def _keep(self, board: Board) -> None:
        self.board.set_result(board)


async def test_a_page_hears_of_each_change() -> None:
    published = Published()
    async with serving(published.view) as link, browsing(link) as me, following(me) as heard:
        board = await published.board
        first = await heard.next("change")
        assert (first["whole"], first["parts"]) == (True, {"a": 1})
        board.show({"a": 1, "b": 2})
        assert (await heard.next("change"))["parts"] == {"b": 2}
        board.show({"b": 2})
        assert (await heard.next("change"))["gone"] == ["a"]


async def test_a_page_that_was_away_hears_only_what_it_missed() -> None:
    published = Published()
    async with serving(published.view) as link, browsing(link) as me:
        board = await published.board
        async with me.get("/api/views/things/document") as answer:
            stamp = (await answer.json())["stamp"]
        board.show({"a": 1, "b": 2})
        async with following(me, since=stamp) as heard:
            told = await heard.next("change")
        assert (told["whole"], told["parts"]) == (False, {"b": 2})


async def test_quick_changes_come_together() -> None:
    published = Published()
    async with serving(published.view) as link, browsing(link) as me, following(me) as heard:
        board = await published.board
        await heard.next("change")
        for number in range(100):
            board.show({"a": number})
            await asyncio.sleep(0)
        seen = [await heard.next("change")]
        while seen[-1]["parts"] != {"a": 99}:
            seen.append(await heard.next("change"))
        assert len(seen) <= 3


async def test_a_page_is_told_the_time_and_that_the_server_lives() -> None:
    published = Published()
    async with serving(published.view, beat=0.05) as link, browsing(link) as me, following(me) as heard:
        beats = [(await heard.next("beat"))["now"] for _ in range(3)]
        assert beats == sorted(set(beats))


async def test_open_streams_do_not_hold_up_the_end() -> None:
    async with AsyncExitStack() as server, AsyncExitStack() as page:
        link = await server.enter_async_context(serving(Published().view))
        me = await page.enter_async_context(browsing(link))
        heard = await page.enter_async_context(following(me))
        await heard.next("change")
        ending = asyncio.create_task(heard.next("end"))
        await server.aclose()
        assert (await ending)["status"] == 503


class UntilItIsGone(HomeAccess):
    """A page may see the view at first, and when that is asked again, not before the page is gone."""

    def visitor(self, request: web.Request) -> Visitor:
        self._transport = request.transport
        return Visitor("me")

    async def may(self, visitor: Visitor, view: View) -> Ruling:
        if not self._asked:
            self._asked = True
            return Ruling(200, user=visitor.user)
        await until(lambda: self._transport is None or self._transport.is_closing())
        return Ruling(401)

    _asked = False


async def test_a_page_that_is_gone_is_not_told_that_its_session_ended(caplog: pytest.LogCaptureFixture) -> None:
    access, view, board = UntilItIsGone("me"), a_view(), Board()
    open_pages = Streams(access)

    async def follow(request: web.Request) -> web.StreamResponse:
        async def pick() -> Board:
            await open_pages.allow(request, view)
            return board

        return await open_pages.follow(request, pick)

    app = web.Application()
    app.router.add_get("/", follow)
    async with serve(app, host="127.0.0.1", port=0) as url:
        async with ClientSession() as page, page.get(url) as answer:
            assert answer.status == 200
            answer.close()
        await until(lambda: open_pages.count == 0)
    assert [record.message for record in caplog.records] == []


async def test_a_document_is_compressed_for_who_can_read_that() -> None:
    view = a_view(document={f"node/{number}": {"name": f"node-{number}"} for number in range(500)})
    async with serving(view) as link, browsing(link) as me:
        cookies = me.cookie_jar
        async with ClientSession(link.partition("/?")[0], cookie_jar=cookies, auto_decompress=False) as raw:
            answers = [
                await raw.get("/api/views/things/document", headers={"Accept-Encoding": form})
                for form in ("identity", "gzip")
            ]
            plain, packed = [await answer.read() for answer in answers]
    assert len(packed) * 4 < len(plain)
    assert gzip.decompress(packed) == plain


async def test_each_page_gets_what_it_missed_however_many_ask_for_compressed_documents() -> None:
    published = Published()
    async with serving(published.view) as link, browsing(link) as me:
        board = await published.board

        async def parts(since: str) -> set[str]:
            async with me.get("/api/views/things/document", params={"since": since}) as answer:
                assert answer.headers["Content-Encoding"] == "gzip"
                return {*(await answer.json())["parts"]}

        before = board.stamp
        more = {f"node/{number}": "x" * 50 for number in range(100)}
        board.show({"a": 1, **more})
        assert await parts("") == {"a", *more}
        assert await parts(before) == {*more}
        assert await parts("") == {"a", *more}


async def test_a_page_that_reads_nothing_is_given_up_and_its_place_is_free_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "STUCK", 0.2)
    monkeypatch.setattr(streams, "MOST", 1)
    published = Published()
    async with serving(published.view) as link, browsing(link) as stuck, browsing(link) as other:
        board = await published.board

        async def opened() -> int:
            async with other.get("/api/views/things/changes") as answer:
                return answer.status

        async with stuck.get("/api/views/things/changes"):
            assert await opened() == 503
            # More than the kernel keeps for a reader that does not come.
            board.show({"a": "x" * 40_000_000})
            assert await eventually(opened, lambda status: status == 200, within=20) == 200
