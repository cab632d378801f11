"""An HTTP front before a real API server, which throttles and holds back what a test tells it to.

    async with Front(plane.connection) as front:
        async with stage.syncing(server=front.url):
            front.throttle(share=0.7, retry_after=1)        # 429 for most requests from here on
            front.hold("openstackmachines")                 # open watches of these stand still
            ...
            front.calm()

What a `windlass.testing.blackhole.BlackHole` does to connections, this does to single requests.
"""

import asyncio
import ssl
from contextlib import AsyncExitStack, suppress
from random import Random
from types import TracebackType
from typing import Any, Self

from aiohttp import ClientSession, ClientTimeout, web

from windlass.kube.client.connections import Connections
from windlass.kube.process.accepting import Limits
from windlass.kube.process.serving import serve
from windlass.testing.plane.connection import Connection

_HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "host", "content-encoding"}


class Front:
    """See the module. `requests` and `refused` count what was asked and what was answered 429."""

    def __init__(self, connection: Connection, *, seed: int = 0) -> None:
        self.requests = 0
        self.refused = 0
        self._connection = connection
        self._trust = ssl.create_default_context(cafile=str(connection.ca_file))
        self._random = Random(seed)
        self._share, self._retry_after = 0.0, 0
        self._held: set[str] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._stack = AsyncExitStack()
        self._session: ClientSession
        self.url = ""

    def throttle(self, *, share: float, retry_after: int) -> None:
        """Answer this share of all requests with 429 and that many seconds of Retry-After."""
        self._share, self._retry_after = share, retry_after

    def hold(self, *plurals: str) -> None:
        """Deliver nothing more on watches of these resources, open or new, until `calm`."""
        self._held |= set(plurals)
        self._flowing.clear()

    def calm(self) -> None:
        """Let everything through; what was held back is delivered."""
        self._share = 0.0
        self._held.clear()
        self._flowing.set()

    async def asked(self, request: web.Request, body: bytes) -> None:
        """For subclasses: a request has come, and goes to the API server when this returns."""

    async def answered(self, request: web.Request, body: bytes, *, status: int) -> None:
        """For subclasses: the API server has answered, and who asked learns of it when this returns."""

    async def __aenter__(self) -> Self:
        pool = Connections(limit=0, keepalive=30)
        self._session = await self._stack.enter_async_context(
            ClientSession(connector=pool, timeout=ClientTimeout(), auto_decompress=False)
        )
        app = web.Application(client_max_size=1 << 24)
        app.router.add_route("*", "/{path:.*}", self._handle)
        limits = Limits(waiting=10_000, idle_seconds=3600)  # as an API server, and not as our own servers
        self.url = await self._stack.enter_async_context(serve(app, host="127.0.0.1", port=0, limits=limits))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.calm()
        await self._stack.aclose()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.requests += 1
        if self._random.random() < self._share:
            self.refused += 1
            return _too_many(self._retry_after)
        headers = {key: value for key, value in request.headers.items() if key.lower() not in _HOP_BY_HOP}
        target = f"{self._connection.url}{request.raw_path}"
        body = await request.read()
        await self.asked(request, body)
        ask = self._session.request(request.method, target, headers=headers, data=body or None, ssl=self._trust)
        async with ask as answer:
            await self.answered(request, body, status=answer.status)
            kept = {key: value for key, value in answer.headers.items() if key.lower() not in _HOP_BY_HOP}
            if encoding := answer.headers.get("Content-Encoding"):
                kept["Content-Encoding"] = encoding
            response = web.StreamResponse(status=answer.status, headers=kept)
            plural = request.path.rsplit("/", 1)[-1] if "watch" in request.query else ""
            # Who asked may have died.
            with suppress(ConnectionResetError):
                await response.prepare(request)
                async for piece in answer.content.iter_any():
                    await self._pass(plural)
                    await response.write(piece)
            return response

    async def _pass(self, plural: str) -> None:
        while plural in self._held:
            await self._flowing.wait()


def _too_many(seconds: int) -> web.Response:
    status: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": "too many requests, please try again later",
        "reason": "TooManyRequests",
        "details": {"retryAfterSeconds": seconds},
        "code": 429,
    }
    return web.json_response(status, status=429, headers={"Retry-After": str(seconds)})
