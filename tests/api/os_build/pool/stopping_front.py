"""A front before the API server behind which everything about a pool stops at one request of the controller."""

import asyncio
import json
import re
from collections import defaultdict

from aiohttp import web

from tests.e2e.weather.front import Front
from windlass.testing.plane.connection import Connection

_VERBS = {"GET": "get", "POST": "create", "PATCH": "patch", "DELETE": "delete"}
_OF_POOL = re.compile(r"build-([a-z]+)-")
_STATUS = re.compile(r"/status$")


class StoppingFront(Front):
    """Names of pools are words of letters. A process behind it is killed once what it was condemned to has happened."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._fatal: dict[str, tuple[str, bool]] = {}
        self._stopped: dict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._over = asyncio.Event()
        self._late = False

    def stop_at(self, pool: str, write: str, *, stored: bool) -> None:
        """Stop at `write`, such as `create builds`: before it is stored, or after it and before the answer.

        `pool` may be the name of any other object that is read or written.
        """
        self._fatal[pool] = write, stored

    async def stopped(self) -> None:
        """Return when all that are condemned have been stopped."""
        await asyncio.gather(*(self._stopped[pool].wait() for pool in self._fatal))

    def release(self, *, late: bool = False) -> None:
        """Let everything through from here on. What was held back is lost, or goes on `late`."""
        self._late = late
        self._over.set()
        self._over = asyncio.Event()
        self._fatal.clear()
        self._stopped.clear()

    def calm(self) -> None:
        self.release()
        super().calm()

    async def asked(self, request: web.Request, body: bytes) -> None:
        await self._stop(request, body, stored=False)

    async def answered(self, request: web.Request, body: bytes, *, status: int) -> None:
        await self._stop(request, body, stored=True)

    async def _stop(self, request: web.Request, body: bytes, *, stored: bool) -> None:
        if request.method not in _VERBS:
            return
        pool, write = _subject(request, body)
        if self._fatal.get(pool) == (write, stored):
            self._stopped[pool].set()
        if pool in self._fatal and self._stopped[pool].is_set():
            await self._over.wait()
            if not self._late:
                raise web.HTTPServiceUnavailable


def _subject(request: web.Request, body: bytes) -> tuple[str, str]:
    """The pool, and the write in words."""
    parts = _STATUS.sub("", request.path).split("/")
    if request.method == "POST":
        parts.append(str(json.loads(body)["metadata"].get("name", "")))
    resource, name = parts[-2:]
    found = _OF_POOL.match(name)
    part = "/status" if _STATUS.search(request.path) else ""
    return found[1] if found else name, f"{_VERBS[request.method]} {resource}{part}"
