"""Decisions that ask: what is asked, when it is asked again, and what a missing answer does to the attempt."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import pytest

from tests.unit.kube.control.tower import Cracked, RingBell, Tower
from tests.unit.kube.widgets import NAMESPACE, Widget, widget
from windlass.kube.control.asking import MOST, Asker, ObjectAnswerer, TooManyQuestions
from windlass.kube.control.executor import Executor
from windlass.kube.control.permissions import Declared, asks, reads
from windlass.kube.control.plan import Call, Create, Emit, Merge, Outcome, Plan, Request, Target
from windlass.kube.control.question import (
    KUBERNETES,
    Answers,
    Asking,
    Cached,
    Confirmed,
    ConfirmedIfAllowed,
    Indexed,
    Listed,
    Live,
    LiveIfAllowed,
    Needs,
    Question,
)
from windlass.kube.control.reader import CacheReader
from windlass.kube.control.rounds import Ending, reconcile
from windlass.kube.control.seen import Absent, Present
from windlass.kube.errors import Busy, Failure, Forbidden, Status, Undeclared
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader

START = datetime(2026, 5, 1, tzinfo=UTC)


class Weather(Question[str], frozen=True):
    """What a look from the tower shows."""

    SYSTEM: ClassVar[str] = "tower"

    direction: str = "north"


class Height(Question[int], frozen=True):
    SYSTEM: ClassVar[str] = "tower"
    KEPT: ClassVar[bool] = True


class Snapshot(Asking, frozen=True, kw_only=True):
    aim: Target
    phase: str
    last: Outcome


class World:
    """The widget `w`, and a tower that answers questions as `says` has it, else by their number."""

    def __init__(self, says: Mapping[Question[Any], Any] | None = None) -> None:
        self.api = MemoryApi(Widget)
        self.api.load({**widget("w"), "metadata": {"name": "w", "namespace": NAMESPACE, "uid": "u"}})
        self.says = dict(says or {})
        self.asked: list[Question[Any]] = []
        self.attended_to: list[tuple[str, Mapping[Any, Any]]] = []
        self.now = START
        self.tower = Tower(self._ring)
        self.asker = self.process()

    def process(self, *declared: type[Question[Any]]) -> Asker:
        """Asks in another term of leadership."""
        permits = Declared([asks(*(declared or (Weather, Height)))])
        reader = MemoryReader(self.api)
        answerers: dict[str, Any] = {"tower": self, KUBERNETES: ObjectAnswerer(reader)}
        return Asker(answerers, permits=permits, now=lambda: self.now)

    @property
    def phase(self) -> str:
        found = self.api.peek(Widget, "w", namespace=NAMESPACE)
        assert found is not None
        return str((found.tree().get("status") or {}).get("phase", ""))

    async def answer(self, question: Question[Any]) -> Any:
        self.asked.append(question)
        said = self.says.get(question, len(self.asked))
        if isinstance(said, Exception):
            raise said
        return said

    def attended(self, key: str, answers: Mapping[Any, Any], /) -> None:
        self.attended_to.append((key, answers))

    async def _ring(self, request: Request) -> str:
        return "ding"

    async def observe(self, key: str, last: Outcome) -> Snapshot:
        found = self.api.peek(Widget, "w", namespace=NAMESPACE)
        assert found is not None
        return Snapshot(aim=Target(Widget, "w", NAMESPACE, "u", found.resource_version), phase=self.phase, last=last)

    async def attempt(self, decide: Callable[[Snapshot], Plan], *, asker: Asker | None = None) -> Ending:
        return await reconcile(
            "w",
            observe=self.observe,
            decide=lambda seen, *, now: decide(seen),
            executor=Executor(self.api, systems={"tower": self.tower}),
            now=lambda: self.now,
            asker=asker or self.asker,
        )


def say(seen: Snapshot, phase: object) -> Merge:
    observed = {"status": {"phase": seen.phase or None}}
    return Merge(target=seen.aim, observed=observed, desired={"status": {"phase": str(phase)}}, part="status")


async def test_a_decision_gets_what_it_needs_and_asks_no_more() -> None:
    world = World({Weather(): "fog"})
    ending = await world.attempt(lambda seen: Plan.nothing(seen.need(Weather())))
    assert str(ending.next) == "Done(note='fog')"
    assert world.asked == [Weather()]


async def test_what_a_rule_asks_for_together_is_asked_at_the_same_time() -> None:
    world = World()
    inquiry = world.asker.inquiry("w")
    seen = await world.observe("w", Outcome())
    await inquiry.decide(seen, lambda seen: Plan.nothing(str(seen.need(Weather("north"), Weather("south"), Height()))))
    assert inquiry.asked == ((Weather("north"), Weather("south"), Height()),)


async def test_of_questions_that_belong_together_only_the_unanswered_are_asked() -> None:
    world = World()

    def decide(seen: Snapshot) -> Plan:
        seen.need(Weather("north"))
        return Plan.nothing(str(seen.need(Weather("north"), Weather("south"))))

    await world.attempt(decide)
    assert world.asked == [Weather("north"), Weather("south")]


def test_the_same_answers_give_the_same_plan_without_a_runtime() -> None:
    aim = Target(Widget, "w")
    bare = Snapshot(aim=aim, phase="", last=Outcome())
    with pytest.raises(Needs, match="weather"):
        bare.need(Weather())
    answered = Snapshot(aim=aim, phase="", last=Outcome(), answers=Answers.of({Weather(): "fog"}, at=START))
    assert answered.need(Weather()) == "fog"


# what is asked again


async def test_a_question_is_asked_once_in_an_attempt_whatever_is_emitted() -> None:
    world = World()

    def decide(seen: Snapshot) -> Plan:
        told = Emit(target=seen.aim, type="Normal", reason="Looked", note=str(seen.need(Weather())), source="tower")
        return Plan.of(told)

    await world.attempt(decide)
    assert world.asked == [Weather()]


class Now(Weather, frozen=True):
    OF_NOW: ClassVar[bool] = True


async def test_what_is_of_now_does_not_outlive_a_write_to_another_system() -> None:
    world = World()
    world.asker = world.process(Now)
    await world.attempt(lambda seen: Plan.of(say(seen, "moved" if seen.need(Now()) else "")))
    assert world.asked == [Now(), Now()]


async def test_but_a_system_that_did_not_answer_is_not_asked_again() -> None:
    world = World({Now(): Cracked("no ladder")})
    world.asker = world.process(Now)
    await world.attempt(lambda seen: Plan.of(say(seen, seen.need(Now()))))
    assert (world.asked, world.phase) == ([Now()], "no ladder")


async def test_and_across_writes_to_another_system() -> None:
    world = World()
    await world.attempt(lambda seen: Plan.of(say(seen, seen.need(Weather()))))
    assert (world.asked, world.phase) == ([Weather()], "1")


async def test_after_a_call_to_its_system_it_is_asked_again() -> None:
    world = World()

    def decide(seen: Snapshot) -> Plan:
        seen.need(Weather())
        rung = seen.last.of(RingBell) or seen.phase
        return Plan.of(say(seen, "rung")) if rung else Plan.of(Call(target=seen.aim, request=RingBell()))

    await world.attempt(decide)
    assert world.asked == [Weather(), Weather()]


async def test_an_object_is_looked_at_again_after_a_write_to_any_object() -> None:
    """Its deletion may have deleted others, and a webhook may have changed them."""
    world, seen_phases = World(), []
    live = Live(Widget, "w", NAMESPACE)

    def decide(seen: Snapshot) -> Plan:
        found = seen.need(live)
        assert isinstance(found, Present)
        seen_phases.append((found.tree.get("status") or {}).get("phase"))
        return Plan.of(say(seen, "polished"))

    await world.attempt(decide)
    assert seen_phases == [None, "polished"]


async def test_an_absence_that_was_confirmed_is_not_believed_after_the_create() -> None:
    world = World()
    other = Confirmed(Widget, "other", NAMESPACE)
    found = []

    def decide(seen: Snapshot) -> Plan:
        found.append(isinstance(seen.need(other), Absent))
        if found[-1]:
            made = {"apiVersion": "example.com/v1", "kind": "Widget", "spec": {"size": 1}}
            return Plan.of(Create(target=Target(Widget, "other", NAMESPACE), body=made))
        return Plan.nothing()

    await world.attempt(decide)
    assert found == [True, False]


async def test_a_rule_can_refuse_answers_from_before_the_last_actions() -> None:
    world = World()

    def decide(seen: Snapshot) -> Plan:
        return Plan.of(say(seen, "moved" if seen.need(Weather(), this_round=True) else ""))

    await world.attempt(decide)
    assert world.asked == [Weather(), Weather()]


# what is kept


async def test_a_kept_answer_outlives_the_attempt_and_not_the_term() -> None:
    world = World()

    def decide(seen: Snapshot) -> Plan:
        return Plan.of(say(seen, seen.need(Height())))

    await world.attempt(decide)
    await world.attempt(decide)
    assert (world.asked, world.phase) == ([Height()], "1")
    await world.attempt(decide, asker=world.process())
    assert (world.asked, world.phase) == ([Height()] * 2, "2")


async def test_a_kept_answer_outlives_a_call_to_its_system() -> None:
    world = World()

    def decide(seen: Snapshot) -> Plan:
        height, weather = seen.need(Height(), Weather())
        rung = seen.last.of(RingBell) or seen.phase
        return Plan.of(say(seen, f"{height} {weather}") if rung else Call(target=seen.aim, request=RingBell()))

    await world.attempt(decide)
    assert world.asked == [Height(), Weather(), Weather()]


async def test_it_is_forgotten_when_an_attempt_has_no_use_for_it() -> None:
    world = World()
    await world.attempt(lambda seen: Plan.nothing(str(seen.need(Height()))))
    await world.attempt(lambda seen: Plan.nothing())
    await world.attempt(lambda seen: Plan.nothing(str(seen.need(Height()))))
    assert world.asked == [Height()] * 2


async def test_a_failure_is_never_kept() -> None:
    world = World({Height(): Cracked("no ladder")})
    await world.attempt(lambda seen: Plan.nothing(str(seen.need(Height()))))
    del world.says[Height()]
    await world.attempt(lambda seen: Plan.of(say(seen, seen.need(Height()))))
    assert world.phase == "2"


async def test_a_rule_says_from_when_on_a_kept_answer_is_too_old() -> None:
    world = World()

    def decide(seen: Snapshot) -> Plan:
        had = seen.known(Height())
        is_old = had is None or world.now - had.at >= timedelta(minutes=5)
        return Plan.of(say(seen, seen.need(Height(), this_attempt=is_old)))

    for minutes in (0, 4, 9, 10):
        world.now = START + timedelta(minutes=minutes)
        await world.attempt(decide)
    assert world.asked == [Height()] * 2


# what goes wrong


async def test_a_failure_of_another_system_is_the_answer_and_no_call_follows() -> None:
    cracked = Cracked("the ladder broke")
    world = World({Weather(): cracked})

    def decide(seen: Snapshot) -> Plan:
        said: Any = seen.need(Weather())
        if isinstance(said, Failure) and not seen.phase:
            return Plan.of(say(seen, said))
        return Plan.of(Call(target=seen.aim, request=RingBell()))

    ending = await world.attempt(decide)
    assert (world.phase, world.tower.rung) == ("the ladder broke", [])
    assert (ending.error, ending.failed) == (cracked, True)


async def test_without_the_api_server_there_is_no_decision() -> None:
    world = World()
    busy = Busy(Status(code=503, message="starting"))
    world.says[Weather()] = busy
    decided = []

    def decide(seen: Snapshot) -> Plan:
        decided.append(seen.need(Weather()))
        return Plan.nothing()

    with pytest.raises(Busy):
        await world.attempt(decide)
    assert decided == []


async def test_a_decision_that_asks_for_ever_is_a_bug_with_its_questions() -> None:
    world = World()

    def decide(seen: Snapshot) -> Plan:
        for number in range(MOST + 2):
            seen.need(Weather(str(number)))
        return Plan.nothing()

    with pytest.raises(TooManyQuestions, match=rf"more than {MOST} times(?s:.*)weather"):
        await world.attempt(decide)
    assert len(world.asked) == MOST


async def test_after_a_write_a_decision_may_ask_as_often_again() -> None:
    world = World()

    def decide(seen: Snapshot) -> Plan:
        for number in range(MOST):
            seen.need(Live(Widget, f"w{number}", NAMESPACE))
        return Plan.of(say(seen, "all looked at"))

    await world.attempt(decide)
    assert world.phase == "all looked at"


@pytest.mark.parametrize(
    ("question", "remedy"),
    [(Weather(), "does not declare asks(Weather)"), (Live(Widget, "w", NAMESPACE), "does not declare that it may get")],
)
async def test_what_is_not_declared_is_not_asked(question: Question[Any], remedy: str) -> None:
    world = World()
    reader = CacheReader(world.api, permits=Declared([]))
    asker = Asker({"tower": world, KUBERNETES: ObjectAnswerer(reader)}, permits=Declared([]))
    with pytest.raises(Undeclared) as refused:
        await world.attempt(lambda seen: Plan.nothing(str(seen.need(question))), asker=asker)
    assert remedy in str(refused.value)
    assert world.asked == []


async def test_what_may_lie_beyond_the_rights_is_a_fact() -> None:
    world = World()
    reader = CacheReader(world.api, permits=Declared([reads(Widget, namespace=NAMESPACE)]))
    here, there = (ConfirmedIfAllowed(Widget, "w", place) for place in (NAMESPACE, "elsewhere"))
    inquiry = Asker({KUBERNETES: ObjectAnswerer(reader)}).inquiry("w")
    seen = await world.observe("w", Outcome())
    plan = await inquiry.decide(
        seen, lambda seen: Plan.nothing(", ".join(type(each).__name__ for each in seen.need(here, there)))
    )
    assert plan == Plan.nothing("Present, ForbiddenKind")


async def test_what_the_api_server_refuses_to_show_is_a_fact_where_a_rule_says_so() -> None:
    world = World()
    refused = Forbidden(Status("Failure", "may not get widgets", "Forbidden", 403))
    world.api.fail_next("get", Widget, refused, times=2)
    with pytest.raises(Forbidden):
        await world.attempt(lambda seen: Plan.nothing(str(seen.need(Live(Widget, "w", NAMESPACE)))))
    ending = await world.attempt(lambda seen: Plan.nothing(str(seen.need(LiveIfAllowed(Widget, "w", NAMESPACE)))))
    assert "ForbiddenKind(why='may not get widgets')" in str(ending.next)


async def test_caches_may_be_asked_as_often_as_references_lead_on() -> None:
    world = World()
    ending = await world.attempt(
        lambda seen: Plan.nothing(str(all(seen.need(Cached(Widget, f"w{n}", NAMESPACE)) for n in range(3 * MOST))))
    )
    assert str(ending.next) == "Done(note='True')"


async def test_who_polls_learns_what_an_attempt_depends_on() -> None:
    world = World()
    await world.attempt(
        lambda seen: Plan.nothing(str((seen.need(Weather()), seen.need(Cached(Widget, "w", NAMESPACE)))))
    )
    await world.attempt(lambda seen: Plan.nothing())
    assert world.attended_to == [("w", {Weather(): 1}), ("w", {})]


async def test_and_not_from_one_that_failed_to_read() -> None:
    world = World({Weather(): Busy(Status(code=503, message="starting"))})
    with pytest.raises(Busy):
        await world.attempt(lambda seen: Plan.nothing(str(seen.need(Weather()))))
    assert world.attended_to == []


async def test_a_system_that_nobody_answers_for_is_named() -> None:
    with pytest.raises(Undeclared, match=r"nothing here answers for tower.*Controller\.answerers"):
        await World().attempt(lambda seen: Plan.nothing(seen.need(Weather())), asker=Asker({}))


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (Live(Widget, "w", NAMESPACE), "live Widget shop/w"),
        (Confirmed(Widget, "w"), "confirmed Widget w"),
        (Listed(Widget, "color=red"), "list widgets.example.com (color=red)"),
        (Listed(Widget), "list widgets.example.com"),
        (ConfirmedIfAllowed(Widget, "w", NAMESPACE), "confirmed Widget shop/w"),
        (Indexed(Widget, "colour", "red"), "widgets by colour red"),
    ],
)
def test_questions_about_objects_can_be_read(question: Question[Any], text: str) -> None:
    assert str(question) == text
