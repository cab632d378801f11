"""The page in a cluster: signing in, sessions, and rights that end."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, CookieJar, TCPConnector
from msgspec import structs

from tests.unit.web.hearing import following
from tests.unit.web.reviews import Reviews
from tests.unit.web.serving import a_view, certificate, serving
from tests.waiting import eventually
from windlass.api.authorization import ResourceAttributes
from windlass.kube.errors import ConfigError
from windlass.web.access import LONGEST_TOKEN
from windlass.web.board import Board
from windlass.web.streams import MOST_OF_ONE
from windlass.web.view import Personal

THINGS = ResourceAttributes(verb="get", group="example.com", resource="things")
OTHERS = ResourceAttributes(verb="list", group="example.com", resource="others")
DOCUMENT = {"thing/a": 1}


class Served:
    """The page of a cluster with two views, each behind a right of its own."""

    def __init__(self, base: str, reviews: Reviews) -> None:
        self.base = base
        self.reviews = reviews

    @asynccontextmanager
    async def somebody(self) -> AsyncIterator[ClientSession]:
        """A browser that accepts the certificate."""
        trusting = ssl.create_default_context()
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        connector = TCPConnector(ssl=trusting)
        async with ClientSession(self.base, connector=connector, cookie_jar=CookieJar(unsafe=True)) as session:
            yield session

    async def sign_in(self, session: ClientSession, token: str, *, origin: str | None = None) -> tuple[int, str]:
        headers = {"Origin": self.base if origin is None else origin}
        async with session.post("/api/session", json={"token": token}, headers=headers) as answer:
            return answer.status, (await answer.json())["error"] if answer.status != 204 else ""

    @asynccontextmanager
    async def as_holder(self, token: str) -> AsyncIterator[ClientSession]:
        async with self.somebody() as session:
            assert await self.sign_in(session, token) == (204, "")
            yield session


@pytest.fixture
def reviews() -> Reviews:
    return Reviews()


@pytest.fixture
async def served(reviews: Reviews, tmp_path: Path) -> AsyncIterator[Served]:
    views = (a_view(document=DOCUMENT, rule=THINGS), a_view("others", document=DOCUMENT, rule=OTHERS))
    quick: dict[str, Any] = {"beat": 0.05, "remember": 0.1}
    async with (
        reviews.serve() as config,
        serving(*views, config=config, tls=certificate(tmp_path), **quick) as base,
    ):
        yield Served(base, reviews)


async def status(session: ClientSession, path: str = "/api/views/things/document") -> int:
    async with session.get(path) as answer:
        return answer.status


async def test_a_token_opens_what_its_holder_may_see(served: Served) -> None:
    async with served.as_holder("t-bob") as bob:
        async with bob.get("/api/session") as answer:
            told = await answer.json()
        assert told["user"] == "bob"
        allowed = {"overview": True, "things": False, "others": True}
        assert {view["name"]: view["allowed"] for view in told["views"]} == allowed
        assert await status(bob, "/api/views/others/document") == 200
        for path in ("document", "changes", "details"):
            assert await status(bob, f"/api/views/things/{path}") == 403


async def seen_on_the_first_page(me: ClientSession) -> set[str]:
    async with me.get("/api/views/overview/document") as answer:
        assert answer.status == 200, await answer.text()
        return set((await answer.json())["parts"])


async def test_the_first_page_tells_nothing_of_a_view_that_somebody_may_not_see(served: Served) -> None:
    async with served.as_holder("t-bob") as bob, served.as_holder("t-ann") as ann:
        assert await seen_on_the_first_page(bob) == {"view/others"}
        assert await seen_on_the_first_page(ann) == {"view/things", "view/others"}
        assert await status(ann, "/api/views/overview/details") == 404


async def test_the_first_page_follows_rights_that_end(served: Served) -> None:
    async with served.as_holder("t-ann") as ann, following(ann, view="overview") as heard:
        assert set((await heard.next("change"))["parts"]) == {"view/things", "view/others"}
        served.reviews.may.remove(("ann", "things"))
        told = await heard.next("change")
        assert (told["whole"], set(told["parts"])) == (True, {"view/others"})
        served.reviews.may.remove(("ann", "others"))
        assert (await heard.next("end"))["status"] == 403


async def test_the_first_page_is_not_emptied_while_rights_cannot_be_asked_for(served: Served) -> None:
    async with served.as_holder("t-ann") as ann, following(ann, view="overview") as heard:
        assert set((await heard.next("change"))["parts"]) == {"view/things", "view/others"}
        served.reviews.away = True
        assert (await heard.next("end"))["status"] == 503


async def test_the_cookie_is_out_of_reach_and_holds_no_token(served: Served) -> None:
    async with served.somebody() as session:
        headers = {"Origin": served.base}
        async with session.post("/api/session", json={"token": "t-ann"}, headers=headers) as answer:
            cookie = answer.headers["Set-Cookie"]
    assert "t-ann" not in cookie
    parts = {part.strip() for part in cookie.split(";")}
    assert {"HttpOnly", "Secure", "SameSite=Strict", "Path=/"} <= parts
    assert cookie.startswith("__Host-"), "browsers refuse it from another host, or without TLS"


@pytest.mark.parametrize("token", ["", "stranger", "x" * (LONGEST_TOKEN + 1), "t-ann\r\nX: y", "\N{BULLET}" * 3])
async def test_what_is_no_token_opens_nothing(served: Served, token: str) -> None:
    async with served.somebody() as session:
        answered, why = await served.sign_in(session, token)
        assert answered == 401
        assert token not in why or not token
        assert await status(session) == 401


async def test_who_may_see_nothing_is_told_which_right_they_lack(served: Served) -> None:
    async with served.somebody() as session:
        answered, why = await served.sign_in(session, "t-eve")
        assert (answered, "eve may not" in why, "ask an administrator" in why) == (403, True, True)
        assert await status(session) == 401


@pytest.mark.parametrize(
    "origin", ["", "null", "https://evil.example", "https://127.0.0.1:1", "http://HERE", "https://me@HERE"]
)
async def test_other_sites_sign_nobody_in_or_out(served: Served, origin: str) -> None:
    origin = origin.replace("HERE", served.base.removeprefix("https://"))
    async with served.as_holder("t-ann") as ann:
        assert (await served.sign_in(ann, "t-bob", origin=origin))[0] == 403
        async with ann.delete("/api/session", headers={"Origin": origin}) as answer:
            assert answer.status == 403
        assert await status(ann) == 200


async def test_signing_out_ends_the_session_and_not_only_the_cookie(served: Served) -> None:
    async with served.as_holder("t-ann") as ann:
        [cookie] = [one.value for one in ann.cookie_jar]
        async with ann.delete("/api/session", headers={"Origin": served.base}) as answer:
            assert answer.status == 204
        async with ann.get("/api/views/things/document", cookies={"__Host-windlass": cookie}) as answer:
            assert answer.status == 401


async def test_signing_in_again_ends_the_session_before(served: Served) -> None:
    async with served.as_holder("t-bob") as session:
        [before] = [one.value for one in session.cookie_jar]
        assert await served.sign_in(session, "t-ann") == (204, "")
        async with served.somebody() as other:
            cookies = {"__Host-windlass": before}
            async with other.get("/api/views/others/document", cookies=cookies) as answer:
                assert answer.status == 401


async def test_an_open_stream_ends_with_the_right(served: Served) -> None:
    async with served.as_holder("t-ann") as ann, following(ann) as heard:
        await heard.next("change")
        served.reviews.may.discard(("ann", "things"))
        ended = await heard.next("end")
        assert ended["status"] == 403
        assert "ann may not get things.example.com" in ended["why"]


async def test_an_open_stream_ends_with_the_token(served: Served) -> None:
    async with served.as_holder("t-ann") as ann, following(ann) as heard:
        await heard.next("change")
        del served.reviews.users["t-ann"]
        assert (await heard.next("end"))["status"] == 401


async def test_an_open_stream_ends_with_the_session(served: Served) -> None:
    async with served.as_holder("t-ann") as ann, following(ann) as heard:
        await heard.next("change")
        async with ann.delete("/api/session", headers={"Origin": served.base}) as answer:
            assert answer.status == 204
        assert (await heard.next("end"))["status"] == 401


async def test_one_user_opens_many_pages_and_nobody_else_is_refused(served: Served) -> None:
    served.reviews.may.add(("bob", "things"))
    async with AsyncExitStack() as open_pages:
        for _ in range(2):  # sessions
            bob = await open_pages.enter_async_context(served.as_holder("t-bob"))
            for _ in range(MOST_OF_ONE // 2):
                heard = await open_pages.enter_async_context(following(bob))
                await heard.next("change")
        async with bob.get("/api/views/things/changes") as answer:
            assert answer.status == 429
            assert (await answer.json())["error"] == f"bob has {MOST_OF_ONE} pages open already: close some"
        async with served.as_holder("t-ann") as ann, following(ann) as heard:
            await heard.next("change")
    async with served.as_holder("t-bob") as bob:

        async def opened() -> int:
            async with bob.get("/api/views/things/changes") as answer:
                return answer.status

        # The server hears of a page that was closed a moment later.
        assert await eventually(opened, lambda status: status == 200) == 200


async def test_while_the_api_server_is_away_nobody_is_signed_out(served: Served) -> None:
    """503 is not a refusal: the page keeps what it shows, and tries again."""
    async with served.as_holder("t-ann") as ann:
        async with following(ann) as heard:
            await heard.next("change")
            served.reviews.away = True
            assert (await heard.next("end"))["status"] == 503
        async with served.somebody() as other:
            assert (await served.sign_in(other, "t-bob"))[0] == 503
        served.reviews.away = False
        assert await eventually(lambda: status(ann), lambda found: found == 200)


async def test_rights_are_not_asked_for_with_each_request(served: Served) -> None:
    async with served.as_holder("t-ann") as ann:
        before = served.reviews.asked
        await asyncio.gather(*(status(ann) for _ in range(20)))
        assert served.reviews.asked - before <= 2


@pytest.mark.parametrize("body", [b"", b"[]", b'"x"', b'{"token": 1}', b"{", b"{}", b"[" * 60_000])
async def test_a_malformed_request_is_told_what_to_send(served: Served, body: bytes) -> None:
    async with served.somebody() as session:
        headers = {"Origin": served.base, "Content-Type": "application/json"}
        async with session.post("/api/session", data=body, headers=headers) as answer:
            assert answer.status == 400
            assert '{"token": "..."}' in (await answer.json())["error"]


async def test_a_huge_body_is_refused(served: Served) -> None:
    async with served.somebody() as session:
        assert (await served.sign_in(session, "x" * 200_000))[0] == 413


async def test_files_are_not_served_to_a_cluster(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="this machine alone"):
        async with serving(a_view(), tls=certificate(tmp_path)):
            pass


READ = ResourceAttributes(verb="list", group="example.com", resource="parts")


@asynccontextmanager
async def with_own(reviews: Reviews, folder: Path) -> AsyncIterator[Served]:
    """A view whose source has nothing to rely on: who may list others, reads them with a token of their own."""

    async def source(client: Any, board: Board) -> None:
        credential = await client.config.credentials.current()
        board.show({"read with": credential.authorization})
        await asyncio.Event().wait()

    view = structs.replace(
        a_view(document={"elsewhere": "no controller"}, rule=THINGS),
        personal=Personal(rule=(OTHERS,), differs=(READ,), source=source),
    )
    async with reviews.serve() as config:
        settings = {"tls": certificate(folder), "beat": 0.1, "remember": 0.2}
        async with serving(view, config=config, **settings) as base:
            yield Served(base, reviews)


async def seen(session: ClientSession) -> tuple[int, Any]:
    async with session.get("/api/views/things/document") as answer:
        found = await answer.json()
    return answer.status, found.get("parts", found)


async def test_who_may_only_read_for_themselves_signs_in_and_shares_with_those_who_may_the_same(
    reviews: Reviews, tmp_path: Path
) -> None:
    reviews.may = {("ann", "things"), ("ann", "others"), ("bob", "others"), ("bob", "parts")}
    async with with_own(reviews, tmp_path) as served:
        async with served.as_holder("t-bob") as bob:
            assert await seen(bob) == (200, {"read with": "Bearer t-bob"})
            async with served.as_holder("t-ann") as ann:
                assert await seen(ann) == (200, {"read with": "Bearer t-ann"}), "ann may not list parts"
                reviews.may.add(("ann", "parts"))
                await eventually(lambda: seen(ann), lambda found: found[1] == {"read with": "Bearer t-bob"})
        async with served.somebody() as eve:
            status, why = await served.sign_in(eve, "t-eve")
            assert (status, why) == (403, "eve may not get things.example.com: ask an administrator for that right")


async def test_who_may_see_what_is_published_and_read_nothing_sees_that(reviews: Reviews, tmp_path: Path) -> None:
    reviews.may = {("ann", "things")}
    async with with_own(reviews, tmp_path) as served, served.as_holder("t-ann") as ann:
        assert await seen(ann) == (200, {"elsewhere": "no controller"})


async def test_an_open_page_that_reads_for_itself_closes_with_the_right(reviews: Reviews, tmp_path: Path) -> None:
    reviews.may = {("bob", "others")}
    async with with_own(reviews, tmp_path) as served, served.as_holder("t-bob") as bob, following(bob) as heard:
        assert (await heard.next("change"))["parts"] == {"read with": "Bearer t-bob"}
        reviews.may.clear()
        assert (await heard.next("end"))["status"] == 403
