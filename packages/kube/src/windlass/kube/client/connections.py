"""A connection pool that resets abandoned connections, and closes all of them when it is closed.

aiohttp and asyncio close connections too gently for a controller:

* A closed TLS connection sends close_notify and waits 30 s for the server's. Until then the kernel goes on delivering
  its buffer: a write that timed out, and so counts as failed, would reach the server when a stalled network recovers,
  perhaps while another process leads. aiohttp skips close_notify only when the whole pool is closed
  (https://github.com/aio-libs/aiohttp/pull/11148), and then forgets the connections that are closing already.
* A request that is cancelled in the turn of the event loop in which its handshake ends leaves a connection that closes
  in the same way. Only the event loop holds it: aiohttp does not know it.
"""

import asyncio
import socket
import struct
from contextlib import suppress
from functools import partial
from weakref import WeakSet

import aiohttp
from aiohttp import AddrInfoType
from aiohttp.connector import Connection
from aiohttp.tracing import Trace

_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
_TURNS = 20
"""Turns of the event loop until a socket that was shut down is closed: it needs about five, and waits only for the
kernel."""


class Connections(aiohttp.TCPConnector):
    """For `aiohttp.ClientSession(connector=...)`.

    `limit`: how many there may be, 0 for any number; `keepalive`: seconds without use.
    """

    def __init__(self, *, limit: int, keepalive: float) -> None:
        self._used: WeakSet[asyncio.Transport] = WeakSet()
        self._sockets: WeakSet[socket.socket] = WeakSet()
        super().__init__(limit=limit, keepalive_timeout=keepalive, socket_factory=partial(_socket, self._sockets))

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - aiohttp's signature
    ) -> Connection:
        connection = await super().connect(req, traces, timeout)
        if connection.transport is not None:
            self._used.add(connection.transport)
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
            left = [one for one in self._sockets if one.fileno() != -1]
            if not left:
                return
            for one in left:
                # asyncio sees the end of the stream and closes the socket. Closing it here would leave asyncio with a
                # file descriptor that may soon belong to another file.
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
            await asyncio.sleep(0)


def _socket(made: WeakSet[socket.socket], address: AddrInfoType) -> socket.socket:
    """A socket whose buffered data is dropped when it is closed.

    A write must not reach the server after its time-out: another process may lead by then. By default the kernel keeps
    sending the buffer of a closed socket for minutes, as soon as a broken network recovers.
    """
    one = socket.socket(address[0], address[1], address[2])
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
    made.add(one)
    return one
