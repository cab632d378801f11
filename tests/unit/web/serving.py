"""The page on a free port of this machine, with a view of the test's own."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import trustme
from aiohttp import ClientSession, CookieJar

from windlass.api.authorization import ResourceAttributes
from windlass.kube.process.serving import TlsFiles
from windlass.machine_sync.view import machines
from windlass.openstack.view import clouds
from windlass.os_build.view import pools
from windlass.update_status.view import update
from windlass.web import overview, service
from windlass.web.board import Board
from windlass.web.service import WebSettings
from windlass.web.view import View

OURS = {view.NAME: view.SCRIPTS for view in (update, machines, clouds, pools, overview)}
"""Our views, with the packages that have their scripts."""
RULE = ResourceAttributes(verb="get", group="example.com", resource="things")


def a_view(
    name: str = "things",
    *,
    document: Mapping[str, Any] | None = None,
    publish: Callable[[Board], Awaitable[None]] | None = None,
    rule: ResourceAttributes = RULE,
    title: str = "",
) -> View:
    """A view that shows `document`, or whatever `publish` does. One with the name of a view of ours has its scripts."""

    async def source(board: Board) -> None:
        if document is not None:
            board.show(document)
        if publish is not None:
            await publish(board)
        await asyncio.Event().wait()

    return View(name=name, title=title or name.title(), scripts=OURS.get(name, ""), rule=(rule,), source=source)


@asynccontextmanager
async def serving(*views: View, config: Any = None, **settings: Any) -> AsyncIterator[str]:
    """`windlass web` with these views in this process; yields the link that is printed."""
    url: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    running = asyncio.create_task(
        service.run(views, WebSettings(**settings), config=config, user="me", serving=url.set_result)
    )
    try:
        first: set[asyncio.Future[Any]] = {url, running}
        done, _ = await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        if running in done:
            await running
        yield await url
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@asynccontextmanager
async def browsing(link: str) -> AsyncIterator[ClientSession]:
    """Somebody who has opened the link: with the cookie, relative to the server."""
    base = link.partition("/?")[0]
    async with ClientSession(base, cookie_jar=CookieJar(unsafe=True)) as session:
        async with session.get(link) as answer:
            assert answer.status == 200
        yield session


def certificate(folder: Any) -> TlsFiles:
    """A certificate of 127.0.0.1 and localhost."""
    made = trustme.CA().issue_cert("127.0.0.1", "localhost")
    (folder / "tls.crt").write_bytes(b"".join(blob.bytes() for blob in made.cert_chain_pems))
    made.private_key_pem.write_to_path(folder / "tls.key")
    return TlsFiles(folder / "tls.crt", folder / "tls.key")


class Front:
    """A port before the server that can be cut: what is open breaks, and nothing new is answered until it is mended."""

    def __init__(self, link: str) -> None:
        self._target = int(link.partition("/?")[0].rpartition(":")[2])
        self._key = link.partition("/?")[2]
        self._server: asyncio.Server | None = None
        self._port = 0
        self._open: set[asyncio.StreamWriter] = set()

    @property
    def link(self) -> str:
        return f"http://127.0.0.1:{self._port}/?{self._key}"

    async def __aenter__(self) -> "Front":
        await self.mend()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.cut()

    async def cut(self) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._open:
            writer.transport.abort()

    async def mend(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends = {writer}
        self._open |= ends
        try:
            there, onwards = await asyncio.open_connection("127.0.0.1", self._target)
            ends.add(onwards)
            self._open.add(onwards)
            await asyncio.gather(_pass(reader, onwards), _pass(there, writer))
        finally:
            self._open -= ends
            for end in ends:
                end.close()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await reader.read(65536):
            writer.write(chunk)
            await writer.drain()
    writer.close()
