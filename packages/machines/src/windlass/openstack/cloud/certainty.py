"""What a process knows about each owner, and when it must look: the rules of "look before a create".

| the mark | what `look` needs |
|---|---|
| made up by this process, and no outcome unknown since | nothing: only our own answers can be about it |
| any other | a list that began in this term of leadership |
| a request with an unknown outcome | a list that began after that |
| a create request that may be under way | a list; certain if it shows the result, or began after the time limit |

What nobody has asked about for an hour is forgotten: a mark that comes back needs a list from after that.

A term begins when the poll is attached, that is, when the controller begins to work. A request of the leader before may
still be under way then, so an absence is certain only `Times.request` seconds later.
"""

import sys
from collections.abc import Callable
from datetime import datetime

from msgspec import Struct, field

from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.inventory import Refusal
from windlass.openstack.cloud.requests import CloudRequest, CreateServer, Creation

NEVER = float("-inf")
"""No list is needed: every list began later."""
ONCE = -sys.float_info.max
"""Any list will do."""
FORGOTTEN = 3600.0
"""Seconds after which a mark that nobody asks about is forgotten."""


class Times(Struct, frozen=True, kw_only=True):
    """`request`: the longest that a request may be under way, in seconds.

    `answer`: the longest wait for the answer to a write. It is shorter than `request` and than the runtime's timeout of
    a Call, so that the failure names the slow service.
    """

    request: float = 31.0
    answer: float = 28.0


class Need(Struct, frozen=True):
    """A list must have begun at `since` or later; absences are certain in one that began at `certain` or later."""

    since: float
    certain: float


class _Sent(Struct):
    """A creating request: the IDs of what existed `before` under its name, and when it cannot be under way any more."""

    request: Creation
    before: frozenset[str]
    until: float = NEVER


class _Known(Struct):
    since: float
    certain: float
    sent: dict[tuple[str, str], _Sent] = field(default_factory=dict)
    refusals: dict[tuple[str, str], Refusal] = field(default_factory=dict)
    missing: datetime | None = None
    quick: bool = False
    used: float = NEVER


class Knowledge:
    """See the module. `clock` is monotonic, in seconds. `unsent`: marks with which nothing was asked for yet."""

    def __init__(self, clock: Callable[[], float], times: Times, unsent: set[str]) -> None:
        self._clock = clock
        self._times = times
        self._known: dict[str, _Known] = {}
        self._term = ONCE
        self._forgot = NEVER
        self._unsent = unsent

    def begin_term(self, at: float) -> None:
        """This process began to work then. Requests of earlier leaders are unknown."""
        # The leader before may have sent requests until now. Without its memory, all of them may still be under way.
        self._term = at
        self._known.clear()

    def sending(self, request: Creation, before: frozenset[str]) -> None:
        """Something is asked for with this mark, in this project: from now on others must look.

        `before`: the IDs of what is known to exist under its name.
        """
        # Before it leaves: if this is cancelled from here on, nobody learns whether the request was carried out.
        self._of(request.mark).sent[request.verb, request.subject] = _Sent(request, before)
        self._unsent.discard(request.mark)

    def forget(self, mark: str) -> None:
        self._known.pop(mark, None)

    def needed(self, mark: str, *, fresh: bool = False) -> Need:
        known = self._of(mark)
        now, certain = self._clock(), self._certain(known)
        # A list from before `certain` may lack what a late request makes, so once that time is over one more is needed.
        since = max(certain, known.since) if now >= certain else known.since
        return Need(now if fresh else since, certain)

    def certain_in(self, mark: str) -> float:
        """Seconds until a look can be certain."""
        return max(self._certain(self._of(mark)) - self._clock(), 0.0)

    def compare(self, mark: str, there: Callable[[Creation], frozenset[str]]) -> None:
        """End the doubt about requests whose result is `there`: the IDs of what exists under the name of each."""
        for each in self._of(mark).sent.values():
            # Something that was there before has the same name: only what came since is the result of the request.
            if each.until > NEVER and there(each.request) - each.before:
                each.until = NEVER

    def doubt(self, mark: str) -> None:
        """The outcome of a request is unknown."""
        self._of(mark).since = self._clock()

    def doubted(self, request: CloudRequest) -> None:
        """The outcome is unknown. If the cloud's answer is the reason, `refused` has counted it already."""
        known = self._of(request.mark)
        if known.quick:  # the carrier doubts every unknown outcome, also one whose answer was counted
            known.quick = False
        else:
            self._late(request)

    def refused(self, request: CloudRequest, failure: CloudFailure, at: datetime) -> None:
        known = self._of(request.mark)
        what = (request.verb, request.subject)
        times = known.refusals[what].times + 1 if what in known.refusals else 1
        known.refusals[what] = Refusal(*what, failure, at, times)
        if failure.unknown_outcome:
            # A service that answers has ended. Behind a lost connection or a proxy it may still be at work.
            if failure.code in (0, 502, 504):
                self._late(request)
            else:
                self.doubt(request.mark)
            known.quick = True
        elif isinstance(request, CreateServer):
            # Nova may have reserved volumes before it refused.
            self.doubt(request.mark)

    def accepted(self, request: CloudRequest) -> None:
        self._of(request.mark).refusals.pop((request.verb, request.subject), None)

    def refusals(self, mark: str) -> tuple[Refusal, ...]:
        return tuple(self._of(mark).refusals.values())

    def missing(self, mark: str, as_of: datetime | None) -> datetime | None:
        """Since when the recorded server is missing. `as_of`: it is not in the list of that time; None: it is there."""
        known = self._of(mark)
        known.missing = None if as_of is None else known.missing or as_of
        return known.missing

    def _late(self, request: CloudRequest) -> None:
        """It may still be under way. Only what creates something can make an absence untrue later."""
        self.doubt(request.mark)
        known = self._of(request.mark)
        if (sent := known.sent.get((request.verb, request.subject))) is not None:
            sent.until = known.since + self._times.request

    def _certain(self, known: _Known) -> float:
        return max((known.certain, *(each.until for each in known.sent.values())))

    def _of(self, mark: str) -> _Known:
        now = self._clock()
        if (known := self._known.get(mark)) is None:
            self._forget_unused(now)
            # What was forgotten may have been in doubt: no list from before that says anything about it.
            since = max(self._term, self._forgot)
            new = mark in self._unsent
            known = _Known(NEVER, NEVER) if new else _Known(since, self._term + self._times.request)
            self._known[mark] = known
        known.used = now
        return known

    def _forget_unused(self, now: float) -> None:
        oldest = now - FORGOTTEN
        if unused := [mark for mark, known in self._known.items() if known.used < oldest]:
            self._forgot = now
            for mark in unused:
                del self._known[mark]
