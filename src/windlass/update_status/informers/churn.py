"""Bounds how fast an informer may bring up new uids: each of them is a write, and a new line for people to read."""

from collections import deque
from collections.abc import Iterable
from typing import Final

from windlass.update_status.report import Told

MOST_NEW: Final = 64
"""New uids of an informer within `WINDOW`."""
WINDOW: Final = 600.0
"""Seconds."""


class Churn:
    """The uids of one informer. `known`: those that stand already, from before this process."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._known = set(known)
        self._new: deque[float] = deque()

    def admit(self, told: Iterable[Told], *, now: float) -> tuple[tuple[Told, ...], int]:
        """The insights that may come in at `now` (seconds of any clock), and how many may not."""
        while self._new and self._new[0] <= now - WINDOW:
            self._new.popleft()
        kept: list[Told] = []
        refused = 0
        for one in told:
            if one.uid not in self._known:
                if len(self._new) >= MOST_NEW:
                    refused += 1
                    continue
                self._new.append(now)
            kept.append(one)
        self._known = {one.uid for one in kept}
        return tuple(kept), refused
