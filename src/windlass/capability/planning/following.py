"""Carries out plans on a model of a cluster until nothing is left to do; never on a cluster.

The model has no other controllers, no people and no other systems. Where a plan waits for one of them, following it
ends.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct, field

from windlass.capability.planning.decider import Decider
from windlass.kube.control.executor import Executor, Ledger
from windlass.kube.control.permissions import Declared
from windlass.kube.control.plan import Call, Done, Emit, Next, Outcome, Plan, Result, Retry, WaitFor
from windlass.kube.control.rounds import reconcile
from windlass.kube.errors import Withheld
from windlass.kube.object import Object
from windlass.kube.verbs import Api

MAX_ROUNDS = 8
"""Rounds in which a key must come to rest, and turns in which keys may wake each other."""


class Course(Struct):
    """How one key came to rest: what was tried in each round, and what comes next."""

    kind: str
    name: str
    next: Next = Done()
    rounds: list[tuple[Result, ...]] = field(default_factory=list)
    restless: bool = False
    """The key did not converge: its last round still changed something."""

    @property
    def writes(self) -> int:
        """How many writes were carried out; Events do not count."""
        return sum(
            result.error is None and not isinstance(result.action, Emit) for tried in self.rounds for result in tried
        )

    @property
    def idle(self) -> bool:
        """There was nothing to do, to wait for or to say about it."""
        return not self.rounds and isinstance(self.next, Done)


async def follow(asked: Sequence[tuple[Decider, Any]], *, api: Api, ledger: Ledger, now: datetime) -> list[Course]:
    """Reconcile every key until it rests, one after the other, and again while a key writes what another may read.

    Writes go to `api` and are reported to `ledger`. The time is always `now`.
    """
    courses = [Course(decider.kind, decider.name(key)) for decider, key in asked]
    executors = {
        decider.kind: _Recorder(api, ledger=ledger, permits=Declared(decider.controller.declared), now=lambda: now)
        for decider, _ in asked
    }
    for _ in range(MAX_ROUNDS):
        wrote = 0
        for (decider, key), course in zip(asked, courses, strict=True):
            executor = executors[decider.kind]
            executor.rounds = course.rounds
            rest = await reconcile(
                key,
                observe=decider.controller.observe,
                decide=decider.controller.decide,
                executor=executor,
                now=lambda: now,
                max_rounds=MAX_ROUNDS,
            )
            course.next = _awaited(course) or rest.next
            course.restless = rest.failed and rest.rounds >= MAX_ROUNDS
            wrote += rest.writes
        if not wrote:
            return courses
    # Every key comes to rest, but wakes another one that undoes its changes.
    for course in courses:
        if course.rounds:
            course.restless = True
            course.next = Retry(f"no rest: after {MAX_ROUNDS} turns keys still change what others have just written")
    return courses


def _awaited(course: Course) -> WaitFor | None:
    """What a key waits for if its last round ended at a request to a system that the model does not have."""
    tried = course.rounds[-1] if course.rounds else ()
    for result in tried:
        if isinstance(result.error, Withheld) and isinstance(result.action, Call):
            return WaitFor(f"the answer of {result.action.system}, which the model lacks: later rounds depend on it")
    return None


class _Recorder(Executor):
    """Keeps what it tried, in the list of whoever's turn it is."""

    rounds: list[tuple[Result, ...]]

    async def apply(self, plan: Plan, *, wrote: Callable[[Object[Any]], None] | None = None) -> Outcome:
        outcome = await super().apply(plan, wrote=wrote)
        self.rounds.append(outcome.results)
        return outcome
