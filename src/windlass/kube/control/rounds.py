"""One key from any state to rest: rounds of observe, decide, apply.

    while the plan has something to do:  observe -> decide -> apply

The outcome of a round is part of the next observation, so `decide` sees what the API server refused and can turn it
into a condition or an Event. Four kinds of outcome never reach it, because there is nothing to decide about them:
a conflict (somebody wrote or created first: observe again, later), an observed object that is gone by now (observe
again, at once), a transient failure (try again, later) and a fenced write.

Every other refusal is put to `decide` once. If the next round ends with the same action refused in the same words,
`decide` has no answer to it: the attempt ends with that error, and the key comes back with growing delays.

A plan whose writes the server takes without anything changing (it puts a default back, it prunes a field) would be
made again for ever, so it counts as rest. A plan that still changes something after `max_rounds` rounds is not
converging; the error shows the last two plans and the last refusal.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from windlass.kube.control.executor import Executor
from windlass.kube.control.plan import Emit, Next, Outcome, Plan, Retry
from windlass.kube.errors import AlreadyExists, Conflict, KubeError, NotFound
from windlass.kube.object import Object

MAX_ROUNDS = 20

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

    `next` is what the last plan said, or Retry for what stopped it; `error` is that error if the API server or the
    network was the reason. `rounds` and `writes` count what it took.
    """

    next: Next
    rounds: int = 0
    writes: int = 0
    error: KubeError | None = None

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
    wrote: Callable[[Object[Any]], None] | None = None,
    max_rounds: int = MAX_ROUNDS,
) -> Ending:
    """Take `key` to rest. Exceptions of `observe` and `decide` pass through: they are bugs, or KubeErrors of reads.

    `wrote` is told of each write that was answered.
    """
    last = refused = Outcome()
    before = plan = Plan()
    writes = 0
    for number in range(1, max_rounds + 1):
        snapshot = await observe(key, Outcome() if _vanished(last) else last)
        before, plan = plan, decide(snapshot, now=now())
        if not executor.pending(plan):
            return Ending(plan.next, number, writes)
        earlier, last = last, await executor.apply(plan, wrote=wrote)
        writes += sum(result.error is None and not isinstance(result.action, Emit) for result in last.results)
        error = last.error
        if error is not None:
            refused = last
            undecidable = error.transient or isinstance(error, Conflict | AlreadyExists)
            if undecidable or what_failed(last) == what_failed(earlier):
                return Ending(Retry(what_failed(last)), number, writes, error)
            if _vanished(last):
                continue
        if isinstance(plan.next, Retry):
            return Ending(plan.next, number, writes, error)
        if error is None and not any(result.changed for result in last.results):
            return Ending(plan.next, number, writes)
    text = f"no rest after {max_rounds} rounds; the last two plans were:\n{before}\nand then:\n{plan}"
    if refused.error is not None:
        text += f"\nthe last refusal was:\n{what_failed(refused)}"
    return Ending(Retry(text), max_rounds, writes, refused.error)


def _vanished(outcome: Outcome) -> bool:
    """Somebody deleted, a moment before our write, the object that it was about."""
    failed = outcome.failed
    if failed is None or not failed.action.target.uid:
        return False
    return isinstance(failed.error, NotFound)


def what_failed(outcome: Outcome) -> str:
    """What stopped a plan, for logs: the action and the error."""
    failed = outcome.failed
    return f"{failed.action}: {failed.error}" if failed else ""
