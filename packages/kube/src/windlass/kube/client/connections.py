"""A connection pool that resets abandoned connections, and sends no byte of a write that has become too late.

aiohttp and asyncio close connections too gently for a controller:

* A closed TLS connection sends close_notify and waits 30 s for the server's. Until then the kernel goes on delivering
  its buffer: a write that timed out, and so counts as failed, would reach the server when a stalled network recovers,
  perhaps while another process leads. aiohttp skips close_notify only when the whole pool is closed
  (https://github.com/aio-libs/aiohttp/pull/11148), and then forgets the connections that are closing already.
* A request that is cancelled in the turn of the event loop in which its handshake ends leaves a connection that closes
  in the same way. Only the event loop holds it: aiohttp does not know it.

A write that passed the fence may be sent much later: it waits for its connection, and the event loop or the whole
process may stand still meanwhile. When they go on, the event loop sends before it looks at its timers. So the socket
itself asks the write's `SendCheck` each time that bytes are about to leave.
"""

import asyncio
import socket
import struct
import time
from contextlib import suppress
from contextvars import ContextVar
from typing import Any
from weakref import WeakSet, WeakValueDictionary

import aiohttp
from aiohttp import AddrInfoType
from aiohttp.abc import AbstractResolver
from aiohttp.connector import Connection
from aiohttp.tracing import Trace

from windlass.kube.client.fence import Fence
from windlass.kube.errors import Fenced

_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
_TURNS = 20
"""Turns of the event loop until a socket that was shut down is closed: it needs about five, and waits only for the
kernel."""


class SendCheck:
    """Says whether bytes of one write may still leave: before `end` (`time.monotonic`), and if the fence permits.

    `refused`: why they may not. `sent`: how many bytes left before.
    """

    def __init__(self, end: float, fence: Fence | None) -> None:
        self._end = end
        self._fence = fence
        self.refused: Fenced | TimeoutError | None = None
        self.sent = 0

    def require(self) -> None:
        """Raise an OSError if the bytes may not leave: asyncio then closes the connection."""
        left = self._end - time.monotonic()
        if left <= 0:
            self.refused = TimeoutError("timed out before it was sent")
        elif self._fence is not None:
            try:
                self._fence.gate(left)
            except Fenced as error:
                self.refused = error
        if self.refused is not None:
            raise ConnectionAbortedError(str(self.refused))


SEND_CHECK: ContextVar[SendCheck | None] = ContextVar("windlass_send_check", default=None)
"""The check of the request that this task is sending, if the request is a write."""


class _Socket(socket.socket):
    """Asks `check` before it sends."""

    __slots__ = ("check",)
    check: SendCheck | None

    def send(self, data: Any, flags: int = 0, /) -> int:
        if self.check is None:
            return super().send(data, flags)
        self.check.require()
        sent = super().send(data, flags)
        self.check.sent += sent
        return sent

    def sendmsg(self, buffers: Any, *others: Any) -> int:
        if self.check is None:
            return super().sendmsg(buffers, *others)
        self.check.require()
        sent = super().sendmsg(buffers, *others)
        self.check.sent += sent
        return sent


class Connections(aiohttp.TCPConnector):
    """For `aiohttp.ClientSession(connector=...)`.

    `limit`: how many there may be, 0 for any number; `keepalive`: seconds without use; `resolver`: of host names.
    """

    def __init__(self, *, limit: int, keepalive: float, resolver: AbstractResolver | None = None) -> None:
        self._used: WeakSet[asyncio.Transport] = WeakSet()
        self._sockets: WeakValueDictionary[int, _Socket] = WeakValueDictionary()
        """Those that are open, by file descriptor, and closed ones."""
        super().__init__(limit=limit, keepalive_timeout=keepalive, resolver=resolver, socket_factory=self._socket)

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - aiohttp's signature
    ) -> Connection:
        connection = await super().connect(req, traces, timeout)
        if connection.transport is not None:
            self._used.add(connection.transport)
            used = self._sockets.get(connection.transport.get_extra_info("socket").fileno())
            if used is not None:
                used.check = SEND_CHECK.get()
        return connection

    def reset_given_up(self) -> None:
        """Reset the connections that aiohttp has closed, in the next turn of the event loop.

        After that, no more of their buffered data leaves this machine.
        Call it when a request has failed or was cancelled, and when a stream was left before its end.
        """
        for transport in list(self._used):
            if transport.is_closing():
                self._used.discard(transport)
                transport.abort()

    async def close(self, *, abort_ssl: bool = False) -> None:
        """Reset all connections, also those being opened, and return when their sockets are closed."""
        for transport in list(self._used):
            transport.abort()
        await super().close(abort_ssl=True)
        for _ in range(_TURNS):
            left = [one for one in self._sockets.values() if one.fileno() != -1]
            if not left:
                return
            for one in left:
                # asyncio sees the end of the stream and closes the socket. Closing it here would leave asyncio with a
                # file descriptor that may soon belong to another file.
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
            await asyncio.sleep(0)

    def _socket(self, address: AddrInfoType) -> socket.socket:
        """A socket whose buffered data is dropped when it is closed.

        A write must not reach the server after its time-out: another process may lead by then. By default the kernel
        keeps sending the buffer of a closed socket for minutes, as soon as a broken network recovers.
        """
        one = _Socket(address[0], address[1], address[2])
        one.check = None
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        self._sockets[one.fileno()] = one
        return one
