"""Bounds how fast an informer may bring up new uids: each of them is a write, and a new line for people to read."""

from collections import deque
from collections.abc import Iterable
from typing import Final

from windlass.update_status.report import InformerInsight

MOST_NEW: Final = 64
"""New uids of an informer within `WINDOW`."""
WINDOW: Final = 600.0
"""Seconds."""


class Allowance:
    """At most `most` of something within `WINDOW`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken: deque[float] = deque()

    def take(self, *, now: float) -> bool:
        """Whether there may be one more at `now`, in seconds of any clock; if so, it counts."""
        while self._taken and self._taken[0] <= now - WINDOW:
            self._taken.popleft()
        if len(self._taken) >= self._most:
            return False
        self._taken.append(now)
        return True


class Churn:
    """The uids of one informer. `known`: uids already stored before this process began."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._known = set(known)
        self._new = Allowance(MOST_NEW)

    def admit(self, told: Iterable[InformerInsight], *, now: float) -> tuple[tuple[InformerInsight, ...], int]:
        """The insights that may come in at `now` (seconds of any clock), and how many may not."""
        every = tuple(told)
        kept = tuple(one for one in every if one.uid in self._known or self._new.take(now=now))
        self._known = {one.uid for one in kept}
        return kept, len(every) - len(kept)
