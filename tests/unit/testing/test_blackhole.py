"""The proxy itself: what it forwards, what it swallows, and what it leaves dead."""

import asyncio
import gc
import socket
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import pytest

from windlass.testing.blackhole import BlackHole


@asynccontextmanager
async def echo() -> AsyncIterator[BlackHole]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while chunk := await reader.read(1024):
                writer.write(chunk)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with BlackHole.before(f"http://127.0.0.1:{port}") as network:
        yield network
    server.close()
    await server.wait_closed()


@asynccontextmanager
async def connected(network: BlackHole) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(network.url).port)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()
        writer.close()


async def says(connection: tuple[asyncio.StreamReader, asyncio.StreamWriter], word: bytes) -> bytes:
    reader, writer = connection
    writer.write(word)
    await writer.drain()
    return await reader.readexactly(len(word))


async def is_over(reader: asyncio.StreamReader) -> bool:
    """The connection ended, and nothing came before its end."""
    try:
        return await asyncio.wait_for(reader.read(1), 10) == b""
    except ConnectionError:
        return True


async def test_it_forwards_both_ways() -> None:
    async with echo() as network, connected(network) as connection:
        assert await says(connection, b"hello") == b"hello"
        assert network.connections == 1


async def test_what_was_swallowed_stays_dead_after_healing_and_new_connections_go_through() -> None:
    async with echo() as network, connected(network) as old:
        assert await says(old, b"hello") == b"hello"
        network.swallow()
        old[1].write(b"lost")
        await old[1].drain()
        network.heal()
        async with connected(network) as new:
            assert await says(new, b"new") == b"new"
        network.cut()
        assert await is_over(old[0]), "nothing of what was swallowed came through"


async def test_cut_connections_are_reset_and_refused_ones_too() -> None:
    async with echo() as network, connected(network) as old:
        assert await says(old, b"hello") == b"hello"
        network.cut()
        assert await is_over(old[0])
        network.refuse()
        async with connected(network) as new:
            assert await is_over(new[0])


def test_a_url_without_a_port_is_refused() -> None:
    with pytest.raises(ValueError, match="host and port"):
        BlackHole.before("https://127.0.0.1")


@pytest.mark.parametrize("turns", range(8))
def test_its_end_leaves_no_socket_open_however_far_a_connection_has_come(turns: int) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    peers = [listener]

    async def life() -> None:
        async with BlackHole.before(f"http://127.0.0.1:{listener.getsockname()[1]}") as network:
            peers.append(socket.create_connection(("127.0.0.1", urlsplit(network.url).port)))
            for _ in range(turns):
                await asyncio.sleep(0)

    with warnings.catch_warnings(record=True) as left:
        warnings.simplefilter("always", ResourceWarning)
        asyncio.run(life())
        gc.collect()
    for peer in peers:
        peer.close()
    assert [str(warning.message) for warning in left] == []
