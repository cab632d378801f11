"""The page names in its head whatever its first picture needs, so that a browser fetches all of that at once."""

import re
from collections.abc import Iterator

import pytest
from aiohttp import ClientSession, CookieJar

from tests.unit.web.serving import OURS, a_view, browsing, serving
from windlass.web.assets import assets, indexes

VIEWS = {name: a_view(name) for name in OURS}
SCRIPTS = {name: asset.plain.decode() for name, asset in assets(VIEWS.values()).items() if name.endswith(".js")}


def imported(script: str) -> Iterator[str]:
    """The scripts that a script imports, and those that they import."""
    for name in re.findall(r'^import .* from "\./(.+)";$', SCRIPTS[script], re.MULTILINE):
        yield name
        yield from imported(name)


def ahead(page: str) -> list[str]:
    """What a page has its browser fetch."""
    return re.findall(r'<link rel="(?:module)?preload" href="([^"]+)"', page)


@pytest.mark.parametrize("view", VIEWS)
def test_every_script_of_a_view_is_fetched_ahead_and_no_other_view(view: str) -> None:
    found = ahead(indexes(VIEWS.values())[view].plain.decode())
    needed = {f"{view}.js", *imported(f"{view}.js"), *imported("page.js")}
    assert {f"/static/{name}" for name in needed} <= set(found)
    assert {f"/static/{other}.js" for other in VIEWS if other != view}.isdisjoint(found)
    assert {"/api/session", f"/api/views/{view}/document?since="} <= set(found)


def test_what_is_fetched_ahead_is_there() -> None:
    for view in VIEWS:
        scripts = [
            path.removeprefix("/static/")
            for path in ahead(indexes(VIEWS.values())[view].plain.decode())
            if "js" in path
        ]
        assert set(scripts) <= SCRIPTS.keys()


async def test_a_page_without_a_name_begins_with_the_overview_unless_there_is_one_view() -> None:
    async with serving(a_view("first", document={}), a_view("second", document={})) as link, browsing(link) as me:
        for path, view in (("/", "overview"), ("/first", "first"), ("/second", "second")):
            async with me.get(path) as answer:
                assert f"/api/views/{view}/document?since=" in ahead(await answer.text())
    async with serving(a_view("only", document={})) as link, browsing(link) as me:
        async with me.get("/") as answer:
            assert "/api/views/only/document?since=" in ahead(await answer.text())
        async with me.get("/overview") as answer:
            assert answer.status == 404


async def test_strangers_fetch_no_view_ahead() -> None:
    """The browser would keep the refusal, and show it once they are let in."""
    async with serving(a_view(document={})) as link:
        base = link.partition("/?")[0]
        for path in ("/", "/things", "/?key=wrong"):
            async with ClientSession() as session, session.get(base + path) as answer:
                page = await answer.text()
            assert not [path for path in ahead(page) if "views" in path or "things" in path], path
            assert "{view}" not in page


async def test_the_link_brings_the_page_itself_and_no_browser_keeps_it() -> None:
    """A copy would be shown again without the cookie."""
    async with serving(a_view(document={})) as link, ClientSession(cookie_jar=CookieJar(unsafe=True)) as me:
        async with me.get(link) as answer:
            assert "/api/views/things/document?since=" in ahead(await answer.text())
            assert answer.headers["Cache-Control"] == "no-store"
        async with me.get(link.partition("?")[0]) as answer:
            assert answer.headers["Cache-Control"] == "no-cache"
