"""Declares how long a key rests after a reconcile, in proportion to what its writes cost.

A large object that describes many small ones could be written at each of their changes, and each write costs the API
server as much as the object is large. With a pace, changes are collected while the key rests:

    Pace(floor=1.0, factor=5.0)     # at most one write a second, and writing takes at most a sixth of the time

A server that is slow, or throttles, is written to less often. One write that hangs, as while an API server restarts,
says little about the next one: with `most`, the key does not rest for longer than that. See
`windlass.kube.control.rounds` for its effect on a reconcile.
"""

import math
from collections.abc import Callable

from msgspec import Struct


class Pace(Struct, frozen=True):
    """After a reconcile its key rests for `floor` seconds, or for `factor` times as long as its last plan was in
    writing, if that is longer, and for at most `most` seconds. The default is no rest.

    `asked` gives seconds of rest that the object itself asks for: a store that keeps each version whole grows by the
    size of the object with each write.
    """

    floor: float = 0.0
    factor: float = 0.0
    most: float = math.inf
    asked: Callable[[], float] = float

    def __post_init__(self) -> None:
        if self.floor < 0 or self.factor < 0:
            raise ValueError(f"{self} goes back in time: neither floor nor factor may be negative")

    def rest(self, writing: float) -> float:
        """Seconds of rest after a reconcile whose last plan was carried out in `writing` seconds (0: no plan)."""
        return max(self.floor, min(max(self.asked(), self.factor * writing), self.most))
