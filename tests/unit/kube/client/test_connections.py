"""What becomes of connections that are given up: they are reset, and nothing is left of them.

The servers here are plain sockets with threads of their own, which neither read nor answer before they are told to.
"""

import asyncio
import gc
import socket
import ssl
import threading
import warnings
from collections.abc import Coroutine, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import pytest

from windlass.kube.client.transport import Transport
from windlass.kube.config import ClusterConfig, Tls
from windlass.kube.errors import Fenced, OutcomeUnknown

from .tls import AUTHORITY, tls_server

EMPTY = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
BIG = b"x" * 800_000
"""More than any send buffer takes at once, so that some of it waits in the kernel and some in this process."""
TURNS = range(1, 41)
"""Of the event loop: a connection to a server on this machine is in its handshake long before the last of them."""


@contextmanager
def listening() -> Iterator[socket.socket]:
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
        one.bind(("127.0.0.1", 0))
        one.listen(128)
        one.settimeout(30)
        yield one


def config(server: socket.socket, *, tls: bool = True) -> ClusterConfig:
    scheme = "https" if tls else "http"
    return ClusterConfig(server=f"{scheme}://127.0.0.1:{server.getsockname()[1]}", tls=Tls(authority=AUTHORITY))


def accepted(server: socket.socket, *, tls: bool) -> socket.socket:
    """The next connection, after its handshake."""
    connection, _ = server.accept()
    connection.settimeout(30)
    return tls_server("server").wrap_socket(connection, server_side=True) if tls else connection


def received(connection: socket.socket) -> int:
    """How many bytes come before the connection breaks."""
    count = 0
    with suppress(ConnectionResetError, ssl.SSLError):
        while piece := connection.recv(65_536):
            count += len(piece)
    return count


async def closed() -> None:
    """Return when the event loop has closed what was reset: it does so in its next turn."""
    await asyncio.sleep(0)
    await asyncio.sleep(0)


def left_behind(*runs: Coroutine[Any, Any, None]) -> list[str]:
    """What Python has to say of what was not closed, when each has run in an event loop of its own."""
    gc.collect()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for run in runs:
            asyncio.run(run)
        gc.collect()
    return [str(one.message) for one in caught]


@pytest.mark.parametrize("tls", [True, False], ids=["https", "http"])
async def test_a_write_that_was_given_up_is_not_delivered_when_the_server_reads_again(tls: bool) -> None:
    given_up = threading.Event()

    def serve() -> int:
        with accepted(server, tls=tls) as connection:
            connection.recv(65_536)
            connection.sendall(EMPTY)
            given_up.wait(30)
            return received(connection)

    with listening() as server:
        serving = asyncio.create_task(asyncio.to_thread(serve))
        async with Transport(config(server, tls=tls)) as transport:
            assert await transport.exchange("GET", "/") == b"{}", "there is a connection"
            with pytest.raises(OutcomeUnknown):
                await transport.exchange("PATCH", "/big", body=BIG, timeout=0.3)
            await closed()
            given_up.set()
            assert await serving < len(BIG)


async def test_a_write_that_is_cancelled_is_not_delivered_when_the_server_reads_again() -> None:
    loop = asyncio.get_running_loop()
    begun, given_up = asyncio.Event(), threading.Event()

    def serve() -> int:
        with accepted(server, tls=True) as connection:
            connection.recv(1)
            loop.call_soon_threadsafe(begun.set)
            given_up.wait(30)
            return received(connection)

    with listening() as server:
        serving = asyncio.create_task(asyncio.to_thread(serve))
        async with Transport(config(server)) as transport:
            writing = asyncio.create_task(transport.exchange("PATCH", "/big", body=BIG))
            await begun.wait()
            writing.cancel()
            await asyncio.wait([writing])
            await closed()
            given_up.set()
            assert await serving < len(BIG)


@pytest.mark.filterwarnings("ignore:Sending a large body")
@pytest.mark.parametrize("tls", [True, False], ids=["https", "http"])
async def test_of_a_write_whose_lease_runs_out_while_it_is_sent_the_rest_is_not_delivered(tls: bool) -> None:
    leaving, over = threading.Event(), threading.Event()

    class RunsOut:
        """The lease ends when the first bytes have left."""

        longest_write = 30.0
        asked = 0

        def gate(self, seconds: float) -> None:
            if over.is_set():
                raise Fenced("the lease has run out")
            self.asked += 1
            if self.asked == 2:
                leaving.set()

    def serve() -> int:
        with accepted(server, tls=tls) as connection:
            leaving.wait(30)
            over.set()
            return received(connection)

    with listening() as server:
        serving = asyncio.create_task(asyncio.to_thread(serve))
        async with Transport(config(server, tls=tls), fence=RunsOut()) as transport:
            with pytest.raises(OutcomeUnknown):
                await transport.exchange("PATCH", "/big", body=20 * BIG)
            assert await serving < 20 * len(BIG)


def test_a_connect_that_is_cancelled_just_when_it_comes_about_leaves_nothing_behind() -> None:
    async def cancel_after(turns: int) -> None:
        loop = asyncio.get_running_loop()
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = tls_server("server").wrap_bio(incoming, outgoing, server_side=True)
        async with Transport(config(server)) as transport:
            asking = asyncio.create_task(transport.exchange("GET", "/"))
            connection, _ = await loop.sock_accept(server)
            silent.enter_context(connection)
            incoming.write(await loop.sock_recv(connection, 65_536))
            with suppress(ssl.SSLWantReadError):
                tls.do_handshake()
            # With this the handshake is over for the client, in one of the next turns.
            connection.sendall(outgoing.read())
            for _ in range(turns):
                await asyncio.sleep(0)
            asking.cancel()
            await asyncio.wait([asking])

    with listening() as server, ExitStack() as silent:
        server.setblocking(False)
        assert left_behind(*map(cancel_after, range(10))) == []


def test_closing_in_the_middle_of_a_connect_leaves_nothing_behind() -> None:
    async def close_after(turns: int) -> None:
        transport = Transport(config(server))
        asking = asyncio.create_task(transport.exchange("GET", "/"))
        for _ in range(turns):
            await asyncio.sleep(0)
        await transport.close()
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)

    with listening() as server:
        assert left_behind(*map(close_after, TURNS)) == []


def test_a_stream_that_is_left_does_not_wait_for_a_server_that_says_nothing() -> None:
    ended = threading.Event()

    def serve() -> None:
        with accepted(server, tls=True) as connection:
            connection.recv(65_536)
            connection.sendall(HEAD)
            ended.wait(30)

    async def look_and_leave() -> None:
        async with Transport(config(server)) as transport, transport.stream("/watch", inactivity=30):
            pass

    with listening() as server:
        serving = threading.Thread(target=serve)
        serving.start()
        try:
            left = left_behind(look_and_leave())
        finally:
            ended.set()
            serving.join()
    assert left == []


async def test_a_connection_that_was_given_up_costs_others_nothing() -> None:
    begun = asyncio.Event()
    loop = asyncio.get_running_loop()
    go_on = threading.Event()

    def serve() -> int:
        with accepted(server, tls=True) as patient, accepted(server, tls=True) as hasty:
            for connection in (patient, hasty):
                connection.recv(65_536)
            loop.call_soon_threadsafe(begun.set)
            count = received(hasty)
            patient.sendall(EMPTY)
            go_on.wait(30)
            return count

    with listening() as server:
        serving = asyncio.create_task(asyncio.to_thread(serve))
        async with Transport(config(server)) as transport:
            patient, hasty = (asyncio.create_task(transport.exchange("GET", path)) for path in ("/patient", "/hasty"))
            await begun.wait()
            hasty.cancel()
            assert await patient == b"{}"
            go_on.set()
            assert await serving == 0
