"""Rounds of observe, decide and apply, until rest."""

from datetime import UTC, datetime
from itertools import count
from typing import Any

import pytest
from msgspec import Struct

from tests.unit.kube.widgets import NAMESPACE, Widget, widget
from windlass.kube.control.executor import Executor
from windlass.kube.control.plan import Create, Done, Merge, Outcome, Plan, RequeueAfter, Retry, Target, WaitFor
from windlass.kube.control.rounds import Ending, reconcile
from windlass.kube.errors import ApiError, Conflict, KubeError, NotFound, NotServed, Status, api_error
from windlass.kube.verbs import PatchType
from windlass.model import MemoryApi

NOW = datetime(2026, 5, 1, tzinfo=UTC)


class Seen(Struct, frozen=True):
    """The widget `w`, if it is there, and the outcome of the round before."""

    tree: dict[str, Any] | None
    uid: str
    version: str
    last: Outcome


class Loop:
    """A controller of the widget `w` on the model, with a given decision."""

    def __init__(self, decide: Any, *, api: MemoryApi | None = None) -> None:
        self.api = api or MemoryApi(Widget)
        self.seen: list[Seen] = []
        self._decide = decide

    async def observe(self, key: str, last: Outcome) -> Seen:
        found = self.api.peek(Widget, key, namespace=NAMESPACE)
        tree = found.tree() if found else None
        seen = Seen(tree, found.uid if found else "", found.resource_version if found else "", last)
        self.seen.append(seen)
        return seen

    def decide(self, seen: Seen, /, *, now: datetime) -> Plan:
        plan = self._decide(seen)
        assert isinstance(plan, Plan)
        return plan

    async def run(self) -> Ending:
        return await reconcile(
            "w", observe=self.observe, decide=self.decide, executor=Executor(self.api), now=lambda: NOW
        )


def grow(seen: Seen, size: int) -> Plan:
    """Create the widget, then make its size what it should be."""
    if seen.tree is None:
        return Plan.of(Create(target=Target(Widget, "w", NAMESPACE), body=widget("w", size=0)))
    aim = Target(Widget, "w", NAMESPACE, seen.uid, seen.version)
    return Plan.of(Merge(target=aim, observed={"spec": seen.tree["spec"]}, desired={"spec": {"size": size}}))


async def test_rounds_go_on_until_there_is_nothing_to_do() -> None:
    loop = Loop(lambda seen: grow(seen, 3))
    assert await loop.run() == Ending(Done(), rounds=3, writes=2)
    assert loop.seen[-1].tree is not None
    assert loop.seen[-1].tree["spec"] == {"size": 3}


async def test_at_rest_nothing_is_written() -> None:
    loop = Loop(lambda seen: grow(seen, 3))
    await loop.run()
    version = loop.api.version
    assert await loop.run() == Ending(Done(), rounds=1, writes=0)
    assert loop.api.version == version


@pytest.mark.parametrize("coming", [RequeueAfter(5.0, "poll"), WaitFor("the cloud")])
async def test_what_comes_next_is_what_the_last_plan_says(coming: Any) -> None:
    assert (await Loop(lambda seen: grow(seen, 3).then(coming)).run()).next == coming


async def test_the_outcome_of_a_round_is_part_of_the_next_observation() -> None:
    loop = Loop(lambda seen: grow(seen, 3))
    await loop.run()
    assert [len(seen.last.results) for seen in loop.seen] == [0, 1, 1]


async def test_a_refusal_is_decided_about() -> None:
    api = MemoryApi()

    def decide(seen: Seen) -> Plan:
        if seen.last.error is not None:
            return Plan.nothing(f"refused: {type(seen.last.error).__name__}")
        return grow(seen, 3)

    rest = await Loop(decide, api=api).run()
    assert rest.next == Done(f"refused: {NotServed.__name__}")


def forbidden() -> ApiError:
    return api_error(Status("Failure", "widgets may not grow", "Forbidden", 403))


async def test_a_refusal_that_nothing_is_decided_about_ends_the_attempt_with_its_error() -> None:
    api = MemoryApi(Widget)
    api.fail_next("create", Widget, refusal := forbidden(), times=20)
    rest = await Loop(lambda seen: grow(seen, 3).then(RequeueAfter(600.0)), api=api).run()
    text = "create Widget.example.com shop/w: widgets may not grow"
    assert rest == Ending(Retry(text), rounds=2, writes=0, error=refusal)


async def test_an_object_that_cannot_be_found_again_and_again_ends_the_attempt_with_its_error() -> None:
    api = MemoryApi(Widget)
    await api.create(Widget, widget("w", size=0), namespace=NAMESPACE)
    api.fail_next("patch", Widget, NotFound(Status("Failure", "no w", "NotFound", 404)), times=20)
    rest = await Loop(lambda seen: grow(seen, 3), api=api).run()
    assert (rest.next, rest.rounds) == (Retry("merge Widget.example.com shop/w: no w"), 2)


async def test_another_attempt_after_a_refusal_is_sent() -> None:
    def decide(seen: Seen) -> Plan:
        return grow(seen, 3 if seen.last.error is None else 4)

    api = MemoryApi(Widget)
    await api.create(Widget, widget("w", size=0), namespace=NAMESPACE)
    api.fail_next("patch", Widget, forbidden())
    rest = await Loop(decide, api=api).run()
    assert not rest.failed


async def test_a_refusal_between_writes_that_never_come_to_rest_is_not_lost() -> None:
    sizes = count(1)

    def decide(seen: Seen) -> Plan:
        if seen.last.failed is None:
            return Plan.of(Create(target=Target(Widget, "other", NAMESPACE), body=widget("other")))
        return grow(seen, next(sizes))

    api = MemoryApi(Widget)
    await api.create(Widget, widget("w", size=0), namespace=NAMESPACE)
    api.fail_next("create", Widget, refusal := forbidden(), times=20)
    rest = await Loop(decide, api=api).run()
    assert rest.error is refusal
    assert isinstance(rest.next, Retry)
    assert rest.next.error.endswith("the last refusal was:\ncreate Widget.example.com shop/other: widgets may not grow")


async def test_a_retry_ends_the_attempt_after_its_actions() -> None:
    loop = Loop(lambda seen: grow(seen, 3).retry("not yet"))
    rest = await loop.run()
    assert rest == Ending(Retry("not yet"), rounds=1, writes=1)
    assert rest.failed


async def test_a_conflict_ends_the_attempt_without_a_decision() -> None:
    loop = Loop(lambda seen: grow(seen, 3))
    await loop.api.create(Widget, widget("w", size=0), namespace=NAMESPACE)
    conflict: KubeError = await _conflict()
    loop.api.fail_next("patch", Widget, conflict)
    rest = await loop.run()
    assert rest.error is conflict
    assert isinstance(rest.next, Retry)
    assert len(loop.seen) == 1


async def test_a_write_that_the_server_undoes_is_not_repeated_for_ever() -> None:
    def decide(seen: Seen) -> Plan:
        if seen.tree is None:
            return grow(seen, 0)
        aim = Target(Widget, "w", NAMESPACE, seen.uid, seen.version)
        # Status is ignored outside of its own endpoint, like a field that a schema prunes.
        return Plan.of(Merge(target=aim, observed={}, desired={"status": {"phase": "Ready"}}))

    assert await Loop(decide).run() == Ending(Done(), rounds=2, writes=2)


async def test_a_plan_that_never_comes_to_rest_is_an_error_that_shows_the_last_two() -> None:
    sizes = count()
    rest = await Loop(lambda seen: grow(seen, next(sizes))).run()
    assert isinstance(rest.next, Retry)
    assert rest.rounds == 20
    assert rest.next.error.count("merge Widget.example.com shop/w") == 2


async def _conflict() -> Conflict:
    """A real one."""
    api = MemoryApi(Widget)
    made = await api.create(Widget, widget("w", size=0), namespace=NAMESPACE)
    stale = Target(Widget, "w", NAMESPACE, made.uid, "1000")
    outcome = await Executor(api).apply(Plan.of(Merge(target=stale, observed={}, desired={"spec": {"size": 1}})))
    assert isinstance(outcome.error, Conflict)
    return outcome.error


async def test_an_object_that_goes_while_it_is_written_is_looked_at_again_at_once() -> None:
    loop = Loop(lambda seen: grow(seen, 3))
    await loop.run()
    await loop.api.patch(Widget, "w", {"spec": {"size": 1}}, type=PatchType.MERGE, namespace=NAMESPACE)
    loop.api.conflict_by(lambda: loop.api.delete(Widget, "w", namespace=NAMESPACE), "patch", Widget)
    loop.seen.clear()
    assert await loop.run() == Ending(Done(), rounds=4, writes=2), "it was recreated"
    assert [bool(seen.last.failed) for seen in loop.seen] == [False] * 4
