"""Strangers hold few connections for a short time, and disturb nobody whose request is being answered."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from aiohttp import ClientSession, web

from windlass.kube.process.accepting import Limits
from windlass.kube.process.serving import TlsFiles, serve

PEM = Path(__file__).parents[3] / "data" / "kube" / "tls"
TLS = TlsFiles(PEM / "server.crt", PEM / "server.key")
FOREVER = 3600.0
PATIENCE = 30.0
HALF = b"GET / HTTP/1.1\r\nHost: here\r\nX-Half: "
WHOLE = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"

encrypted = pytest.mark.parametrize("tls", [None, TLS], ids=["http", "https"])


def limits(*, waiting: int = 1000, request: float = FOREVER, idle: float = FOREVER, size: int = 50_000) -> Limits:
    return Limits(
        waiting=waiting, waiting_encrypted=waiting, request_seconds=request, idle_seconds=idle, head_bytes=size
    )


class Stranger:
    """A connection, byte by byte."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def answer(self) -> bytes:
        async with asyncio.timeout(PATIENCE):
            head = await self.reader.readuntil(b"\r\n\r\n")
            length = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
            return await self.reader.readexactly(int(length.split(b":")[1]))

    async def ends(self) -> None:
        """Return once the server has ended the connection."""
        async with asyncio.timeout(PATIENCE):
            with suppress(ConnectionError, ssl.SSLError):
                while await self.reader.read(2**16):
                    pass


@asynccontextmanager
async def server(app: web.Application, held: Limits, tls: TlsFiles | None = None) -> AsyncIterator[str]:
    async with serve(app, host="127.0.0.1", port=0, tls=tls, limits=held) as url:
        yield url


Connect = Callable[..., Awaitable[Stranger]]


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    opened = []

    async def open_one(url: str, first: bytes = b"", *, shakes_hands: bool = True) -> Stranger:
        context = None
        if url.startswith("https") and shakes_hands:
            context = ssl.create_default_context(cafile=PEM / "ca.crt")
            context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        port = int(url.rsplit(":", 1)[1])
        opened.append(Stranger(*await asyncio.open_connection("127.0.0.1", port, ssl=context)))
        opened[-1].writer.write(first)
        return opened[-1]

    yield open_one
    for one in opened:
        one.writer.transport.abort()
    await asyncio.sleep(0)  # the loop closes the sockets


def hello() -> web.Application:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(text="hello")

    app = web.Application(client_max_size=4096)
    app.add_routes([web.get("/", answer), web.post("/", answer)])
    return app


@encrypted
@pytest.mark.parametrize("first", [b"", HALF, b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 9\r\n\r\nhalf"])
async def test_of_too_many_half_requests_the_oldest_is_reset(
    connect: Connect, tls: TlsFiles | None, first: bytes
) -> None:
    async with server(hello(), limits(waiting=3), tls) as url:
        strangers = []
        for number in range(10):
            strangers.append(await connect(url, first))
            if number >= 3:
                await strangers[number - 3].ends()
        someone = await connect(url, WHOLE)
        assert await someone.answer() == b"hello"


async def test_too_many_handshakes_that_do_not_begin_are_reset_too(connect: Connect) -> None:
    async with server(hello(), limits(waiting=3), TLS) as url:
        strangers = [await connect(url, shakes_hands=False) for _ in range(10)]
        await asyncio.gather(*(each.ends() for each in strangers[:7]))


@encrypted
@pytest.mark.parametrize("first", [b"", HALF])
async def test_a_request_that_is_not_complete_in_time_is_reset(
    connect: Connect, tls: TlsFiles | None, first: bytes
) -> None:
    async with server(hello(), limits(request=0.2), tls) as url:
        await (await connect(url, first)).ends()


async def test_a_handshake_that_is_not_complete_in_time_is_reset(connect: Connect) -> None:
    async with server(hello(), limits(request=0.2), TLS) as url:
        await (await connect(url, shakes_hands=False)).ends()
        await (await connect(url, b"\x16\x03\x01", shakes_hands=False)).ends()


async def test_what_is_not_tls_ends_at_once(connect: Connect) -> None:
    async with server(hello(), limits(), TLS) as url:
        await (await connect(url, WHOLE, shakes_hands=False)).ends()


@encrypted
async def test_a_connection_without_another_request_ends_after_a_while(connect: Connect, tls: TlsFiles | None) -> None:
    async with server(hello(), limits(idle=0.2), tls) as url:
        someone = await connect(url, WHOLE)
        assert await someone.answer() == b"hello"
        await someone.ends()


@encrypted
async def test_a_head_without_end_is_reset_before_it_is_large(connect: Connect, tls: TlsFiles | None) -> None:
    async with server(hello(), limits(size=20_000), tls) as url:
        await (await connect(url, WHOLE[:-2] + b"".join(b"X-%d: %s\r\n" % (n, b"a" * 1000) for n in range(30)))).ends()


@encrypted
async def test_requests_follow_each_other_on_one_connection(connect: Connect, tls: TlsFiles | None) -> None:
    """What came before does not count."""
    async with server(hello(), limits(size=1000), tls) as url:
        someone = await connect(url)
        for _ in range(100):
            someone.writer.write(WHOLE)
            assert await someone.answer() == b"hello"


@encrypted
async def test_whoever_is_being_answered_is_left_in_peace(connect: Connect, tls: TlsFiles | None) -> None:
    """However many strangers come, and however long it takes."""
    asked, go = asyncio.Event(), asyncio.Event()

    async def answer(request: web.Request) -> web.Response:
        asked.set()
        await go.wait()
        return web.Response(text=await request.text())

    app = web.Application()
    app.add_routes([web.post("/", answer)])
    async with server(app, limits(waiting=2, request=0.3), tls) as url:
        someone = await connect(url, b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 5\r\n\r\nhello")
        await asked.wait()
        for stranger in [await connect(url, HALF) for _ in range(5)]:
            await stranger.ends()
        go.set()
        assert await someone.answer() == b"hello"


@pytest.mark.parametrize(("size", "status"), [(4000, 200), (5000, 413), (1_000_000, 413)])
async def test_a_body_is_no_head(size: int, status: int) -> None:
    async with (
        server(hello(), limits(size=1000)) as url,
        ClientSession() as session,
        session.post(url, data=b"x" * size) as answer,
    ):
        assert answer.status == status


async def test_the_end_of_the_server_is_the_end_of_handshakes(connect: Connect) -> None:
    async with server(hello(), limits(), TLS) as url:
        strangers = [await connect(url, shakes_hands=False), await connect(url, HALF)]
    for stranger in strangers:
        await stranger.ends()
