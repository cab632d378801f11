"""The document of a view: a flat map of parts, of which pages get only what changed.

    board = Board()
    board.show({"pool/worker": {...}, "node/worker-0": {...}})     # the whole document, whenever it may have changed
    body = board.since("")                                         # for a page that opens: all parts
    stamp = board.stamp
    await board.newer_than(stamp)
    body = board.since(stamp)                                      # for a page that is open: what changed

A part is any JSON value. A page names the stamp of what it has, so one that was away for a while gets only the
difference, too. Changes are not queued: a slow page gets the latest state, and costs no memory.
"""

import asyncio
import secrets
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

MOST_GONE: Final = 4096
"""Removed parts that are remembered. A page that is older than what was forgotten gets the whole document."""

_ENCODE: Final = msgspec.json.Encoder(order="deterministic").encode


class Board:
    """See the module. One event loop uses it. `clock`: the time that pages go by."""

    def __init__(self, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._clock = clock
        # A page may outlive this process: the stamp of another one says nothing.
        self._epoch = secrets.token_hex(4)
        self._version = 0
        self._at = ""
        """When the document changed last, RFC 3339."""
        self._parts: dict[str, bytes] = {}
        self._changed: dict[str, int] = {}
        """The version in which each part changed last; of parts that are gone, too."""
        self._whole_before = 0
        """Pages with an older version get the whole document."""
        self._bodies: dict[int, bytes] = {}
        """The answers for pages by version: most pages have the same version."""
        self._news = asyncio.Event()

    @property
    def stamp(self) -> str:
        """Names the present state."""
        return f"{self._epoch}.{self._version}"

    @property
    def shown(self) -> bool:
        """Whether there was a document."""
        return self._version > 0

    def __contains__(self, key: str) -> bool:
        """Whether the document has this part now."""
        return key in self._parts

    def part(self, key: str) -> bytes | None:
        """One part as JSON; None if there is none."""
        return self._parts.get(key)

    def now_text(self) -> str:
        """The present, RFC 3339 in milliseconds."""
        return self._clock().astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def show(self, document: Mapping[str, Any]) -> None:
        """Replace the whole document; parts that are equal to what they were do not count as changed."""
        encoded = {key: _ENCODE(value) for key, value in document.items()}
        changed = [key for key, body in encoded.items() if self._parts.get(key) != body]
        gone = self._parts.keys() - encoded.keys()
        self._advance({key: encoded[key] for key in changed}, gone)

    def change(self, parts: Mapping[str, Any], gone: "set[str] | frozenset[str]" = frozenset()) -> None:
        """Replace some parts, and remove others."""
        encoded = {key: _ENCODE(value) for key, value in parts.items()}
        changed = {key: body for key, body in encoded.items() if self._parts.get(key) != body}
        self._advance(changed, self._parts.keys() & gone)

    def since(self, stamp: str) -> bytes:
        """The JSON that a page with this stamp needs: `{"stamp", "at", "whole", "parts", "gone"}`."""
        seen = self._seen(stamp)
        if seen not in self._bodies:
            self._bodies[seen] = self._body(seen)
        return self._bodies[seen]

    async def newer_than(self, stamp: str) -> None:
        """Wait until the present state is another one."""
        while self.stamp == stamp:
            await self._news.wait()

    def _advance(self, changed: Mapping[str, bytes], gone: "set[str]") -> None:
        if not changed and not gone and self.shown:
            return
        self._version += 1
        self._at = self.now_text()
        self._parts.update(changed)
        for key in gone:
            del self._parts[key]
        for key in (*changed, *gone):
            self._changed[key] = self._version
        if len(self._changed) - len(self._parts) > MOST_GONE:
            self._changed = {key: self._changed[key] for key in self._parts}
            self._whole_before = self._version
        self._bodies.clear()
        self._news.set()
        self._news = asyncio.Event()

    def _seen(self, stamp: str) -> int:
        """The version of a stamp; 0 if the whole document is needed."""
        epoch, _, version = stamp.partition(".")
        if epoch != self._epoch or not version.isdecimal() or len(version) > 15:
            return 0
        seen = int(version)
        return seen if self._whole_before <= seen <= self._version else 0

    def _body(self, seen: int) -> bytes:
        fresh = [key for key, version in self._changed.items() if version > seen and key in self._parts]
        gone = [key for key, version in self._changed.items() if version > seen and key not in self._parts]
        parts = b",".join(_ENCODE(key) + b":" + self._parts[key] for key in fresh)
        head = _ENCODE({"stamp": self.stamp, "at": self._at, "whole": not seen, "gone": gone if seen else []})
        return head[:-1] + b',"parts":{' + parts + b"}}"
