"""The page on one's own machine: who gets in, and what each answer forbids the browser."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import ClientSession, CookieJar

from tests.unit.web.serving import a_view, browsing, serving
from windlass.kube.errors import ConfigError
from windlass.web.app import HEADERS

DOCUMENT = {"thing/a": {"text": "<script>alert(1)</script>"}, "troubles": []}
ASKED = ("/api/session", "/api/views/things/document", "/api/views/things/changes", "/api/views/things/details")
OTHERS = ("evil.example", "127.0.0.1.evil.example", "169.254.1.1", "[fe80::1]", "localhost.evil", "[")
"""Names of other sites, and what is no name."""
PATHS = ("/", "/things", "/nothing", "/static/page.js", "/static/../app.py", "/static/none", *ASKED)


@pytest.fixture
async def link() -> AsyncIterator[str]:
    async with serving(a_view(document=DOCUMENT)) as link:
        yield link


@pytest.fixture
def base(link: str) -> str:
    return link.partition("/?")[0]


async def asked(url: str, **settings: Any) -> tuple[int, str]:
    """By somebody who was never here."""
    async with ClientSession() as session, session.get(url, **settings) as answer:
        return answer.status, await answer.text()


async def test_the_link_opens_the_page(link: str) -> None:
    async with browsing(link) as me:
        async with me.get("/api/session") as answer:
            told = await answer.json()
        assert told["views"] == [{"name": "things", "title": "Things", "allowed": True}]
        async with me.get("/api/views/things/document") as answer:
            assert (await answer.json())["parts"] == DOCUMENT


@pytest.mark.parametrize("path", ASKED)
@pytest.mark.parametrize("key", ["", "?key=", "?key=wrong"])
async def test_strangers_learn_nothing(base: str, path: str, key: str) -> None:
    status, text = await asked(base + path + key)
    assert status == 401
    assert "open the link" in json.loads(text)["error"]


@pytest.mark.parametrize("path", ASKED)
async def test_the_key_opens_the_page_and_nothing_else(link: str, base: str, path: str) -> None:
    """So it is in no URL that a script asks for."""
    key = link.rpartition("=")[2]
    assert (await asked(f"{base}{path}?key={key}"))[0] == 401


@pytest.mark.parametrize("key", ["", "wrong"])
async def test_another_key_opens_nothing(base: str, key: str) -> None:
    async with ClientSession(base, cookie_jar=CookieJar(unsafe=True)) as session:
        await session.get("/", params={"key": key})
        async with session.get("/api/session") as answer:
            assert answer.status == 401


async def test_the_cookie_is_not_the_key_and_no_script_reads_it(link: str, base: str) -> None:
    async with ClientSession() as session, session.get(link) as answer:
        cookie = answer.headers["Set-Cookie"]
    assert link.rpartition("=")[2] not in cookie
    assert f"windlass_{base.rpartition(':')[2]}=" in cookie
    assert {"HttpOnly", "SameSite=Strict"} <= {part.strip() for part in cookie.split(";")}


@pytest.mark.parametrize("host", OTHERS)
async def test_a_name_of_another_site_reaches_nothing(link: str, base: str, host: str) -> None:
    """Whatever resolves to 127.0.0.1 in a browser is sent as Host."""
    async with browsing(link) as me:
        for path in ("/", "/static/page.js", *ASKED):
            async with me.get(path, headers={"Host": host}) as answer:
                assert answer.status in (400, 421), path


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]"])
async def test_names_of_this_machine_are_answered_through_any_port(base: str, name: str) -> None:
    """ssh -L gives the page another port."""
    status, text = await asked(f"{base}/", headers={"Host": f"{name}:9999"})
    assert (status, "<!doctype html>" in text) == (200, True)


@pytest.mark.parametrize("path", PATHS)
async def test_every_answer_forbids_the_same(base: str, path: str) -> None:
    async with ClientSession() as session, session.get(base + path) as answer:
        assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
        assert "Server" not in answer.headers
    assert "unsafe" not in HEADERS["Content-Security-Policy"]


async def test_only_files_of_the_page_are_served(base: str) -> None:
    for path in ("/static/%2e%2e%2fapp.py", "/static/..%2f..%2fboard.py", "/static/", "/static/page.css.gz"):
        assert (await asked(base + path))[0] == 404


async def test_a_script_is_sent_once(base: str) -> None:
    async with ClientSession(base) as session:
        async with session.get("/static/page.js") as answer:
            tag = answer.headers["ETag"]
        async with session.get("/static/page.js", headers={"If-None-Match": tag}) as answer:
            assert (answer.status, await answer.read()) == (304, b"")


async def test_nobody_signs_in_at_home(link: str, base: str) -> None:
    async with browsing(link) as me, me.post("/api/session", json={"token": "x"}, headers={"Origin": base}) as answer:
        assert answer.status == 404


async def test_a_view_that_does_not_exist_is_not_found(link: str) -> None:
    async with browsing(link) as me:
        for path in ("/api/views/none/document", "/none", "/api/views/things/details"):
            async with me.get(path) as answer:
                assert answer.status == 404, path


async def test_without_tls_only_this_machine_is_served() -> None:
    with pytest.raises(ConfigError, match="--tls-cert"):
        async with serving(a_view(), host="0.0.0.0"):
            pass
