"""Probes over real HTTP: the words and the codes a kubelet and a person get."""

from collections.abc import AsyncIterator

import pytest
from aiohttp import ClientSession, web

from windlass.kube.errors import ConfigError
from windlass.kube.process.loopback import is_loopback
from windlass.kube.process.probes import answer, probe_routes
from windlass.kube.process.serving import serve


class Server:
    def __init__(self, url: str, session: ClientSession) -> None:
        self.ready: dict[str, str] = {"controllers": "", "cache/widgets.example.com@shop": ""}
        self.live: dict[str, str] = {"event-loop": ""}
        self.url, self.session = url, session

    async def get(self, path: str) -> tuple[int, str]:
        async with self.session.get(self.url + path) as response:
            return response.status, await response.text()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    app = web.Application()
    async with ClientSession() as session:
        server = Server("", session)
        app.add_routes(probe_routes(ready=lambda: server.ready, live=lambda: server.live))
        async with serve(app, host="127.0.0.1", port=0) as url:
            server.url = url
            yield server


async def test_a_well_process_says_ok(server: Server) -> None:
    for path in ("/healthz", "/livez", "/readyz"):
        assert await server.get(path) == (200, "ok")


async def test_what_is_not_ready_is_named_with_its_reason(server: Server) -> None:
    server.ready["cache/widgets.example.com@shop"] = "nothing heard for 90 s: watching"
    assert await server.get("/readyz") == (
        503,
        "[+]controllers ok\n"
        "[-]cache/widgets.example.com@shop failed: nothing heard for 90 s: watching\n"
        "readyz check failed\n",
    )
    assert await server.get("/healthz") == (200, "ok")


async def test_a_late_event_loop_fails_liveness(server: Server) -> None:
    server.live["event-loop"] = "the event loop was 7.2 s late (limit 5 s)"
    status, text = await server.get("/healthz")
    assert status == 503
    assert "[-]event-loop failed: the event loop was 7.2 s late" in text


async def test_verbose_lists_every_check(server: Server) -> None:
    status, text = await server.get("/readyz?verbose")
    assert status == 200
    assert text == "[+]controllers ok\n[+]cache/widgets.example.com@shop ok\nreadyz check passed\n"


async def test_one_check_can_be_asked_for_and_one_left_out(server: Server) -> None:
    server.ready["controllers"] = "waiting"
    assert (await server.get("/readyz/cache/widgets.example.com@shop"))[0] == 200
    assert (await server.get("/readyz/controllers"))[0] == 503
    assert (await server.get("/readyz?exclude=controllers"))[0] == 200
    status, text = await server.get("/readyz/nonsense")
    assert status == 404
    assert "there is: controllers" in text


async def test_an_address_in_use_is_refused_by_name(server: Server) -> None:
    port = int(server.url.rsplit(":", 1)[1])
    with pytest.raises(ConfigError, match=rf"cannot listen on 127.0.0.1:{port}.*choose another"):
        async with serve(web.Application(), host="127.0.0.1", port=port):
            raise AssertionError


def test_nothing_to_check_is_well() -> None:
    assert answer("readyz", {}) == (200, "ok")


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("example.com", False)],
)
def test_loopback_addresses_are_known(host: str, loopback: bool) -> None:
    assert is_loopback(host) == loopback
