"""A write that has become too late when its bytes are about to leave is not sent."""

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

from tests.unit.kube.http_script import Request, Script, json
from windlass.kube.client.transport import Transport
from windlass.kube.config import ClusterConfig, Tls
from windlass.kube.errors import Fenced, TransportError

from .tls import AUTHORITY, tls_server


class Permits:
    """A fence that says yes `times` times: the lease runs out after that."""

    longest_write = 30.0

    def __init__(self, times: int) -> None:
        self.times = times

    def gate(self, seconds: float) -> None:
        self.times -= 1
        if self.times < 0:
            raise Fenced("the lease has run out")


@asynccontextmanager
async def api_server(*, tls: bool) -> AsyncIterator[Script]:
    async with Script(tls=tls_server("server") if tls else None) as server:
        yield server


def config(server: Script) -> ClusterConfig:
    return ClusterConfig(server=server.url, tls=Tls(authority=AUTHORITY))


def writes(server: Script) -> list[Request]:
    return [each for each in server.requests if each.method == "PATCH"]


@contextmanager
def nothing_left_behind() -> Iterator[None]:
    """The event loop has nothing to complain about: no task whose exception nobody retrieved, no fatal error."""
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context))
    yield
    gc.collect()
    assert complaints == []


@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
@pytest.mark.parametrize("pooled", [False, True], ids=["new connection", "pooled connection"])
async def test_a_write_whose_lease_runs_out_while_it_waits_for_its_connection_is_not_sent(
    tls: bool, pooled: bool
) -> None:
    with nothing_left_behind():
        async with api_server(tls=tls) as server:
            async with Transport(config(server), fence=Permits(1)) as transport:
                if pooled:
                    server.then(json(200, {}))
                    await transport.exchange("GET", "/a")
                with pytest.raises(Fenced, match="the lease has run out"):
                    await transport.exchange("PATCH", "/a", body=b"{}")
            await server.all_closed()
            assert writes(server) == []


@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
async def test_a_write_that_timed_out_while_the_process_stood_still_is_not_sent(tls: bool) -> None:
    """The event loop sends before it looks at its timers."""

    class StandsStill(Permits):
        def gate(self, seconds: float) -> None:
            super().gate(seconds)
            time.sleep(0.3)

    with nothing_left_behind():
        async with api_server(tls=tls) as server:
            async with Transport(config(server), fence=StandsStill(1)) as transport:
                with pytest.raises(TransportError, match=r"PATCH .*/a: timed out before it was sent") as caught:
                    await transport.exchange("PATCH", "/a", body=b"{}", timeout=0.2)
            await server.all_closed()
            assert writes(server) == []
            assert not caught.value.unknown_outcome


async def test_a_read_on_the_connection_of_a_write_is_not_asked_about() -> None:
    async with api_server(tls=False) as server:
        server.then(json(200, {}), json(200, {}))
        async with Transport(config(server), fence=Permits(2)) as transport:
            await transport.exchange("PATCH", "/a", body=b"{}")
            await transport.exchange("GET", "/a")
        assert [each.connection for each in server.requests] == [1, 1]
