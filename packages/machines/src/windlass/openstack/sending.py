"""Which requests may be sent now, and what the others wait for: closed gates, and refusals that are not due again."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from windlass.kube.control.plan import Action, Call, Outcome, Plan, RequeueAfter, target
from windlass.kube.control.seen import Present
from windlass.kube.errors import Failure
from windlass.openstack.cloud.gates import IDENTITY, quota_gate
from windlass.openstack.cloud.inventory import Blockers
from windlass.openstack.cloud.requests import CloudRequest
from windlass.openstack.trouble import Trouble

SOON: Final = 0.2
"""Seconds until the rest is sent, after a request of the same attempt failed."""
THE_REST: Final = RequeueAfter(SOON, "send the rest")


class Deferred(Struct, frozen=True):
    """A request that is not sent before `until`, and why."""

    request: CloudRequest
    until: datetime
    trouble: Trouble


class Sending(Struct, frozen=True):
    """`now` may be sent at once. Of those that wait, `first` is reported: what a person must correct, else what
    is tried again first.

    `later`: nothing more is sent in this attempt, because a request of it failed.
    """

    now: tuple[CloudRequest, ...]
    first: Deferred | None
    later: bool

    def plan(
        self, found: Present[Any], why: str, *, write: Action | None = None, deferred: Callable[[Deferred], Plan]
    ) -> Plan:
        """Sends those of `now`, after `write`. If none may be sent, `deferred` says what is waited for."""
        if self.now and not self.later:
            return Plan.of(write, *calls(found, self.now, why))
        plan = deferred(self.first) if self.first is not None else Plan.nothing().then(THE_REST)
        return plan.then(THE_REST) if self.now else plan


class RequestGate(Struct, frozen=True, kw_only=True):
    """What decides whether requests are sent: the `blockers` for their owner, the outcome of the last round, and since
    when the trouble with a condition lasts. `explain` turns the failure of a request into a trouble."""

    blockers: Blockers
    last: Outcome
    now: datetime
    since: Callable[[str], datetime | None]
    explain: Callable[[CloudRequest, Failure], Trouble]

    def admit(self, requests: Iterable[CloudRequest]) -> Sending:
        free: list[CloudRequest] = []
        deferred: list[Deferred] = []
        for request in requests:
            waits = [*self._refused(request), *self._gated(request)]
            longest = max((each for each in waits if each.until > self.now), key=lambda each: each.until, default=None)
            if longest is None:
                free.append(request)
            else:
                deferred.append(longest)
        first = min(deferred, key=lambda each: (each.trouble.by_itself, each.until), default=None)
        return Sending(tuple(free), first, later=_has_failed(self.last))

    def _refused(self, request: CloudRequest) -> Iterable[Deferred]:
        remembered = [
            (each.failure, each.at)
            for each in self.blockers.refusals
            if (each.what, each.subject) == (request.verb, request.subject)
        ]
        if remembered:
            yield self._deferred(request, *max(remembered, key=lambda pair: pair[1]))
            return
        for each in self.last.failures:
            if isinstance(each.action, Call) and each.action.request == request and each.error is not None:
                yield self._deferred(request, each.error, self.now)

    def _gated(self, request: CloudRequest) -> Iterable[Deferred]:
        quota = quota_gate(request.http) if request.CREATES else ""
        for name, closed in self.blockers.gates.items():
            if name in (request.SERVICE, IDENTITY, quota):
                yield Deferred(request, closed.until, self.explain(request, closed.why))

    def _deferred(self, request: CloudRequest, failure: Failure, at: datetime) -> Deferred:
        about = self.explain(request, failure)
        return Deferred(request, about.due(at, since=self.since(about.type)), about)


def at(until: datetime, why: str, *, now: datetime) -> RequeueAfter:
    """The next look is at `until`, or in a moment if that has passed."""
    return RequeueAfter(max((until - now).total_seconds(), 0.05), why)


def calls(found: Present[Any], requests: Sequence[CloudRequest], why: str) -> list[Call]:
    return [Call(target=target(found), request=request, why=why) for request in requests]


def _has_failed(last: Outcome) -> bool:
    """Another system failed in this attempt, so no further request is sent in it."""
    return any(
        isinstance(each.action, Call) and (each.error.transient or each.error.unknown_outcome)
        for each in last.failures
        if each.error is not None
    )
