"""An HTTP server that answers each request as the test says, faults included: the next answer of a list, once each.

async with Script() as server:
    server.then(status(429, headers={"Retry-After": "0"}), json(200, {...}))
    ...
    assert [request.path for request in server.requests] == [...]
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Self

import msgspec
from msgspec import Struct


class Request(Struct, frozen=True):
    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    connection: int
    """Counts connections: requests with the same number came over the same one."""
    certificate: Any = None
    """What the client presented, as `SSLSocket.getpeercert` shows it."""


Answer = Callable[[Request, asyncio.StreamWriter], Awaitable[None]]


def raw(data: bytes) -> Answer:
    """These bytes, whatever they are."""

    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()

    return answer


def text(code: int, body: str, *, headers: Mapping[str, str] | None = None) -> Answer:
    lines = {"Content-Length": str(len(body.encode())), **(headers or {})}
    head = "".join(f"{key}: {value}\r\n" for key, value in lines.items())
    return raw(f"HTTP/1.1 {code} Whatever\r\n{head}\r\n{body}".encode())


def json(code: int, body: Any, *, headers: Mapping[str, str] | None = None) -> Answer:
    lines = {"Content-Type": "application/json", **(headers or {})}
    return text(code, msgspec.json.encode(body).decode(), headers=lines)


def status(code: int, reason: str = "", *, headers: Mapping[str, str] | None = None, **more: Any) -> Answer:
    """A refusal in the API server's own form."""
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, **more}
    return json(code, body, headers=headers)


def stream(*pieces: bytes, end: bool = True) -> Answer:
    """A chunked answer, piece by piece; `end` False leaves it open without another word."""

    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        for piece in pieces:
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await writer.drain()
        if end:
            writer.write(b"0\r\n\r\n")
            await writer.drain()

    return answer


def then(*answers: Answer) -> Answer:
    """Several in a row, to one request."""

    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        for one in answers:
            await one(request, writer)

    return answer


async def silence(request: Request, writer: asyncio.StreamWriter) -> None:
    """The request is read, and nothing ever comes back."""


async def cut(request: Request, writer: asyncio.StreamWriter) -> None:
    """The connection is closed."""
    writer.close()


class Listener:
    """A server on loopback that ends with all its connections."""

    def __init__(self, *, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def port(self) -> int:
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self._tls)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        await self._serve(reader, writer)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, from its beginning to its end."""
        raise NotImplementedError


class Script(Listener):
    """`url` and `requests` of a server on loopback; `tls` makes it https."""

    def __init__(self, *, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(tls=tls)
        self.requests: list[Request] = []
        self._answers: deque[Answer] = deque()
        self._connections = 0
        self._asked = asyncio.Event()

    async def asked(self) -> None:
        """Wait until the first request has arrived."""
        await self._asked.wait()

    async def all_closed(self) -> None:
        """Wait until no connection is open."""
        await asyncio.gather(*self._tasks)

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    def then(self, *answers: Answer) -> None:
        """What the next requests get, in order. A request too many is answered with 599."""
        self._answers.extend(answers)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        number = self._connections
        try:
            while (request := await self._read(reader, writer, number)) is not None:
                self.requests.append(request)
                self._asked.set()
                answer = self._answers.popleft() if self._answers else text(599, "the script has no more answers")
                await answer(request, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            with suppress(Exception):
                await writer.wait_closed()

    async def _read(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int
    ) -> Request | None:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode().strip().split("\r\n")
        method, path, _ = first.split(" ")
        headers: dict[str, str] = {}
        for line in lines:
            key, _, value = line.partition(": ")
            headers[key] = f"{headers[key]},{value}" if key in headers else value
        body = await reader.readexactly(int(headers.get("Content-Length", "0")))
        certificate = writer.get_extra_info("peercert")
        return Request(method, path, headers, body, connection, certificate)
