"""A TCP proxy that fails the way networks fail: not with an error, but with silence.

    async with BlackHole.before("https://127.0.0.1:6443") as network:
        client = Client(structs.replace(config, server=network.url))
        ...
        network.swallow()       # all traffic is dropped silently
        network.cut()           # all connections are reset
        network.refuse()        # new connections are reset at once
        network.heal()          # new connections work again; dropped ones stay dead

TLS goes through untouched, so the server's certificate must be valid for 127.0.0.1.
"""

import asyncio
import socket
import struct
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

_CHUNK = 1 << 16


class BlackHole:
    """A proxy on loopback before `host`:`port`. `url` is where clients go; `connections` how many are open."""

    def __init__(self, host: str, port: int, *, scheme: str = "https") -> None:
        self._target = host, port
        self._scheme = scheme
        self._swallowing = self._refusing = False
        self._links: set[_Link] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @classmethod
    def before(cls, url: str) -> Self:
        """The proxy before the server at `url`."""
        parts = urlsplit(url)
        if parts.hostname is None or parts.port is None:
            raise ValueError(f"a URL with host and port is needed, not {url!r}")
        return cls(parts.hostname, parts.port, scheme=parts.scheme)

    @property
    def url(self) -> str:
        """The base URL of the server, seen through the proxy."""
        if self._server is None:
            raise RuntimeError("the proxy is not running: use it inside `async with`")
        return f"{self._scheme}://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    @property
    def connections(self) -> int:
        return len(self._links)

    def swallow(self) -> None:
        """Accept everything and forward nothing, on open and on new connections."""
        self._swallowing = True
        for link in self._links:
            link.dead = True

    def refuse(self) -> None:
        """Reset new connections at once."""
        self._refusing = True

    def heal(self) -> None:
        """Forward again on new connections."""
        self._swallowing = self._refusing = False

    def cut(self) -> None:
        """Reset all open connections."""
        for link in list(self._links):
            link.reset()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._refusing = True
        # asyncio loses a socket that was accepted and not taken up when its server is closed. So nothing more is
        # accepted, and what was accepted gets three turns of the loop: it is taken up, comes to `_accept`, is reset.
        loop = asyncio.get_running_loop()
        for listener in self._server.sockets:
            loop.remove_reader(listener)
        for _ in range(3):
            await asyncio.sleep(0)
        self._server.close()
        self.cut()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._server.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._refusing:
            _reset(writer)
            return
        task = asyncio.create_task(self._carry(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        # Here, since a task that is cancelled before its first step does not come to any `finally` of its own.
        task.add_done_callback(lambda _: _reset(writer))

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection(*self._target)
        except OSError:
            return
        link = _Link(writer, far_writer, dead=self._swallowing)
        self._links.add(link)
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(link.forward(reader, far_writer))
                both.create_task(link.forward(far_reader, writer))
        finally:
            self._links.discard(link)
            link.reset()


class _Link:
    """One connection through the proxy. `dead`: what comes is read and thrown away."""

    def __init__(self, near: asyncio.StreamWriter, far: asyncio.StreamWriter, *, dead: bool) -> None:
        self._ends = near, far
        self.dead = dead

    async def forward(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while chunk := await source.read(_CHUNK):
                if not self.dead:
                    sink.write(chunk)
                    await sink.drain()
            if not self.dead:
                sink.close()
        except ConnectionError:
            self.reset()

    def reset(self) -> None:
        for end in self._ends:
            _reset(end)


def _reset(end: asyncio.StreamWriter) -> None:
    # Without this, closing sends a FIN, which a broken network does not.
    endpoint = end.get_extra_info("socket")
    if endpoint is not None and endpoint.fileno() != -1:
        endpoint.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    end.transport.abort()
