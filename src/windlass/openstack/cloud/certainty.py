"""What a process knows about each owner, and when it must look: the rules of "look before a create".

| the mark | what `look` needs |
|---|---|
| made up by this process, and no outcome unknown since | nothing: only our own answers can be about it |
| any other | a list that began in this term of leadership |
| a request with an unknown outcome | a list that began after that |
| the same, if the request may still be under way | that, and for certainty one that began when it cannot be any more |

A term begins when the poll is attached, that is, when the controller begins to work. A request of the leader before may
still be under way then, so an absence is certain only `Times.request` seconds later.
"""

import sys
from collections.abc import Callable
from datetime import datetime

from msgspec import Struct, field

from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.inventory import Refusal
from windlass.openstack.cloud.requests import CloudRequest, CreateServer

NEVER = float("-inf")
"""When a list must have begun that is not needed at all."""
ONCE = -sys.float_info.max
"""When a list must have begun that may be any."""


class Times(Struct, frozen=True, kw_only=True):
    """`request`: the longest that a request may be under way, in seconds.

    `answer`: how long the answer to a write is awaited: shorter, and shorter than the runtime's patience with a Call,
    so that the failure says what was slow.
    """

    request: float = 31.0
    answer: float = 28.0


class Need(Struct, frozen=True):
    """A list must have begun at `since` or later; absences are certain in one that began at `certain` or later."""

    since: float
    certain: float


class _Known(Struct):
    since: float
    certain: float
    refusals: dict[tuple[str, str], Refusal] = field(default_factory=dict)
    missing: datetime | None = None
    quick: bool = False


class Knowledge:
    """See the module. `clock` is monotonic, in seconds. `unsent`: marks with which nothing was asked for yet."""

    def __init__(self, clock: Callable[[], float], times: Times, unsent: set[str]) -> None:
        self._clock = clock
        self._times = times
        self._known: dict[str, _Known] = {}
        self._term = ONCE
        self._unsent = unsent

    def begin_term(self, at: float) -> None:
        """This process began to work then: what earlier leaders did is unknown."""
        self._term = at
        self._known.clear()

    def sending(self, mark: str) -> None:
        """Something is asked for with this mark, in this project: from now on others must look."""
        self._of(mark)
        self._unsent.discard(mark)

    def forget(self, mark: str) -> None:
        self._known.pop(mark, None)

    def needed(self, mark: str, *, fresh: bool = False) -> Need:
        known = self._of(mark)
        now = self._clock()
        since = known.certain if now >= known.certain else known.since
        return Need(now if fresh else since, known.certain)

    def certain_in(self, mark: str) -> float:
        """Seconds until a look can be certain."""
        return max(self._of(mark).certain - self._clock(), 0.0)

    def doubt(self, mark: str, *, slow: bool) -> None:
        """The outcome of a request is unknown; `slow`: it may still be under way."""
        known = self._of(mark)
        known.since = self._clock()
        known.certain = max(known.certain, known.since + (self._times.request if slow else 0.0))

    def doubted(self, request: CloudRequest) -> None:
        """The runtime doubts a request. If the cloud's answer was the reason, that is taken into account already."""
        known = self._of(request.mark)
        if known.quick:
            known.quick = False
        else:
            self.doubt(request.mark, slow=True)

    def refused(self, request: CloudRequest, failure: CloudFailure, at: datetime) -> None:
        known = self._of(request.mark)
        what = (request.verb, request.subject)
        times = known.refusals[what].times + 1 if what in known.refusals else 1
        known.refusals[what] = Refusal(*what, failure, at, times)
        if failure.unknown_outcome:
            # A service that answers has ended. Behind a lost connection or a proxy it may still be at work.
            self.doubt(request.mark, slow=failure.code in (0, 502, 504))
            known.quick = True
        elif isinstance(request, CreateServer):
            # Nova may have reserved volumes before it refused.
            self.doubt(request.mark, slow=False)

    def accepted(self, request: CloudRequest) -> None:
        self._of(request.mark).refusals.pop((request.verb, request.subject), None)

    def refusals(self, mark: str) -> tuple[Refusal, ...]:
        return tuple(self._of(mark).refusals.values())

    def missing(self, mark: str, as_of: datetime | None) -> datetime | None:
        """Since when the recorded server is missing. `as_of`: it is not in the list of that time; None: it is there."""
        known = self._of(mark)
        known.missing = None if as_of is None else known.missing or as_of
        return known.missing

    def _of(self, mark: str) -> _Known:
        if mark not in self._known:
            new = mark in self._unsent
            self._known[mark] = _Known(NEVER, NEVER) if new else _Known(self._term, self._term + self._times.request)
        return self._known[mark]
