"""Writes that webhooks stop are remembered for readiness until one passes, or long enough after the last."""

import pytest

from tests.unit.kube.widgets import NAMESPACE, Widget, widget
from windlass.kube.clock import SystemClock
from windlass.kube.control.executor import Executor
from windlass.kube.control.plan import Action, Create, Delete, Merge, Outcome, Plan, Target
from windlass.kube.control.webhooks import FORGOTTEN, StoppedWrites
from windlass.kube.errors import KubeError, Status, api_error
from windlass.model import MemoryApi

WHY = 'Internal error occurred: failed calling webhook "check.example.com": no endpoints'
NOT_CALLED = api_error(Status("Failure", WHY, "InternalError", 500))
DENIED = api_error(Status("Failure", "widgets may not grow", "Forbidden", 403))


class Clock(SystemClock):
    """One that tests set."""

    passed = 0.0

    def monotonic(self) -> float:
        return self.passed


class Bench:
    def __init__(self) -> None:
        self.clock = Clock()
        self.stopped = StoppedWrites(self.clock)
        self.api = MemoryApi(Widget)
        self.executor = Executor(self.api, stopped=self.stopped)

    async def create(self, name: str, error: KubeError | None = None) -> Outcome:
        if error is not None:
            self.api.fail_next("create", Widget, error)
        return await self.do(Create(target=Target(Widget, name, NAMESPACE), body=widget(name, size=1)))

    async def do(self, action: Action) -> Outcome:
        return await self.executor.apply(Plan.of(action))


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def test_a_write_that_a_webhook_stops_is_told_with_kind_verb_and_webhook(bench: Bench) -> None:
    assert bench.stopped.report() == ""
    await bench.create("a", NOT_CALLED)
    assert bench.stopped.report() == f"cannot create widgets.example.com, as Widget.example.com shop/a: {WHY}"


async def test_a_write_of_the_same_sort_that_passes_ends_it(bench: Bench) -> None:
    await bench.create("a", NOT_CALLED)
    await bench.create("b")
    assert bench.stopped.report() == ""


async def test_a_write_of_another_sort_does_not_end_it(bench: Bench) -> None:
    made = (await bench.create("a")).results[0].object
    assert made is not None
    bench.api.fail_next("patch", Widget, NOT_CALLED)
    aim = Target(Widget, "a", NAMESPACE, made.uid, made.resource_version)
    await bench.do(Merge(target=aim, observed={}, desired={"spec": {"size": 2}}))
    await bench.do(Merge(target=aim, observed={}, desired={"status": {"size": 2}}, part="status"))
    await bench.create("b")
    assert bench.stopped.report().startswith("cannot change widgets.example.com, as ")
    await bench.do(Delete(target=aim))
    assert bench.stopped.report() != ""


async def test_what_a_webhook_or_policy_denies_is_no_matter_of_readiness(bench: Bench) -> None:
    await bench.create("a", DENIED)
    assert bench.stopped.report() == ""
    await bench.create("b", NOT_CALLED)
    await bench.create("a", DENIED)
    assert bench.stopped.report() != "", "nor does it show that the webhook can be called"


async def test_what_is_not_repeated_is_forgotten(bench: Bench) -> None:
    await bench.create("a", NOT_CALLED)
    bench.clock.passed = FORGOTTEN - 1
    assert bench.stopped.report() != ""
    bench.clock.passed = FORGOTTEN + 1
    assert bench.stopped.report() == ""
