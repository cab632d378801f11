"""Reconciles one key in rounds of observe, decide and apply, until nothing is left to do.

    while the plan has something to do:  observe -> decide, with the answers that it needs -> apply

The outcome of a round is part of the next observation, so `decide` sees what was refused and can turn it into a
condition or an Event. Other systems fail more often and for longer than the API server: `decide` gets all their
failures, transient or not. What a failure means for the rest of the attempt:

| failure | the next observation and decision have | the attempt ends |
|---|---|---|
| a write meets a conflict: another writer was first | | at once; the key comes back soon |
| a write to an object that is gone by now | an empty outcome, at once | |
| a write gets no answer, or a transient error | | at once; the object is read live next time |
| a write is fenced or withheld | | at once |
| a write is refused otherwise, also by a webhook that cannot be called | it, in `last` | if the same is refused again |
| an eviction is refused | it, in every later `last` | |
| a Call fails | it, in every later `last`; its system is asked again | if it is planned again |
| the same, transient or with an unknown outcome | the same | if any Call is planned |
| a Call was made, and is planned again | | before it: a look must show its result |
| a question is not answered by the API server, or `observe` raises | | at once, by that error |
| a question is not answered by another system | it, as the answer | if a Call is planned |

So a request is sent once in an attempt. A plan with a Call that may not be sent is carried out up to that Call; then
the attempt ends as a `Retry`. The pause is that of `decide` or the backoff, and never shorter than the `retry_after`
of the failure. An admission webhook that cannot be called is no transient failure, although the API server answers
500: it may be gone for days.

The first round of an attempt has no failure in `last`: `decide` must leave a failure condition as it is until then.

With a `Pace` an attempt ends with its first successful plan, and the next round is another reconcile, after the rest.
Otherwise what changed during a write would be written at once, and a large object again and again. An attempt with a
refusal, a Call or a token goes on, because `decide` must get the outcome.

If the server accepts the writes of a plan and nothing changes (it restores a default, it prunes a field), the plan
would be repeated for ever, so it counts as rest. A plan that still changes something after `max_rounds` rounds does not
converge; the error shows the last two plans and the last refusal.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Protocol, TypeVar

from msgspec import Struct, field

from windlass.kube.control.asking import Asker, Inquiry
from windlass.kube.control.executor import Executor
from windlass.kube.control.pace import Pace
from windlass.kube.control.plan import Action, Call, Emit, Next, Outcome, Plan, RequeueAfter, Result, Retry
from windlass.kube.errors import AlreadyExists, Conflict, Failure, Fenced, NotFound, Unevictable, Withheld
from windlass.kube.object import Object

MAX_ROUNDS = 20
NO_PACE = Pace()

KeyT = TypeVar("KeyT", contravariant=True)
SnapshotT = TypeVar("SnapshotT")


class Observe(Protocol[KeyT, SnapshotT]):  # type: ignore[misc]
    """Read everything that the decision about `key` may look at. `last` is the outcome of the round before."""

    def __call__(self, key: KeyT, last: Outcome, /) -> Awaitable[SnapshotT]: ...


class Decide(Protocol[SnapshotT]):  # type: ignore[misc]
    """Pure: the same snapshot and moment always give the same plan."""

    def __call__(self, snapshot: SnapshotT, /, *, now: datetime) -> Plan: ...


class Ending(Struct, frozen=True):
    """How a reconcile ended.

    `next` is that of the last plan, or Retry if an error stopped it. `error` is that error, or the transient failure
    of another system that `decide` took into account. `rounds` and `writes` are counts. `rest`: seconds for which the
    pace leaves the key alone.
    """

    next: Next
    rounds: int = 0
    writes: int = 0
    error: Failure | None = None
    rest: float = 0.0

    @property
    def failed(self) -> bool:
        return isinstance(self.next, Retry)


async def reconcile(
    key: KeyT,
    *,
    observe: Callable[[KeyT, Outcome], Awaitable[SnapshotT]],
    decide: Decide[SnapshotT],
    executor: Executor,
    now: Callable[[], datetime],
    asker: Asker | None = None,
    wrote: Callable[[Object[Any]], None] | None = None,
    pace: Pace = NO_PACE,
    max_rounds: int = MAX_ROUNDS,
) -> Ending:
    """Reconcile `key` until it rests. Raises exceptions of `observe` and `decide`: bugs, or Failures of reads.

    `asker` gets the answers that `decide` needs. `wrote` is called for each write that was answered. Time is that of
    the event loop.
    """
    inquiry = (asker or Asker({}, now=now)).inquiry(key)
    ending = await _reconcile(key, observe, decide, executor, inquiry, now, wrote, pace, max_rounds)
    inquiry.end()
    return ending


async def _reconcile(
    key: KeyT,
    observe: Callable[[KeyT, Outcome], Awaitable[SnapshotT]],
    decide: Decide[SnapshotT],
    executor: Executor,
    inquiry: Inquiry,
    now: Callable[[], datetime],
    wrote: Callable[[Object[Any]], None] | None,
    pace: Pace,
    max_rounds: int,
) -> Ending:
    clock = asyncio.get_running_loop().time
    attempt = _Attempt()
    last = refused = Outcome()
    before = plan = Plan()
    writes, rest = 0, pace.rest(0.0)
    for number in range(1, max_rounds + 1):
        snapshot = await observe(key, attempt.shown(Outcome() if _vanished(last) else last))
        before, plan = plan, await inquiry.decide(snapshot, lambda seen: decide(seen, now=now()))
        attempt.mind(inquiry.failure)
        plan, pending, held = attempt.admitted(plan, executor.pending(plan))
        if not pending:
            return Ending(plan.next, number, writes, held or attempt.stop, rest)
        began = clock()
        earlier, last = last, await executor.apply(plan, wrote=wrote)
        rest = pace.rest(clock() - began)
        writes += sum(result.error is None and not isinstance(result.action, Emit) for result in last.results)
        attempt.take_note(last)
        inquiry.acted(last)
        error = last.error
        if error is not None:
            refused = last
            undecidable = _undecidable(last)
            if undecidable is not None or what_failed(last) == what_failed(earlier):
                return Ending(Retry(what_failed(last)), number, writes, undecidable or error, rest)
            if _vanished(last) or _is_call(last.failed):
                continue
        if isinstance(plan.next, Retry):
            return Ending(plan.next, number, writes, error or held or attempt.stop, rest)
        if error is None and not any(result.changed for result in last.results):
            return Ending(plan.next, number, writes, attempt.stop, rest)
        if rest and refused.error is None and attempt.is_plain and not any(result.answer for result in last.results):
            return Ending(RequeueAfter(rest, "look at what was written"), number, writes, rest=rest)
    text = f"no rest after {max_rounds} rounds; the last two plans were:\n{before}\nand then:\n{plan}"
    if refused.error is not None:
        text += f"\nthe last refusal was:\n{what_failed(refused)}"
    return Ending(Retry(text), max_rounds, writes, refused.error, rest)


class _Attempt(Struct):
    """The Calls of one attempt, the failure after which it makes no more, and the evictions that were refused."""

    calls: list[tuple[Call, Result]] = field(default_factory=list)
    kept_pods: list[Result] = field(default_factory=list)
    stop: Failure | None = None

    @property
    def is_plain(self) -> bool:
        """No other system was asked or read in vain."""
        return not self.calls and self.stop is None

    def shown(self, last: Outcome) -> Outcome:
        """The outcome for `observe`: the round before, with all failures of other systems in this attempt, and all Pods
        that could not be evicted."""
        failed = [result for _, result in self.calls if result.error is not None]
        others = [result for result in last.results if result.error is None or not _is_call(result)]
        return Outcome((*failed, *(each for each in self.kept_pods if each not in others), *others))

    def mind(self, failure: Failure | None) -> None:
        """Record that another system did not answer."""
        if failure is not None:
            self._pause_for(failure)

    def take_note(self, outcome: Outcome) -> None:
        """Record the Calls among these results."""
        for result in outcome.results:
            if isinstance(result.error, Unevictable):
                self.kept_pods.append(result)
            if isinstance(result.action, Call):
                self.calls.append((result.action, result))
                if result.error is not None and (result.error.transient or result.error.unknown_outcome):
                    self._pause_for(result.error)

    def admitted(self, plan: Plan, pending: tuple[Action, ...]) -> tuple[Plan, tuple[Action, ...], Failure | None]:
        """The plan up to the first Call that may not be sent, what of it is pending, and the failure that is the
        reason, if one is."""
        for place, action in enumerate(pending):
            if not isinstance(action, Call):
                continue
            before = next((result for call, result in self.calls if action.repeats(call)), None)
            if before is not None or self.stop is not None:
                error = self.stop or (before.error if before else None)
                why = error or "this was done a moment ago, and the look after it does not show it"
                return Plan(pending[:place], Retry(f"{action}: {why}")), pending[:place], error
        return plan, pending, None

    def _pause_for(self, error: Failure) -> None:
        """Keep the failure with the longest pause."""
        if self.stop is None or (error.retry_after or 0.0) > (self.stop.retry_after or 0.0):
            self.stop = error


def _undecidable(outcome: Outcome) -> Failure | None:
    """The failure that `decide` does not get, if there is one."""
    if _is_call(outcome.failed):
        return next((each.error for each in outcome.failures if isinstance(each.error, Fenced | Withheld)), None)
    error = outcome.error
    return error if error is not None and (error.transient or isinstance(error, Conflict | AlreadyExists)) else None


def _is_call(result: Result | None) -> bool:
    return result is not None and isinstance(result.action, Call)


def _vanished(outcome: Outcome) -> bool:
    """Somebody deleted the object just before our write."""
    failed = outcome.failed
    if failed is None or _is_call(failed) or not failed.action.target.uid:
        return False
    return isinstance(failed.error, NotFound)


def what_failed(outcome: Outcome) -> str:
    """The actions and errors that stopped a plan, for logs."""
    return "\n".join(f"{failed.action}: {failed.error}" for failed in outcome.failures)
