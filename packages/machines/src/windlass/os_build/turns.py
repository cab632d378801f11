"""Lets so many pools build at once as the cluster has room for; the others wait for their turn, the longest wait first.

A build that runs has its turn whatever the limit says: it may have begun under another one, or another leader. A build
that something keeps from its start has none, and takes no other pool's place.
"""

from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from typing import ClassVar, Final

from msgspec import Struct

from windlass.kube.control.question import Question

SYSTEM: Final = "turns"
LIMIT: Final = 10
AGAIN: Final = 5.0
"""Seconds after which a pool asks again for its turn."""
_FORGET: Final = timedelta(seconds=20)
"""After that, a pool that has not asked again waits no more, and a turn that no build has taken is free again."""


class Queued(Struct, frozen=True):
    """The pool waits. `building` have their turn; `before` is how many others wait longer."""

    building: tuple[str, ...]
    before: int


class Turn(Question[Queued | None], frozen=True):
    """Whether it is the turn of the pool to build; None: it is. `since` when it wants to."""

    SYSTEM: ClassVar[str] = SYSTEM
    FREE: ClassVar[bool] = True

    pool: str
    since: datetime


class Turns:
    """Who may build. `active` tells the pools of which a builder runs, as caches say; `limit` 0: all may."""

    def __init__(
        self,
        active: Callable[[], Collection[str]],
        *,
        limit: int,
        now: Callable[[], datetime],
    ) -> None:
        self._active = active
        self._limit = limit
        self._now = now
        self._granted: dict[str, datetime] = {}
        """Turns that caches do not show yet."""
        self._waiting: dict[str, tuple[datetime, datetime]] = {}
        """By pool: since when it wants to build, and when it asked last."""

    async def answer(self, turn: Turn, /) -> Queued | None:
        return self.instantly(turn)

    def instantly(self, turn: Turn, /) -> Queued | None:
        if not self._limit:
            return None
        now, active = self._now(), set(self._active())
        self._granted = {pool: at for pool, at in self._granted.items() if pool not in active and now - at < _FORGET}
        self._waiting = {pool: each for pool, each in self._waiting.items() if now - each[1] < _FORGET}
        busy = active | self._granted.keys()
        if turn.pool in busy:
            return None
        self._waiting[turn.pool] = turn.since, now
        before = sorted(self._waiting, key=lambda pool: (self._waiting[pool][0], pool)).index(turn.pool)
        if len(busy) + before >= self._limit:
            return Queued(tuple(sorted(busy)), before)
        del self._waiting[turn.pool]
        self._granted[turn.pool] = now
        return None
