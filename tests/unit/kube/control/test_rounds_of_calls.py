"""Rounds with Calls: a failure of another system is a fact for `decide`, and a request is sent once in an attempt."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, ClassVar

import pytest

from tests.unit.kube.control.tower import Cracked, Gate, RingBell, Tower
from tests.unit.kube.widgets import NAMESPACE, Widget, widget
from windlass.kube.control.asking import Asker
from windlass.kube.control.executor import Executor
from windlass.kube.control.plan import Action, Call, Done, Merge, Outcome, Plan, Request, RequeueAfter, Retry, Target
from windlass.kube.control.question import Asking, Question
from windlass.kube.control.rounds import Ending, reconcile
from windlass.kube.errors import Failure, Fenced, Unanswered, Withheld
from windlass.model import MemoryApi

NOW = datetime(2026, 5, 1, tzinfo=UTC)


class Deaf(Failure):
    """The tower asks for a pause."""

    transient = True

    def __init__(self, text: str, retry_after: float | None = None) -> None:
        super().__init__(text)
        self.retry_after = retry_after


class Seen(Asking, frozen=True, kw_only=True):
    aim: Target
    phase: str
    last: Outcome


class World:
    """The widget `w` and a tower that answers one request after the other as it is told, then with "ding"."""

    def __init__(self, *answers: Failure | str) -> None:
        self.api = MemoryApi(Widget)
        self.api.load({**widget("w"), "metadata": {"name": "w", "namespace": NAMESPACE, "uid": "u"}})
        self.tower = Tower(self._ring)
        self.looks: list[Outcome] = []
        self.unseen: list[Failure] = []
        self._answers = list(answers)

    async def _ring(self, request: Request) -> str:
        answer = self._answers.pop(0) if self._answers else "ding"
        if isinstance(answer, Failure):
            raise answer
        return answer

    @property
    def phase(self) -> str:
        found = self.api.peek(Widget, "w", namespace=NAMESPACE)
        assert found is not None
        return str((found.tree().get("status") or {}).get("phase", ""))

    async def observe(self, key: str, last: Outcome) -> Seen:
        self.looks.append(last)
        found = self.api.peek(Widget, "w", namespace=NAMESPACE)
        assert found is not None
        return Seen(aim=Target(Widget, "w", NAMESPACE, "u", found.resource_version), phase=self.phase, last=last)

    async def answer(self, question: "Sight", /) -> str:
        if self.unseen:
            raise self.unseen.pop(0)
        return "clear"

    async def attempt(self, decide: Callable[[Seen], Plan], **settings: Any) -> Ending:
        usual: dict[str, Any] = {"systems": {"tower": self.tower}}
        return await reconcile(
            "w",
            observe=self.observe,
            decide=lambda seen, *, now: decide(seen),
            executor=Executor(self.api, **{**usual, **settings}),
            now=lambda: NOW,
            asker=Asker({"tower": self}),
        )


def ring(seen: Seen, bell: str = "big") -> Call:
    return Call(target=seen.aim, request=RingBell(bell))


def say(seen: Seen, phase: str) -> Merge:
    observed = {"status": {"phase": seen.phase or None}}
    return Merge(target=seen.aim, observed=observed, desired={"status": {"phase": phase}}, part="status")


def reporting(seen: Seen) -> Plan:
    """Ring until it has rung; say what failed."""
    if seen.last.error is not None:
        return Plan.of(say(seen, str(seen.last.error))).retry(seen.last.error)
    if seen.phase == "rung" or seen.last.of(RingBell):
        return Plan.of(say(seen, "rung"))
    return Plan.of(ring(seen))


@pytest.mark.parametrize("error", [Deaf("too loud"), Unanswered("no answer"), Cracked("it broke")])
async def test_a_failure_of_another_system_is_decided_about_and_ends_the_attempt(error: Failure) -> None:
    world = World(error)
    ending = await world.attempt(reporting)
    assert world.phase == str(error)
    assert ending.next == Retry(str(error))
    assert world.tower.rung == [RingBell()]


async def test_the_pause_that_was_asked_for_is_part_of_the_end() -> None:
    ending = await World(Deaf("too loud", retry_after=30.0)).attempt(reporting)
    assert ending.error is not None
    assert ending.error.retry_after == 30.0


async def test_of_several_failures_the_longest_pause_counts() -> None:
    def both(seen: Seen) -> Plan:
        if seen.last.error is not None:
            return Plan.nothing().then(RequeueAfter(5.0))
        return Plan.of(ring(seen, "small"), ring(seen, "big"))

    ending = await World(Deaf("too loud", 7.0), Deaf("much too loud", 30.0)).attempt(both)
    assert ending.next == RequeueAfter(5.0)
    assert ending.error is not None
    assert ending.error.retry_after == 30.0


async def test_a_retry_in_the_plan_of_a_call_that_fails_waits_until_that_was_decided_about() -> None:
    world = World(Cracked("it broke"))
    await world.attempt(lambda seen: reporting(seen).retry("not yet"))
    assert world.phase == "it broke"


@pytest.mark.parametrize("answer", [Deaf("too loud", 30.0), Unanswered("no answer"), Cracked("it broke")])
async def test_a_request_that_failed_is_not_sent_again_in_the_attempt(answer: Failure) -> None:
    world = World(answer)
    ending = await world.attempt(lambda seen: Plan.of(ring(seen)))
    assert world.tower.rung == [RingBell()]
    assert ending == Ending(Retry(f"ring bell (tower) for Widget.example.com shop/w: {answer}"), 2, 0, answer)


async def test_nor_after_the_writes_that_tell_of_it() -> None:
    """A decision that forgets the failure as soon as it is told."""

    def forgetful(seen: Seen) -> Plan:
        told: list[Action] = [say(seen, "broken")] if seen.last.failed else []
        return Plan.of(*told, ring(seen))

    world = World(Cracked("it broke"))
    ending = await world.attempt(forgetful)
    assert world.tower.rung == [RingBell()]
    assert world.phase == "broken"
    assert isinstance(ending.error, Cracked)


async def test_after_a_refusal_another_request_is_sent_and_after_a_transient_failure_none() -> None:
    def another(seen: Seen) -> Plan:
        if len(seen.last.of(RingBell)) == 1 and seen.last.failed:
            return Plan.of(ring(seen, "small"))
        return Plan.of(ring(seen)) if not seen.last.results else Plan.nothing()

    refused, busy = World(Cracked("it broke")), World(Deaf("too loud"))
    assert (await refused.attempt(another)).rounds == 3
    assert refused.tower.rung == [RingBell("big"), RingBell("small")]
    assert isinstance((await busy.attempt(another)).error, Deaf)
    assert busy.tower.rung == [RingBell("big")]


async def test_a_failure_stays_in_sight_until_the_attempt_ends() -> None:
    def patient(seen: Seen) -> Plan:
        if (error := seen.last.error) is None:
            return Plan.of(ring(seen))
        return Plan.of(say(seen, str(error))).then(RequeueAfter(600.0))

    world = World(Cracked("it broke"))
    assert (await world.attempt(patient)).next == RequeueAfter(600.0)
    assert [type(last.error) for last in world.looks] == [type(None), Cracked, Cracked]


async def test_what_was_done_and_does_not_show_is_not_done_twice() -> None:
    world = World()
    ending = await world.attempt(lambda seen: Plan.of(ring(seen)))
    assert world.tower.rung == [RingBell()]
    assert isinstance(ending.next, Retry)
    assert ending.next.error.endswith("this was done a moment ago, and the look after it does not show it")
    assert (ending.writes, ending.error) == (1, None)


async def test_what_was_done_is_looked_at_before_the_next_decision() -> None:
    world = World()
    assert await world.attempt(reporting) == Ending(Done(), rounds=3, writes=2)
    assert [[result.answer for result in last.of(RingBell)] for last in world.looks] == [[], ["ding"], []]


class Sight(Question[str | Failure], frozen=True):
    SYSTEM: ClassVar[str] = "tower"


class TestALookThatFails:
    async def test_is_a_fact_for_the_decision_and_nothing_is_called_blindly(self) -> None:
        world = World()
        world.unseen = [Deaf("fog", retry_after=9.0)] * 3
        ending = await world.attempt(lambda seen: Plan.of(say(seen, str(seen.need(Sight()))), ring(seen)))
        assert world.phase == "fog"
        assert world.tower.rung == []
        assert ending.failed
        assert ending.error is not None
        assert ending.error.retry_after == 9.0

    async def test_is_not_repeated_in_the_attempt(self) -> None:
        world = World()
        world.unseen = [Deaf("fog")] * 3
        ending = await world.attempt(lambda seen: Plan.of(say(seen, str(seen.need(Sight())))).then(RequeueAfter(5.0)))
        assert (world.phase, ending.next, ending.rounds) == ("fog", RequeueAfter(5.0), 2)
        assert len(world.unseen) == 2

    async def test_stands_beside_the_failure_that_it_was_to_clear_up(self) -> None:
        world = World(Unanswered("no answer"))

        def decide(seen: Seen) -> Plan:
            if not seen.last.failures:
                return Plan.of(ring(seen))
            world.unseen.append(Deaf("fog"))
            return Plan.of(say(seen, f"{seen.last.error}, {seen.need(Sight())}"))

        await world.attempt(decide)
        assert world.phase == "no answer, fog"

    async def test_ends_the_attempt_if_the_observation_does_not_go_without_it(self) -> None:
        async def stubborn(key: str, last: Outcome) -> Seen:
            raise Deaf("fog")

        world = World()
        world.observe = stubborn  # type: ignore[method-assign]
        with pytest.raises(Deaf):
            await world.attempt(reporting)


async def test_what_is_fenced_or_withheld_is_not_decided_about() -> None:
    fenced, dry = World(), World()
    assert isinstance((await fenced.attempt(reporting, fence=Gate(open_=False))).error, Fenced)
    assert isinstance((await dry.attempt(reporting, systems={})).error, Withheld)
    assert (fenced.phase, dry.phase) == ("", "")
    assert len(fenced.looks) == len(dry.looks) == 1
