"""Requests through proxies that connect, with TLS to the API server inside."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from tests.unit.kube.http_script import Listener, Script, json
from windlass.kube.client.transport import Transport
from windlass.kube.config import ClusterConfig, Tls
from windlass.kube.errors import Fenced, TransportError

from .tls import AUTHORITY, tls_server

PRIVATE = "https://api.behind.the.proxy:6443"


class Proxy(Listener):
    """An HTTP and SOCKS5 proxy on loopback. It leads each connection to `port`, and keeps where it was to lead."""

    def __init__(self, port: int, *, login: bytes = b"", refusal: int = 0) -> None:
        super().__init__()
        self.asked: list[str] = []
        self._behind = port
        self._login = login
        self._refusal = refusal

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                if await (self._socks if await reader.readexactly(1) == b"\x05" else self._http)(reader, writer):
                    await self._lead(reader, writer)
        finally:
            writer.close()

    async def _http(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        self.asked.append(head.split(b" ")[1].decode())
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        return True

    async def _socks(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        methods = await reader.readexactly((await reader.readexactly(1))[0])
        wanted = 2 if self._login else 0
        writer.write(bytes([5, wanted if wanted in methods else 255]))
        if wanted not in methods:
            return False
        if self._login:
            right = await reader.readexactly(len(self._login)) == self._login
            writer.write(bytes([1, not right]))
            if not right:
                return False
        form = (await reader.readexactly(4))[3]
        host = await reader.readexactly({1: 4, 4: 16}.get(form) or (await reader.readexactly(1))[0])
        port = int.from_bytes(await reader.readexactly(2), "big")
        self.asked.append(f"{host.decode() if form == 3 else '.'.join(map(str, host))}:{port}")
        writer.write(bytes([5, self._refusal, 0, 1, 127, 0, 0, 1, 0, 80]))
        return not self._refusal

    async def _lead(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, here = await asyncio.open_connection("127.0.0.1", self._behind)
        try:
            await asyncio.gather(_carry(reader, here), _carry(there, writer))
        finally:
            here.close()


async def _carry(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while piece := await source.read(2**16):
        target.write(piece)
    target.close()


@pytest.fixture
async def api() -> AsyncIterator[Script]:
    async with Script(tls=tls_server("named")) as script:
        script.then(json(200, {}), json(200, {}))
        yield script


def behind(proxy: str, *, server: str = PRIVATE) -> ClusterConfig:
    return ClusterConfig(server=server, tls=Tls(authority=AUTHORITY, server_name="api.windlass.test"), proxy=proxy)


@pytest.mark.parametrize("scheme", ["http", "socks5", "socks5h"])
async def test_the_server_is_recognised_by_its_tls_server_name_behind_a_proxy(api: Script, scheme: str) -> None:
    async with Proxy(api.port) as proxy, Transport(behind(f"{scheme}://127.0.0.1:{proxy.port}")) as transport:
        await transport.exchange("GET", "/a")
        await transport.exchange("GET", "/b")
    assert [(each.path, each.connection) for each in api.requests] == [("/a", 1), ("/b", 1)]
    assert proxy.asked == ["api.behind.the.proxy:6443"]


async def test_a_socks_proxy_is_given_addresses_as_they_are(api: Script) -> None:
    async with Proxy(api.port) as proxy:
        config = behind(f"socks5://localhost:{proxy.port}", server="https://192.0.2.7:6443")
        async with Transport(config) as transport:
            await transport.exchange("GET", "/a")
    assert proxy.asked == ["192.0.2.7:6443"]


async def test_name_and_password_of_a_socks_proxy_stand_in_its_url(api: Script) -> None:
    async with Proxy(api.port, login=b"\x01\x02me\x03p@w") as proxy:
        async with Transport(behind(f"socks5://me:p%40w@127.0.0.1:{proxy.port}")) as transport:
            await transport.exchange("GET", "/a")
        async with Transport(behind(f"socks5://me:bad@127.0.0.1:{proxy.port}")) as transport:
            with pytest.raises(TransportError, match="through the proxy: it refuses this name and password"):
                await transport.exchange("GET", "/a")
        async with Transport(behind(f"socks5://127.0.0.1:{proxy.port}")) as transport:
            with pytest.raises(TransportError, match="it wants another way to log in") as caught:
                await transport.exchange("GET", "/a")
    assert "bad" not in str(caught.value)


async def test_what_a_socks_proxy_refuses_is_said_and_was_not_sent(api: Script) -> None:
    async with Proxy(api.port, refusal=4) as proxy, Transport(behind(f"socks5://127.0.0.1:{proxy.port}")) as transport:
        with pytest.raises(TransportError, match=r"api.behind.the.proxy:6443: the host cannot be reached") as caught:
            await transport.exchange("PATCH", "/a", body=b"{}")
    assert not caught.value.unknown_outcome


async def test_a_socks_proxy_that_is_not_there_is_named_as_the_cause() -> None:
    async with Script() as gone:
        port = gone.port
    async with Transport(behind(f"socks5://127.0.0.1:{port}")) as transport:
        with pytest.raises(
            TransportError, match=r"cannot connect through the proxy: Connect call failed \('127.0.0.1'"
        ):
            await transport.exchange("GET", "/a")


async def test_a_server_that_is_no_socks_proxy_is_said_to_be_none() -> None:
    def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as web:
        port = web.sockets[0].getsockname()[1]
        async with Transport(behind(f"socks5://127.0.0.1:{port}")) as transport:
            with pytest.raises(TransportError, match="through the proxy: it is no SOCKS5 proxy"):
                await transport.exchange("GET", "/a")


@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_the_fence_is_asked_again_when_the_bytes_leave_through_a_proxy(api: Script, scheme: str) -> None:
    class Once:
        longest_write = 30.0
        asked = 0

        def gate(self, seconds: float) -> None:
            self.asked += 1
            if self.asked > 1:
                raise Fenced("the lease has run out")

    async with Proxy(api.port) as proxy:
        config = behind(f"{scheme}://127.0.0.1:{proxy.port}")
        async with Transport(config, fence=Once()) as transport:
            with pytest.raises(Fenced):
                await transport.exchange("PATCH", "/a", body=b"{}")
    assert [each.method for each in api.requests] == []
