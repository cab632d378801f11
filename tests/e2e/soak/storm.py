"""An API server on a bad day: a share of requests fails in each of the ways in which requests fail, and watches break.

The front of `weather` fails when a test says so. This one fails by itself, all the time. Kinds of failure are drawn by
a seed; the shares are small enough that a Lease can be renewed within its term.
"""

import asyncio
from collections import Counter
from contextlib import suppress
from random import Random
from typing import Final

from aiohttp import web

from tests.e2e.weather.front import Front
from windlass.testing.plane.connection import Connection

SHARES: Final = {
    "503": 0.02,
    "502 of a proxy": 0.01,
    "lost request": 0.01,
    "lost answer": 0.005,
    "hangs": 0.003,
    "a page instead of a list": 0.005,
}
"""How many of all requests fail so; the last is for reads alone."""
HANG: Final = 6.0
WATCH: Final = (5.0, 90.0)
"""Seconds after which a watch breaks, at least and at most."""
OUTAGE, PAUSE = 3.0, 45.0
"""Seconds for which everything is refused, and those between two outages."""
_PAGE: Final = "<" * 20_000


class Storm(Front):
    """See the module. `failed` counts what failed, by kind."""

    def __init__(self, connection: Connection, *, seed: int) -> None:
        super().__init__(connection, seed=seed)
        self._draw = Random(seed)
        self._loses: set[int] = set()
        self.failed = Counter[str]()

    async def blow(self) -> None:
        """Refuse everything for a moment, now and then, until cancelled."""
        while True:
            await asyncio.sleep(PAUSE)
            self.throttle(share=1.0, retry_after=1)
            self.failed["outage"] += 1
            await asyncio.sleep(OUTAGE)
            self.calm()

    async def asked(self, request: web.Request, body: bytes) -> None:
        if "watch" in request.query:
            asyncio.get_running_loop().call_later(self._draw.uniform(*WATCH), _cut, request)
        kind = self._kind()
        if kind is None or (kind == "a page instead of a list" and request.method != "GET"):
            return
        self.failed[kind] += 1
        match kind:
            case "503":
                raise web.HTTPServiceUnavailable(headers={"Retry-After": "1"})
            case "502 of a proxy":
                raise web.HTTPBadGateway(text=_PAGE, content_type="text/html")
            case "lost request":
                _cut(request)
                raise web.HTTPServiceUnavailable
            case "lost answer":
                self._loses.add(id(request))
            case "hangs":
                await asyncio.sleep(HANG)
                raise web.HTTPGatewayTimeout
            case "a page instead of a list":
                raise web.HTTPOk(text=_PAGE, content_type="text/html")

    async def answered(self, request: web.Request, body: bytes, *, status: int) -> None:
        if id(request) in self._loses:
            self._loses.discard(id(request))
            _cut(request)

    def _kind(self) -> str | None:
        drawn = self._draw.random()
        for kind, share in SHARES.items():
            drawn -= share
            if drawn < 0:
                return kind
        return None


def _cut(request: web.Request) -> None:
    with suppress(OSError):
        if request.transport is not None:
            request.transport.abort()
