"""Bounds the connections on which no request is being answered: a stranger can open them without any credential.

    connection  ──> waits: TLS handshake, head and body of a request ──> the request is answered ──> waits ──> ...
                     │
                     └── too long, too large, or the oldest of too many: reset

A request is complete when its body is, so a handler never waits for its peer before it answers. The
handlers bound their own cost, for each user.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable

from aiohttp import web
from msgspec import Struct

_TURNS = 0.1
"""Seconds, of a few turns of the event loop."""

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Limits(Struct, frozen=True, kw_only=True):
    """The cost of waiting connections.

    `waiting`: how many may; one more, and the oldest is reset. Behind a load balancer all connections come from one
    address, so they are not counted by address. `waiting_encrypted`: the same with TLS, where asyncio takes a third of
    a MiB for each. `request_seconds`: until the head of a request is complete, and as long for its body.
    `idle_seconds`: between requests. `head_bytes`: of the head of a request; aiohttp bounds what is buffered of a body.
    """

    waiting: int = 64
    waiting_encrypted: int = 24
    request_seconds: float = 10.0
    idle_seconds: float = 90.0
    head_bytes: int = 48 * 1024


class Entrance:
    """Accepts connections for the HTTP server of `runner`, and keeps the waiting ones within `limits`."""

    def __init__(self, runner: web.AppRunner, limits: Limits, tls: ssl.SSLContext | None) -> None:
        self._runner = runner
        self.limits = limits
        self.tls = tls
        self.connections: dict[asyncio.BaseProtocol, _Connection] = {}
        """By the protocol of aiohttp."""
        self._waiting: dict[_Connection, None] = {}

    def accept(self) -> asyncio.Protocol:
        """A protocol for a connection that was accepted just now."""
        server = self._runner.server
        assert server is not None
        return _Connection(self, server())

    def waits(self, one: "_Connection") -> None:
        """Nothing is being answered on this connection any more."""
        self._waiting.pop(one, None)
        self._waiting[one] = None
        if len(self._waiting) > (self.limits.waiting if self.tls is None else self.limits.waiting_encrypted):
            next(iter(self._waiting)).reset()

    def is_busy(self, one: "_Connection") -> None:
        """A request is being answered."""
        self._waiting.pop(one, None)

    def left(self, one: "_Connection") -> None:
        """The connection is closed."""
        self._waiting.pop(one, None)
        self.connections.pop(one.inner, None)

    def close(self) -> None:
        """Reset those that have not become HTTP connections yet; aiohttp ends the others."""
        for one in list(self._waiting):
            if not one.is_open:
                one.reset()

    @web.middleware
    async def count(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Tells which connections are busy."""
        one = self.connections.get(request.protocol)
        if one is None:
            return await handler(request)
        one.has_head()
        if request.body_exists:
            await request.read()
        one.begin()
        try:
            return await handler(request)
        finally:
            one.end()


class _Connection(asyncio.Protocol):
    """One connection. `inner` is the protocol of aiohttp; it gets the decrypted data."""

    def __init__(self, entrance: Entrance, inner: asyncio.Protocol) -> None:
        self.inner = inner
        self._entrance = entrance
        self.is_open = False
        self._accepted: asyncio.Transport | None = None
        self._handshake: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport | None = None
        """What aiohttp reads from."""
        self._head_is_complete = False
        self._bytes = 0
        self._paused = False
        self._early = b""
        """Data that was decrypted before `_encrypt` went on after the handshake."""

    # what becomes of it

    def has_head(self) -> None:
        self._head_is_complete = True
        self._allow(self._entrance.limits.request_seconds)
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()

    def begin(self) -> None:
        self._stop_timer()
        self._entrance.is_busy(self)

    def end(self) -> None:
        self._head_is_complete = False
        self._bytes = 0
        if self.is_open:
            self._entrance.waits(self)
            self._allow(self._entrance.limits.idle_seconds)

    def reset(self) -> None:
        self._leave()
        handshake, self._handshake = self._handshake, None  # a cycle would keep its buffers until garbage is collected
        if handshake is not None:
            handshake.cancel()
        if self._accepted is not None:
            self._accepted.abort()

    def _leave(self) -> None:
        self._stop_timer()
        self._entrance.left(self)

    def _allow(self, seconds: float) -> None:
        self._stop_timer()
        self._timer = asyncio.get_running_loop().call_later(seconds, self.reset)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _encrypt(self, accepted: asyncio.Transport, tls: ssl.SSLContext) -> None:
        try:
            encrypted = await asyncio.get_running_loop().start_tls(
                accepted, self, tls, server_side=True, ssl_handshake_timeout=self._entrance.limits.request_seconds
            )
        except OSError:
            encrypted = None  # not TLS, or not a version that we accept
        if encrypted is None or encrypted.is_closing():
            self.reset()
        else:
            self._open(encrypted)

    def _open(self, transport: asyncio.Transport) -> None:
        self.is_open = True
        self._handshake = None
        self._transport = transport
        self._entrance.connections[self.inner] = self
        self.inner.connection_made(transport)
        if self._early:
            self.inner.data_received(self._early)
            self._early = b""
            self._check_head()

    def _check_head(self) -> None:
        """Reset the connection if the head is too large, in a moment: most of what came may be a body.

        aiohttp calls the handler some turns of the event loop after the end of the head.
        """
        too_large = self._bytes > self._entrance.limits.head_bytes and not self._head_is_complete
        if too_large and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()
            self._allow(_TURNS)

    # asyncio's part

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._accepted = transport
        self._allow(self._entrance.limits.request_seconds)
        self._entrance.waits(self)
        if self._entrance.tls is None:
            self._open(transport)
        else:
            self._handshake = asyncio.create_task(self._encrypt(transport, self._entrance.tls))

    def data_received(self, data: bytes) -> None:
        if not self._head_is_complete:
            if not self._bytes:
                self._allow(self._entrance.limits.request_seconds)
            self._bytes += len(data)
        if self.is_open:
            self.inner.data_received(data)
            self._check_head()
        else:
            self._early += data

    def eof_received(self) -> bool | None:
        return self.inner.eof_received()

    def pause_writing(self) -> None:
        self.inner.pause_writing()

    def resume_writing(self) -> None:
        self.inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()
        if self.is_open:
            self.is_open = False
            self.inner.connection_lost(exc)
