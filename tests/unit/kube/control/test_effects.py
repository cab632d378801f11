"""Calls: what they print, when they are sent, and what becomes of them when the other system fails."""

import asyncio
from typing import Any, ClassVar

import pytest

from tests.unit.kube.control.tower import Cracked, Gate, RingBell, Tower
from tests.unit.kube.widgets import NAMESPACE, Widget, widget
from windlass.kube.control.executor import Executor
from windlass.kube.control.merge import FieldChange
from windlass.kube.control.permissions import Declared, calls, rules, writes
from windlass.kube.control.plan import Action, AddFinalizer, Call, Merge, Outcome, Plan, Request, Target
from windlass.kube.errors import Failure, Fenced, TransportError, Unanswered, Unconditional, Undeclared, Withheld
from windlass.model import MemoryApi

AIM = Target(Widget, "w", NAMESPACE, "u", "1")


class RingBriefly(Request, frozen=True):
    SYSTEM: ClassVar[str] = "tower"
    SECONDS: ClassVar[float] = 0.01
    bell: str = "big"


class Faint(Failure):
    """Nobody knows whether it has rung."""

    unknown_outcome = True


async def ding(request: Request) -> str:
    return "ding"


def failing(error: BaseException) -> Tower:
    async def fail(request: Request) -> None:
        raise error

    return Tower(fail)


def call(request: Request | None = None, **more: Any) -> Call:
    return Call(target=AIM, request=request or RingBell(), **more)


async def apply(tower: Tower, *actions: Action, api: MemoryApi | None = None, **settings: Any) -> Outcome:
    executor = Executor(api or MemoryApi(Widget), systems={"tower": tower}, **settings)
    return await executor.apply(Plan.of(*actions))


async def stored(api: MemoryApi) -> Target:
    made = await api.create(Widget, widget("w", size=0), namespace=NAMESPACE)
    return Target(Widget, "w", NAMESPACE, made.uid, made.resource_version)


def test_a_call_prints_what_it_asks_whom_for_and_why() -> None:
    asked = call(RingBell("small"), why="it is noon")
    assert str(Plan.of(asked)).splitlines()[0] == "ring bell (tower) for Widget.example.com shop/w: it is noon"
    assert [str(change) for change in asked.diff()] == ["+ bell: 'small'", "+ key: '(secret)'"]
    assert asked.diff()[0] == FieldChange("bell", None, "small")


async def test_the_answer_is_in_the_result() -> None:
    tower = Tower(ding)
    outcome = await apply(tower, call())
    (result,) = outcome.of(RingBell)
    assert (result.answer, result.error) == ("ding", None)
    assert outcome.of(RingBriefly) == ()
    assert (tower.rung, tower.doubted) == ([RingBell()], [])


class TestNothingIsSent:
    async def refused(self, *actions: Action, **settings: Any) -> Failure | None:
        tower = Tower(ding)
        outcome = await apply(tower, *actions, **settings)
        assert tower.rung == []
        return outcome.error

    async def test_of_what_is_not_declared(self) -> None:
        permits = Declared([calls(RingBriefly), writes(Widget, "patch")])
        error = await self.refused(call(), permits=permits)
        assert isinstance(error, Undeclared)
        assert str(error).endswith("this controller does not declare calls(RingBell)")

    async def test_for_an_object_that_was_not_observed(self) -> None:
        asked = Call(target=Target(Widget, "w", NAMESPACE), request=RingBell())
        assert isinstance(await self.refused(asked), Unconditional)

    async def test_where_nobody_may_be_leading(self) -> None:
        assert isinstance(await self.refused(call(), fence=Gate(open_=False)), Fenced)

    async def test_in_a_dry_run(self) -> None:
        outcome = await Executor(MemoryApi(Widget)).apply(Plan.of(call()))
        assert isinstance(outcome.error, Withheld)
        assert "tower" in str(outcome.error)


async def test_what_is_declared_is_sent_and_becomes_no_rule_of_rbac() -> None:
    declared = [calls(RingBell, RingBriefly)]
    assert (await apply(Tower(ding), call(), permits=Declared(declared))).error is None
    assert rules(declared) == {}
    assert str(declared[0]) == "call RingBell (tower), RingBriefly (tower)"


async def test_the_fence_is_asked_for_as_long_as_a_lease_can_vouch_for() -> None:
    gate = Gate()
    await apply(Tower(ding), call(RingBriefly()), call(RingBell()), fence=gate)
    assert gate.asked == [RingBriefly.SECONDS, 8.0]


class TestNeighbours:
    async def test_go_out_together_and_what_follows_waits_for_all(self) -> None:
        api = MemoryApi(Widget)
        aim = await stored(api)
        both = asyncio.Barrier(2)

        async def after_each_other_would_hang(request: Request) -> None:
            assert not api.listing(Widget)[0].tree()["metadata"].get("finalizers")
            async with asyncio.timeout(10):
                await both.wait()

        tower = Tower(after_each_other_would_hang)
        outcome = await apply(
            tower,
            Call(target=aim, request=RingBell("small")),
            Call(target=aim, request=RingBell("big")),
            AddFinalizer(target=aim, observed=(), finalizer="a/b"),
            api=api,
        )
        assert [result.error for result in outcome.results] == [None, None, None]

    async def test_do_not_cut_each_other_off_and_what_follows_is_not_done(self) -> None:
        failed = asyncio.Event()

        async def first_fails(request: Request) -> str:
            if request == RingBell("small"):
                failed.set()
                raise Cracked("it broke")
            await failed.wait()
            return await ding(request)

        finalizer = AddFinalizer(target=AIM, observed=(), finalizer="a/b")
        outcome = await apply(Tower(first_fails), call(RingBell("small")), call(RingBell("big")), finalizer)
        assert [type(result.error) for result in outcome.results] == [Cracked, type(None)]
        assert [result.action for result in outcome.failures] == [call(RingBell("small"))]

    async def test_come_to_their_end_before_a_defect_of_one_is_raised(self) -> None:
        ended: list[Request] = []
        failed = asyncio.Event()

        async def first_is_defective(request: Request) -> None:
            if request == RingBell("small"):
                failed.set()
                raise ZeroDivisionError
            await failed.wait()
            for _ in range(20):
                await asyncio.sleep(0)
            ended.append(request)

        with pytest.raises(ZeroDivisionError):
            await apply(Tower(first_is_defective), call(RingBell("small")), call(RingBell("big")))
        assert ended == [RingBell("big")]

    async def test_are_only_calls(self) -> None:
        """What stands before a Call is done before it is sent, and what stands behind it afterwards."""
        api = MemoryApi(Widget)
        aim = await stored(api)
        merge = Merge(target=aim, observed={}, desired={"spec": {"size": 1}})
        asked = Call(target=aim, request=RingBell())
        outcome = await apply(failing(Cracked("it broke")), asked, merge, api=api)
        assert [result.action for result in outcome.results] == [asked]
        api.fail_next("patch", Widget, TransportError("no answer"))
        outcome = await apply(tower := Tower(ding), merge, asked, api=api)
        assert [result.action for result in outcome.results] == [merge]
        assert tower.rung == []


class TestDoubt:
    async def test_of_what_takes_longer_than_it_may(self) -> None:
        async def never(request: Request) -> None:
            await asyncio.Event().wait()

        tower = Tower(never)
        outcome = await apply(tower, call(RingBriefly()))
        assert isinstance(outcome.error, Unanswered)
        assert str(outcome.error) == "tower did not answer in 0.01 s"
        assert tower.doubted == [RingBriefly()]

    async def test_of_what_is_cancelled(self) -> None:
        sent = asyncio.Event()

        async def never(request: Request) -> None:
            sent.set()
            await asyncio.Event().wait()

        tower = Tower(never)
        task = asyncio.create_task(apply(tower, call(RingBell("small")), call(RingBell("big"))))
        await sent.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert tower.doubted == tower.rung == [RingBell("small"), RingBell("big")]

    async def test_of_a_failure_of_unknown_outcome(self) -> None:
        tower = failing(Faint())
        assert isinstance((await apply(tower, call())).error, Faint)
        assert tower.doubted == [RingBell()]

    async def test_not_of_a_refusal(self) -> None:
        tower = failing(Cracked())
        assert isinstance((await apply(tower, call())).error, Cracked)
        assert tower.doubted == []

    async def test_of_what_ends_in_a_defect_of_the_carrier(self) -> None:
        tower = failing(ZeroDivisionError())
        with pytest.raises(ZeroDivisionError):
            await apply(tower, call())
        assert tower.doubted == [RingBell()]
