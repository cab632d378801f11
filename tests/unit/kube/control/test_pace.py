"""A controller with a pace: its key rests in proportion to what its writes cost, and no change is lost."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import Any

import pytest

from tests.unit.kube.widgets import NAMESPACE, Widget, widget
from windlass.kube.control.controller import Controller
from windlass.kube.control.executor import Executor
from windlass.kube.control.pace import Pace
from windlass.kube.control.plan import Done, Merge, Next, Outcome, Plan, target_of
from windlass.kube.control.plan import RequeueAfter as After
from windlass.kube.control.source import Every
from windlass.kube.control.worker import Running
from windlass.kube.errors import Invalid, Status
from windlass.kube.object import Object
from windlass.kube.verbs import ApiRequest
from windlass.model import MemoryApi
from windlass.testing.clock import VirtualLoop

PACE = Pace(floor=1.0, factor=5.0)
BEAT = 0.02


class SlowApi(MemoryApi):
    """Takes `seconds` for each write, and notes when each began."""

    def __init__(self) -> None:
        super().__init__(Widget)
        self.seconds = 0.0
        self.began: list[float] = []

    async def send(self, request: ApiRequest[Any], /) -> Any:
        if request.WRITES:
            self.began.append(asyncio.get_running_loop().time())
            await asyncio.sleep(self.seconds)
        return await super().send(request)


class World:
    """The size of the widget `w` should be `wanted`."""

    def __init__(self, loop: VirtualLoop) -> None:
        self.loop = loop
        self.api = SlowApi()
        self.api.load({**widget("w", size=0), "metadata": {"name": "w", "namespace": NAMESPACE}})
        self.wanted = 0
        self.looking = 0.0
        self.next: Next = Done()
        self.looks: list[float] = []
        self.refused: list[Outcome] = []

    async def observe(self, key: str, last: Outcome) -> Object[Widget]:
        self.looks.append(self.loop.time())
        if last.error is not None:
            self.refused.append(last)
        await asyncio.sleep(self.looking)
        found = self.api.peek(Widget, key, namespace=NAMESPACE)
        assert found is not None
        return found

    def decide(self, found: Object[Widget], /, *, now: datetime) -> Plan:
        observed = {"spec": found.tree()["spec"]}
        merge = Merge(
            target=target_of(Widget, found.metadata), observed=observed, desired={"spec": {"size": self.wanted}}
        )
        return Plan.of(merge).then(self.next)

    @property
    def size(self) -> int:
        found = self.api.peek(Widget, "w", namespace=NAMESPACE)
        assert found is not None
        size: int = found.tree()["spec"]["size"]
        return size

    def play(self, script: Callable[[Running[str]], Coroutine[Any, Any, None]], *, pace: Pace = PACE) -> None:
        async def main() -> None:
            controller: Controller[str, Any] = Controller(
                name="sizes", sources=(Every(1e6, lambda: ()),), observe=self.observe, decide=self.decide, pace=pace
            )
            running = Running(controller, executor=Executor(self.api), clock=self.loop.clock)
            task = asyncio.create_task(running.run())
            await script(running)
            await running.drain()
            await task

        self.loop.run_until_complete(main())


@pytest.fixture
def world() -> Any:
    loop = VirtualLoop()
    yield World(loop)
    loop.close()


async def beats(running: Running[str], seconds: float, each: Callable[[], None] = lambda: None) -> None:
    """Wake the key fifty times a second."""
    for _ in range(round(seconds / BEAT)):
        each()
        running.queue.add("w")
        await asyncio.sleep(BEAT)


def test_after_a_slow_write_changes_are_collected_and_the_last_one_is_written(world: World) -> None:
    world.api.seconds = 2.0

    def change() -> None:
        world.wanted += 1

    async def script(running: Running[str]) -> None:
        await beats(running, 60, change)
        await asyncio.sleep(60)

    world.play(script)
    assert world.size == world.wanted
    pauses = [later - earlier for earlier, later in zip(world.api.began, world.api.began[1:], strict=False)]
    assert pauses == pytest.approx([12.0] * len(pauses), abs=2 * BEAT), "two seconds of writing, ten of rest"
    assert len(pauses) == 5


def test_one_write_that_hangs_does_not_keep_the_next_one_back_for_long(world: World) -> None:
    world.wanted, world.api.seconds = 1, 8.0

    async def script(running: Running[str]) -> None:
        running.queue.add("w")
        await asyncio.sleep(4)
        world.api.seconds = 0.0
        world.wanted += 1
        running.queue.add("w")
        await asyncio.sleep(40)

    world.play(script, pace=Pace(floor=1.0, factor=5.0, most=15.0))
    assert world.size == world.wanted
    assert world.api.began == pytest.approx([0.0, 23.0], abs=2 * BEAT), (
        "eight seconds of writing, and not forty of rest"
    )


def test_a_key_that_has_nothing_to_write_rests_for_the_floor(world: World) -> None:
    async def script(running: Running[str]) -> None:
        await beats(running, 10.5)

    world.play(script)
    assert world.looks == pytest.approx(range(11), abs=2 * BEAT)


def test_so_does_a_key_that_fails(world: World) -> None:
    async def broken(key: str, last: Outcome) -> Object[Widget]:
        world.looks.append(world.loop.time())
        raise RuntimeError("broken")

    world.observe = broken  # type: ignore[method-assign]

    async def script(running: Running[str]) -> None:
        await beats(running, 10.5)

    world.play(script)
    assert world.looks == pytest.approx(range(11), abs=2 * BEAT)


def test_without_a_pace_a_key_does_not_rest(world: World) -> None:
    async def script(running: Running[str]) -> None:
        await beats(running, 1)

    world.play(script, pace=Pace())
    assert len(world.looks) == 50


def test_the_time_of_looking_does_not_count(world: World) -> None:
    world.looking, world.api.seconds = 3.0, 0.3

    async def script(running: Running[str]) -> None:
        world.wanted = 1
        running.queue.add("w")
        await asyncio.sleep(60)

    world.play(script)
    assert world.looks == pytest.approx([0, 3.0 + 0.3 + 5 * 0.3]), "then there is nothing to do"


def test_the_time_that_a_decision_asked_for_is_kept(world: World) -> None:
    world.next = After(30.0)
    world.api.seconds = 1.0

    async def script(running: Running[str]) -> None:
        world.wanted = 1
        running.queue.add("w")
        await asyncio.sleep(40)

    world.play(script)
    assert world.looks == pytest.approx([0, 6, 36])


def test_a_refusal_is_decided_about_at_once(world: World) -> None:
    answer = Invalid(Status("Failure", "size is too large", "Invalid", 422))
    world.api.fail_next("patch", Widget, answer)

    async def script(running: Running[str]) -> None:
        world.wanted = 1
        running.queue.add("w")
        await asyncio.sleep(0.5)

    world.play(script)
    assert [outcome.error for outcome in world.refused] == [answer]
    assert world.looks == [0, 0, 0], "the refusal, the write, the look at it"


def test_after_a_conflict_the_key_rests_too(world: World) -> None:
    world.api.seconds = 1.0

    async def somebody() -> None:
        world.api.load({**widget("w", size=7), "metadata": {"name": "w", "namespace": NAMESPACE}})

    world.api.conflict_by(somebody, "patch", Widget)

    async def script(running: Running[str]) -> None:
        world.wanted = 1
        running.queue.add("w")
        await asyncio.sleep(20)

    world.play(script)
    assert world.size == 1
    assert world.api.began == pytest.approx([0, 6])


def test_a_pace_does_not_go_back_in_time() -> None:
    with pytest.raises(ValueError, match="back in time"):
        Pace(floor=-1.0)


@pytest.mark.parametrize(
    ("asked", "writing", "rest"),
    [(0.0, 0.0, 1.0), (4.0, 0.0, 4.0), (4.0, 1.0, 5.0), (40.0, 0.0, 15.0), (0.0, 9.0, 15.0)],
)
def test_what_the_object_asks_for_is_a_rest_of_at_most_the_most(asked: float, writing: float, rest: float) -> None:
    assert Pace(floor=1.0, factor=5.0, most=15.0, asked=lambda: asked).rest(writing) == rest
