"""A controller at work: what becomes of a key, by what its reconcile came to."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime
from itertools import pairwise
from random import Random
from typing import Any, ClassVar

import pytest
from msgspec import Struct

from windlass.kube.control.controller import Controller, text_of
from windlass.kube.control.executor import Executor
from windlass.kube.control.metrics import Metrics
from windlass.kube.control.permissions import Declared, asks, writes
from windlass.kube.control.plan import Create, Done, Outcome, Plan, RequeueAfter, Retry, Target, WaitFor
from windlass.kube.control.question import Asking, Question
from windlass.kube.control.source import Mailbox
from windlass.kube.control.worker import Budget, Running
from windlass.kube.errors import (
    AlreadyExists,
    ApiError,
    Busy,
    Conflict,
    Failure,
    Fenced,
    Forbidden,
    Status,
    TransportError,
)
from windlass.kube.object import Object
from windlass.model import MemoryApi
from windlass.testing.clock import VirtualLoop
from windlass.testing.logs import captured
from windlass.testing.scripted import Widget


class Snapshot(Struct, frozen=True):
    key: str
    last: Outcome = Outcome()


async def observe(key: str, last: Outcome) -> Snapshot:
    return Snapshot(key, last)


def nothing(_: Object[Any]) -> tuple[str, ...]:
    return ()


def rest(snapshot: Snapshot, *, now: datetime) -> Plan:
    return Plan.nothing("all is well")


class Bench:
    """One running controller on a virtual loop, with a mailbox to wake it and notes of what it did when."""

    def __init__(self, loop: VirtualLoop) -> None:
        self.loop = loop
        self.api = MemoryApi(Widget, clock=loop.clock.now)
        self.mailbox: Mailbox[str] = Mailbox()
        self.metrics = Metrics()
        self.seen: list[tuple[str, float]] = []
        self.running: Running[str] | None = None

    def run(self, *keys: str, seconds: float = 0.0, **settings: Any) -> list[dict[str, Any]]:
        """Run a controller with these settings for so long; returns what it logged."""
        return self.loop.run_until_complete(self._run(keys, seconds, settings))

    async def _run(self, keys: tuple[str, ...], seconds: float, settings: dict[str, Any]) -> list[dict[str, Any]]:
        inner = settings.pop("observe", observe)

        async def noting(key: str, last: Outcome) -> Any:
            self.seen.append((key, self.loop.time()))
            return await inner(key, last)

        usual: dict[str, Any] = {"name": "bench", "sources": (self.mailbox,), "observe": noting, "decide": rest}
        controller: Controller[str, Any] = Controller(**{**usual, **settings})
        executor = Executor(self.api, permits=Declared(controller.declared), now=self.loop.clock.now)
        self.running = Running(
            controller, executor=executor, metrics=self.metrics, clock=self.loop.clock, random=Random(0)
        )
        with captured() as logs:
            task = asyncio.create_task(self.running.run())
            await asyncio.sleep(0)
            for key in keys:
                self.mailbox.post(key)
            await asyncio.sleep(seconds + 0.001)
            task.cancel()
            await asyncio.wait([task])
        return [dict(line) for line in logs]

    def times(self, key: str) -> list[float]:
        return [moment for seen, moment in self.seen if seen == key]

    def count(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(name, {"controller": "bench", **labels}) or 0.0


@pytest.fixture
def bench() -> Iterator[Bench]:
    loop = VirtualLoop()
    yield Bench(loop)
    loop.close()


def once(error: BaseException) -> Callable[[str, Outcome], Awaitable[Snapshot]]:
    """An observe that fails the first time."""
    errors = [error]

    async def failing(key: str, last: Outcome) -> Snapshot:
        if errors:
            raise errors.pop()
        return Snapshot(key, last)

    return failing


def plans(*plans: Plan) -> Callable[..., Plan]:
    """A decide that gives these plans in turn, then rests."""
    left = list(plans)

    def decide(snapshot: Snapshot, *, now: datetime) -> Plan:
        return left.pop(0) if left else Plan.nothing()

    return decide


def test_a_key_at_rest_is_looked_at_once_and_logged_on_one_line(bench: Bench) -> None:
    logs = bench.run("a", seconds=3600)
    assert bench.times("a") == [0]
    (line,) = logs
    assert line["event"] == "reconciled"
    assert line["outcome"] == "done"
    assert line["note"] == "all is well"
    assert line["controller"] == "bench"
    assert line["object"] == "a"
    assert len(line["reconcile_id"]) == 12
    assert {"duration", "rounds", "writes"} <= line.keys()
    assert bench.count("controller_runtime_reconcile_total", result="success") == 1


def test_keys_that_need_nothing_let_others_have_a_turn_all_the_same(bench: Bench) -> None:
    done: list[int] = []

    async def scenario() -> None:
        async def count() -> None:
            while len(bench.seen) < 500:
                done.append(len(bench.seen))
                await asyncio.sleep(0)

        counting = asyncio.create_task(count())
        await bench._run(tuple(map(str, range(500))), 0.0, {"workers": 4})
        counting.cancel()

    bench.loop.run_until_complete(scenario())
    assert max(later - before for before, later in pairwise([*done, 500])) <= 4


@pytest.mark.parametrize(
    ("coming", "outcome", "note"),
    [
        (RequeueAfter(30, "the token expires"), "requeue_after", "the token expires"),
        (WaitFor("the machine's address", safety=30), "waiting", "the machine's address"),
    ],
)
def test_a_key_comes_back_when_its_plan_says(bench: Bench, coming: Any, outcome: str, note: str) -> None:
    logs = bench.run("a", seconds=40, decide=plans(Plan(next=coming)))
    assert bench.times("a") == pytest.approx([0, 30])
    assert (logs[0]["outcome"], logs[0]["note"], logs[0]["again_in"]) == (outcome, note, 30)
    assert bench.count("controller_runtime_reconcile_total", result="requeue_after") == 1


class Load(Question[int | Failure], frozen=True):
    SYSTEM: ClassVar[str] = "service"


class Throttled(Failure):
    """Another system wants to hear nothing for half a minute."""

    transient = True
    retry_after = 30.0


@pytest.mark.parametrize(
    "coming",
    [lambda error: Retry(str(error)), lambda _: RequeueAfter(5.0, "soon"), lambda _: WaitFor("a change", safety=5.0)],
)
def test_no_key_comes_back_earlier_than_another_system_asked_for(bench: Bench, coming: Callable[..., Any]) -> None:
    class Service:
        async def answer(self, question: "Load", /) -> int:
            if len(bench.seen) == 1:
                raise Throttled("slow down")
            return 0

    async def asking(key: str, last: Outcome) -> Asking:
        return Asking()

    def decide(seen: Asking, *, now: datetime) -> Plan:
        load = seen.need(Load())
        return Plan(next=coming(load)) if isinstance(load, Failure) else Plan.nothing()

    answers = {"answerers": {"service": Service()}, "permissions": (asks(Load),)}
    logs = bench.run("a", seconds=40, observe=asking, decide=decide, **answers)
    assert logs[0]["again_in"] == 30.0
    assert bench.times("a") == pytest.approx([0, 30])


def test_a_failure_of_another_system_that_observe_does_not_go_without_is_an_error_and_no_defect(bench: Bench) -> None:
    async def throttled(key: str, last: Outcome) -> Snapshot:
        raise Throttled("slow down")

    logs = bench.run("a", seconds=1, observe=throttled)
    assert (logs[0]["level"], logs[0]["error"], logs[0]["again_in"]) == ("warning", "Throttled: slow down", 30.0)
    assert "exc_info" not in logs[0]


def test_a_failing_key_comes_back_with_growing_delays_and_leaves_the_others_alone(bench: Bench) -> None:
    async def fails_on_a(key: str, last: Outcome) -> Snapshot:
        if key == "a":
            raise TransportError("connection reset")
        return Snapshot(key, last)

    logs = bench.run("a", "b", seconds=1, observe=fails_on_a)
    gaps = [after - before for before, after in zip(bench.times("a"), bench.times("a")[1:], strict=False)]
    assert len(gaps) >= 6
    assert gaps == sorted(gaps)
    assert bench.times("b") == [0]
    failed = [line for line in logs if line["object"] == "a"]
    assert failed[0]["level"] == "warning"
    assert failed[0]["error"] == "TransportError: connection reset"
    assert [line["failures"] for line in failed[:3]] == [1, 2, 3]
    assert bench.count("controller_runtime_reconcile_errors_total") == len(failed)


def test_a_bug_is_isolated_and_shown_with_its_traceback(bench: Bench) -> None:
    logs = bench.run("a", seconds=1, observe=once(ZeroDivisionError("division by zero")))
    assert (logs[0]["level"], logs[0]["error"]) == ("error", "ZeroDivisionError: division by zero")
    assert isinstance(logs[0]["exc_info"], ZeroDivisionError)
    assert logs[1]["outcome"] == "done"
    assert bench.count("controller_runtime_reconcile_panics_total") == 1


def test_the_server_is_not_asked_again_before_it_wants_to_be(bench: Bench) -> None:
    busy = Busy(Status(code=429, message="slow down"), retry_after=17)
    bench.run("a", seconds=20, observe=once(busy))
    assert bench.times("a") == pytest.approx([0, 17], abs=0.01)


def test_a_plan_that_retries_is_an_error_with_its_words(bench: Bench) -> None:
    logs = bench.run("a", seconds=1, decide=plans(Plan(next=Retry("no such flavor"))))
    assert (logs[0]["outcome"], logs[0]["error"]) == ("error", "no such flavor")
    assert len(bench.times("a")) == 2


@pytest.mark.parametrize("refusal", [Conflict, AlreadyExists])
def test_a_write_of_another_that_was_first_comes_back_soon_and_is_not_an_error(
    bench: Bench, refusal: type[ApiError]
) -> None:
    logs = bench.run("a", seconds=1, observe=once(refusal(Status(code=409, message="another was first"))))
    assert (logs[0]["level"], logs[0]["outcome"]) == ("info", "conflict")
    assert bench.count("controller_runtime_reconcile_total", result="requeue") == 1
    assert bench.count("controller_runtime_reconcile_errors_total") == 0


def test_a_fenced_write_is_quiet_and_not_forgotten(bench: Bench) -> None:
    logs = bench.run("a", seconds=1, observe=once(Fenced("not the leader")))
    assert (logs[0]["level"], logs[0]["outcome"]) == ("debug", "fenced")
    assert len(bench.times("a")) == 2
    assert bench.count("controller_runtime_reconcile_errors_total") == 0


def test_a_reconcile_that_takes_too_long_is_ended(bench: Bench) -> None:
    slow = [True]

    async def hangs_once(key: str, last: Outcome) -> Snapshot:
        if slow:
            slow.clear()
            await asyncio.sleep(3600)
        return Snapshot(key, last)

    logs = bench.run("a", seconds=70, observe=hangs_once, timeout=60)
    assert (logs[0]["outcome"], logs[0]["error"]) == ("error", "took longer than 60 s")
    assert len(bench.times("a")) == 2
    assert bench.count("controller_runtime_reconcile_timeouts_total") == 1


def test_a_write_that_was_cut_off_is_in_doubt(bench: Bench) -> None:
    """The next observation must look at the server: the request may have been on its way."""

    class HangingApi(MemoryApi):
        async def create(self, *args: Any, **where: Any) -> Any:
            await asyncio.sleep(3600)

    class Notes:
        def __init__(self) -> None:
            self.doubted: list[Target] = []

        def wrote(self, written: Object[Any]) -> None: ...

        def removed(self, target: Target) -> None: ...

        def doubt(self, target: Target) -> None:
            self.doubted.append(target)

    made = Target(Widget, "made", "default")
    notes = Notes()

    async def scenario() -> None:
        executor = Executor(HangingApi(Widget), ledger=notes)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(60):
                await executor.apply(Plan.of(Create(target=made, body={})))

    bench.loop.run_until_complete(scenario())
    assert notes.doubted == [made]


def test_as_many_keys_are_in_work_as_there_are_workers(bench: Bench) -> None:
    async def slow(key: str, last: Outcome) -> Snapshot:
        await asyncio.sleep(10)
        return Snapshot(key, last)

    bench.run("a", "b", "c", "d", seconds=25, observe=slow, workers=2)
    assert [moment for _, moment in bench.seen] == pytest.approx([0, 0, 10, 10])


def test_writes_that_were_declared_are_carried_out_and_counted(bench: Bench) -> None:
    create = Plan.of(Create(target=Target(Widget, "made", "default"), body={"spec": {"size": 1}}))
    logs = bench.run("a", seconds=1, decide=plans(create), permissions=(writes(Widget, "create", namespace="default"),))
    assert bench.api.peek(Widget, "made", namespace="default")
    assert (logs[0]["writes"], logs[0]["rounds"]) == (1, 2)
    assert bench.count("windlass_reconcile_writes_total") == 1


def test_a_look_that_found_nothing_to_do_is_told_at_debug_only(bench: Bench) -> None:
    create = Plan.of(Create(target=Target(Widget, "made", "default"), body={}))
    may = (writes(Widget, "create", namespace="default"),)
    assert [line["level"] for line in bench.run("a", decide=plans(create), permissions=may)] == ["info"]
    assert [line["level"] for line in bench.run("a")] == ["debug"]
    waits = plans(Plan((), WaitFor("the other side")))
    assert [line["level"] for line in bench.run("a", decide=waits)] == ["info"]


def test_writes_that_were_not_declared_are_refused(bench: Bench) -> None:
    create = Plan.of(Create(target=Target(Widget, "made", "default"), body={}))
    decided: list[Outcome] = []

    def decide(snapshot: Snapshot, *, now: datetime) -> Plan:
        decided.append(snapshot.last)
        return create if not snapshot.last.results else Plan(next=Retry(str(snapshot.last.error)))

    logs = bench.run("a", decide=decide)
    assert "does not declare that it may create widgets.example.com" in logs[0]["error"]
    assert not bench.api.dump()


def test_keys_that_belong_to_another_process_are_left_alone(bench: Bench) -> None:
    async def scenario() -> None:
        controller: Controller[str, Any] = Controller(
            name="half", sources=(bench.mailbox,), observe=observe, decide=rest
        )
        running = Running(controller, executor=Executor(bench.api), owns=lambda key: key != "theirs")
        task = asyncio.create_task(running.run())
        await asyncio.sleep(0)
        bench.mailbox.post("theirs")
        assert running.queue.ready == 0
        bench.mailbox.post("ours")
        assert running.queue.ready == 1
        await running.drain()
        await task

    bench.loop.run_until_complete(scenario())


def test_a_drain_lets_keys_in_work_come_to_their_end(bench: Bench) -> None:
    ended: list[str] = []

    async def slow(key: str, last: Outcome) -> Snapshot:
        await asyncio.sleep(5)
        ended.append(key)
        return Snapshot(key, last)

    async def scenario() -> None:
        controller: Controller[str, Any] = Controller(name="slow", sources=(bench.mailbox,), observe=slow, decide=rest)
        running = Running(controller, executor=Executor(bench.api), clock=bench.loop.clock)
        task = asyncio.create_task(running.run())
        await asyncio.sleep(0)
        bench.mailbox.post("a")
        bench.mailbox.post("b")
        await asyncio.sleep(1)
        await running.drain()
        await task
        assert ended == ["a"]

    bench.loop.run_until_complete(scenario())
    assert bench.loop.time() == pytest.approx(5)


def test_keys_are_written_for_people() -> None:
    assert text_of(("ns", "name")) == "ns/name"
    assert text_of((None, "node")) == "node"
    assert text_of("plain") == "plain"


def test_a_decision_over_budget_is_told_only_when_more_than_one_in_a_hundred_is() -> None:
    budget = Budget("x", limit=0.005, window=1000)
    assert not any(budget.spend(0.1 if n % 100 == 0 else 0.001) for n in range(3000))
    told = [budget.spend(0.01) for _ in range(11)]
    assert told[:-1] == [None] * 10
    assert told[-1] == {"budget": 0.005, "slow_calls": 11, "calls": 11, "slowest": 0.01}


def test_errors_of_the_api_that_concern_a_decision_reach_it(bench: Bench) -> None:
    """A refused create is part of the next snapshot, not a failure of the machinery."""
    bench.api.fail_next("create", Widget, Forbidden(Status(code=403, message="quota exceeded")))

    def decide(snapshot: Snapshot, *, now: datetime) -> Plan:
        if snapshot.last.error:
            return Plan.nothing(f"gave up: {snapshot.last.error}")
        return Plan.of(Create(target=Target(Widget, "made", "default"), body={}))

    logs = bench.run("a", decide=decide, permissions=(writes(Widget, "create", namespace="default"),))
    assert logs[0]["note"] == "gave up: quota exceeded"
    assert isinstance(Plan.nothing().next, Done)
