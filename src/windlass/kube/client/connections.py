"""A pool of connections that are reset when they are given up, and of which none outlives the pool.

aiohttp and asyncio are politer than a controller can afford:

* A TLS connection that is closed says goodbye, and waits 30 s for the server to do so too. Until then the kernel goes
  on delivering what it holds: a write that its author takes for failed, because its time is over, would land as soon as
  a stalled network heals, in the reign of another leader perhaps. aiohttp spares itself the goodbye only when the whole
  pool is closed (https://github.com/aio-libs/aiohttp/pull/11148), and then forgets those that are saying it already.
* A request that is cancelled in the turn of the event loop in which its handshake ends leaves a connection that says
  goodbye in the same way. It belongs to nobody but the event loop: aiohttp never hears of it.
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
"""Of the event loop, until it has closed a socket that was shut down: it needs about five, and never waits for anybody
but the kernel."""


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

        Nothing more of what was written to them leaves this machine then.
        To be called when a request has failed or was cancelled, and when a stream was left before its end.
        """
        for transport in list(self._used):
            if transport.is_closing():
                self._used.discard(transport)
                transport.abort()

    async def close(self, *, abort_ssl: bool = False) -> None:
        """Reset all connections, those in the making included, and return when their sockets are closed."""
        for transport in list(self._used):
            transport.abort()
        await super().close(abort_ssl=True)
        for _ in range(_TURNS):
            left = [one for one in self._sockets if one.fileno() != -1]
            if not left:
                return
            for one in left:
                # To asyncio this is the end of the stream, upon which it closes the socket in whatever state it is. To
                # close it here would leave asyncio with a number of a file that may be another one soon.
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
            await asyncio.sleep(0)


def _socket(made: WeakSet[socket.socket], address: AddrInfoType) -> socket.socket:
    """A socket that does not go on delivering what was given up.

    A write must not land when its time is over: somebody else may be the leader by then. By default the kernel keeps
    sending what a closed socket still holds, for minutes, as soon as a broken network heals.
    """
    one = socket.socket(address[0], address[1], address[2])
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
    made.add(one)
    return one
