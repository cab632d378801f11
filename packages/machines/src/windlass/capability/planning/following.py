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
from windlass.kube.control.plan import Call, Done, Emit, Next, Outcome, Plan, Request, Result, Retry, WaitFor
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


async def follow(
    asked: Sequence[tuple[Decider, Any]],
    *,
    api: Api,
    ledger: Ledger,
    now: datetime,
    more: Callable[[], Sequence[tuple[Decider, Any]]] = tuple,
) -> list[Course]:
    """Reconcile every key until it rests, one after the other, and again while a key writes what another may read.

    Writes may make objects with keys of their own, which `more` finds. Writes go to `api` and are reported to `ledger`.
    The time is always `now`.
    """
    keys = {(decider.controller.name, key): (decider, key) for decider, key in asked}
    courses: dict[tuple[str, Any], Course] = {}
    for _ in range(MAX_ROUNDS):
        wrote = 0
        for place, (decider, key) in keys.items():
            course = courses.setdefault(place, Course(decider.kind, decider.name(key)))
            executor = _Recorder(api, ledger=ledger, permits=Declared(decider.controller.declared), now=lambda: now)
            executor.rounds, before = course.rounds, len(course.rounds)
            rest = await decider.controller.reconcile(
                key,
                executor=executor,
                now=lambda: now,
                max_rounds=MAX_ROUNDS,
            )
            course.next = _awaited(course) or rest.next
            if before and _asks_again(course.rounds[before - 1], course.rounds[before:]):
                del course.rounds[before:]
            course.restless = rest.failed and rest.rounds >= MAX_ROUNDS
            wrote += rest.writes
        if not wrote:
            return list(courses.values())
        for decider, key in more():
            keys.setdefault((decider.controller.name, key), (decider, key))
    # Every key comes to rest, but wakes another one that undoes its changes.
    for course in courses.values():
        if course.rounds:
            course.restless = True
            course.next = Retry(f"no rest: after {MAX_ROUNDS} turns keys still change what others have just written")
    return list(courses.values())


def _asks_again(last: Sequence[Result], rounds: Sequence[Sequence[Result]]) -> bool:
    """Whether these rounds only repeat the requests that the model withheld in the round before."""
    return bool(rounds) and _withheld(last) == _withheld(rounds[0]) is not None and len(rounds) == 1


def _withheld(tried: Sequence[Result]) -> list[Request] | None:
    """The requests of a round that did nothing else than ask for them."""
    calls = [each.action.request for each in tried if isinstance(each.action, Call)]
    return calls if len(calls) == len(tried) and all(isinstance(each.error, Withheld) for each in tried) else None


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
