"""Sends documents, and as server-sent events what changes in them, to pages that may see them.

| event | data | when |
|---|---|---|
| `change` | what `Board.since` gives | something changed |
| `beat` | `{"now"}`: the time here, so that pages can tell ages, and that the connection is alive | each ten seconds |
| `end` | `{"status", "why"}` | the right has ended or cannot be confirmed, or the server stops |

A page fetches the document first, which tells it the status if it is refused, and then follows from its stamp.
"""

import asyncio
import contextlib
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec
from aiohttp import web

from windlass.web.access import Access, why
from windlass.web.assets import accepts_gzip
from windlass.web.board import Board
from windlass.web.view import Refused, View

Pick = Callable[[], Awaitable[Board]]
"""Asks whether a page may see what it asks for now, and returns the board that has it. Raises Refused."""

BEAT: Final = 10.0
"""Seconds between signs of life, and between questions whether the page may still see it."""
BREATH: Final = 0.2
"""Seconds between two changes on one stream: what changes faster comes together."""
STUCK: Final = 30.0
"""Seconds after which a page that reads nothing is given up."""
FIRST: Final = 5.0
"""Seconds to wait for the first document of a source that has just begun."""
MOST: Final = 1000
"""Streams at the same time."""
MOST_OF_ONE: Final = 20
"""Streams of one user, whatever the number of sessions."""
_PACKED_FROM: Final = 1024
_PACKED_AT_MOST: Final = 64


class Streams:
    """The documents and streams of all views. `beat`: see `BEAT`."""

    def __init__(self, access: Access, *, beat: float = BEAT) -> None:
        self._access = access
        self._beat = beat
        self._open: dict[asyncio.Task[Any], str] = {}
        """The user of each."""
        self._packed: dict[tuple[str, str, str], bytes] = {}
        self._stopping = False

    @property
    def count(self) -> int:
        """Streams that are open."""
        return len(self._open)

    def stop(self) -> None:
        """End all streams, so that the server can stop."""
        self._stopping = True
        for task in self._open:
            task.cancel()

    async def allow(self, request: web.Request, view: View) -> None:
        """Raises Refused unless whoever asks may see the view now."""
        ruling = await self._access.may(self._access.visitor(request), view)
        if not ruling.allowed:
            # The API server is away: 503 tells the page that it is not about its rights.
            raise Refused(503 if ruling.status == 500 else ruling.status, why(ruling))

    async def document(self, request: web.Request, name: str, pick: Pick) -> web.Response:
        """What changed since the stamp of the query; without one, all of it. `name`: of the view."""
        await _begun(await pick())
        board = await pick()
        await _begun(board)
        since = request.query.get("since", "")
        body, headers = board.since(since), {"X-Windlass-Now": board.now_text()}
        if len(body) >= _PACKED_FROM and accepts_gzip(request):
            headers["Content-Encoding"] = "gzip"
            body = self._pack(name, board.stamp, since, body)
        return web.Response(body=body, content_type="application/json", headers=headers)

    async def follow(self, request: web.Request, pick: Pick) -> web.StreamResponse:
        """The changes from now on. The board is picked again at each change and sign of life."""
        await pick()
        if len(self._open) >= MOST:
            raise Refused(503, f"{MOST} pages are open already: try again later")
        user = self._access.visitor(request).user
        if list(self._open.values()).count(user) >= MOST_OF_ONE:
            raise Refused(429, f"{user} has {MOST_OF_ONE} pages open already: close some")
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "X-Accel-Buffering": "no"})
        # The page may be gone, or read nothing, at any write.
        async with self._counted(user):
            with contextlib.suppress(OSError, TimeoutError):
                await response.prepare(request)
                try:
                    await self._send_changes(request, response, pick)
                except Refused as refused:
                    await _send(response, "end", {"status": refused.status, "why": str(refused)})
                except asyncio.CancelledError:
                    if not self._stopping:
                        raise
                    await _send(response, "end", {"status": 503, "why": "the server is stopping"})
        return response

    async def _send_changes(self, request: web.Request, response: web.StreamResponse, pick: Pick) -> None:
        seen, loop = request.query.get("since", ""), asyncio.get_running_loop()
        next_beat = loop.time()
        while True:
            # The stamp of another board asks for all of it.
            board = await pick()
            if loop.time() >= next_beat:
                await _send(response, "beat", {"now": board.now_text()})
                next_beat = loop.time() + self._beat
            # What is read for whoever looks takes a moment: until then the page keeps what it has.
            if board.shown and board.stamp != seen:
                body, seen = board.since(seen), board.stamp
                await _write(response, b"event: change\ndata: " + body + b"\n\n")
                await asyncio.sleep(BREATH)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(next_beat):
                    await board.newer_than(seen if board.shown else board.stamp)

    def _pack(self, name: str, stamp: str, since: str, body: bytes) -> bytes:
        """Many pages ask for the same body, and compressing it costs more than all the rest."""
        key = (name, stamp, since)
        if key not in self._packed:
            if len(self._packed) >= _PACKED_AT_MOST:
                self._packed.clear()
            self._packed[key] = gzip.compress(body, compresslevel=5, mtime=0)
        return self._packed[key]

    @asynccontextmanager
    async def _counted(self, user: str) -> AsyncIterator[None]:
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = user
        try:
            yield
        finally:
            self._open.pop(task, None)


async def _begun(board: Board) -> None:
    """Wait for the first document, but not for long."""
    if not board.shown:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(board.newer_than(board.stamp), FIRST)


async def _send(response: web.StreamResponse, event: str, data: Any) -> None:
    await _write(response, f"event: {event}\ndata: ".encode() + msgspec.json.encode(data) + b"\n\n")


async def _write(response: web.StreamResponse, chunk: bytes) -> None:
    # A page that reads nothing must not keep its stream: writing waits as soon as the buffers are full.
    async with asyncio.timeout(STUCK):
        await response.write(chunk)
