"""A bucket service over HTTP on loopback: buckets have an owner mark, and names that need not be unique.

    POST /buckets {"name", "owner"}      makes one, whatever there is already
    GET /buckets?owner=...               those with the mark, oldest first
    DELETE /buckets/{id}

What goes wrong is in `weather`: the fate of each coming request, in order; afterwards all goes well.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from enum import Enum, auto
from typing import Any

import msgspec
from aiohttp import web
from msgspec import Struct

from windlass.kube.process.serving import stop


class Fate(Enum):
    """What becomes of one request."""

    WELL = auto()
    LOST = auto()
    """Carried out; the connection breaks before the answer."""
    UNHEARD = auto()
    """Not carried out; the connection breaks, and nobody can tell the difference."""
    SLOW = auto()
    """Carried out; the answer never comes."""
    QUOTA = auto()
    """Refused with 403 if it would make one."""
    BUSY = auto()
    """Refused with 429 and `Retry-After`."""


class Bucket(Struct, frozen=True):
    id: str
    name: str
    owner: str


class BucketService:
    """The service; `url` once it is served. `created` counts what was ever made for a mark."""

    def __init__(self, *weather: Fate, retry_after: float = 0.001) -> None:
        self.url = ""
        self.buckets: dict[str, Bucket] = {}
        self.created: Counter[str] = Counter()
        self.requests: list[str] = []
        self.weather = deque(weather)
        self.retry_after = retry_after
        self._over = asyncio.Event()

    def strays(self, objects: Sequence[dict[str, Any]]) -> list[str]:
        """Buckets that no object has in its status."""
        owned = {(each.get("status") or {}).get("bucket") for each in objects}
        return [str(bucket) for bucket in self.buckets.values() if bucket.id not in owned]

    @asynccontextmanager
    async def served(self) -> AsyncIterator["BucketService"]:
        app = web.Application()
        app.router.add_post("/buckets", self._handle)
        app.router.add_get("/buckets", self._handle)
        app.router.add_delete("/buckets/{id}", self._handle)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield self
        finally:
            self._over.set()
            await stop(runner)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.requests.append(request.method)
        fate = self.weather.popleft() if self.weather else Fate.WELL
        if fate is Fate.BUSY:
            return web.Response(status=429, headers={"Retry-After": str(self.retry_after)}, text="slow down")
        if fate is Fate.QUOTA and request.method == "POST":
            return web.Response(status=403, text="the quota of buckets is used up")
        answer = web.Response() if fate is Fate.UNHEARD else self._carry_out(request, body)
        if fate is Fate.SLOW:
            await self._over.wait()
        if fate in (Fate.LOST, Fate.UNHEARD) and request.transport is not None:
            request.transport.abort()
        return answer

    def _carry_out(self, request: web.Request, body: bytes) -> web.Response:
        if request.method == "POST":
            asked = msgspec.json.decode(body)
            made = Bucket(f"b-{sum(self.created.values()) + 1}", asked["name"], asked["owner"])
            self.buckets[made.id] = made
            self.created[made.owner] += 1
            return _json(201, made)
        if request.method == "GET":
            return _json(200, [bucket for bucket in self.buckets.values() if bucket.owner == request.query["owner"]])
        if self.buckets.pop(request.match_info["id"], None) is None:
            return web.Response(status=404, text="no such bucket")
        return web.Response(status=204)


def _json(code: int, value: Any) -> web.Response:
    return web.Response(status=code, body=msgspec.json.encode(value), content_type="application/json")
