"""The crash harness over other systems: each Call is a point to die at, and what nobody owns at the end is named."""

import asyncio
from typing import Any, ClassVar

import pytest

from tests.unit.kube.widgets import NAMESPACE, Widget, widget
from windlass.kube.control.executor import Executor
from windlass.kube.control.plan import Call, Plan, Request, target
from windlass.kube.control.seen import Present
from windlass.kube.verbs import Api
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader
from windlass.testing.crash import Crashed, CrashPoint, Harm, NoRest, Scenario, Systems, When, crash_everywhere, play


class Light(Request, frozen=True):
    SYSTEM: ClassVar[str] = "lamps"
    lamp: str


class Lamps:
    """The lamps of a house, and a process's hand on them."""

    def __init__(self, lit: list[str]) -> None:
        self._lit = lit

    async def send(self, request: Light, /) -> str:
        await asyncio.sleep(0)
        self._lit.append(request.lamp)
        return request.lamp

    def doubt(self, request: Light, /) -> None:
        pass

    def lit(self) -> list[str]:
        return self._lit


async def light(api: Api, reader: MemoryReader, systems: Systems, *lamps: str) -> list[Any]:
    found = await reader.see(Widget, "w", namespace=NAMESPACE)
    assert isinstance(found, Present)
    plan = Plan.of(*(Call(target=target(found), request=Light(lamp)) for lamp in lamps))
    outcome = await Executor(api, systems=systems).apply(plan)
    return [result.answer for result in outcome.results]


def house(settle: Any, lit: list[str], **more: Any) -> Scenario:
    api = MemoryApi(Widget)
    api.load(widget("w"))
    return Scenario(api, settle, systems={"lamps": lambda: Lamps(lit)}, **more)


async def test_a_process_dies_before_and_after_each_call() -> None:
    runs: list[list[str]] = []

    def made() -> Scenario:
        runs.append([])

        async def settle(api: Api, reader: MemoryReader, systems: Systems) -> None:
            missing = [lamp for lamp in ("hall", "attic") if lamp not in systems["lamps"].lit()]  # type: ignore[attr-defined]
            for lamp in missing:
                await light(api, reader, systems, lamp)

        return house(settle, runs[-1])

    assert (await crash_everywhere(made)).points == 4
    assert all(run == ["hall", "attic"] for run in runs)


@pytest.mark.parametrize(
    ("passes", "at_once", "runs"),
    [(0.0, False, 1 + 3), (1.0, False, 1 + 4), (0.0, True, 1 + 4), (None, False, 1 + 4)],
    ids=["nothing happens between", "time passes between", "they are sent at once", "unknown"],
)
async def test_of_two_points_that_leave_the_same_world_one_is_played(
    passes: float | None, at_once: bool, runs: int
) -> None:
    made: list[Scenario] = []

    def make() -> Scenario:
        lit: list[str] = []
        clock = [0.0]

        async def settle(api: Api, reader: MemoryReader, systems: Systems) -> None:
            missing = [lamp for lamp in ("hall", "attic") if lamp not in lit]
            for lamps in [missing] if at_once else [[lamp] for lamp in missing]:
                await light(api, reader, systems, *lamps)
                clock[0] += passes or 0.0

        made.append(house(settle, lit, moment=None if passes is None else lambda: clock[0]))
        return made[-1]

    assert (await crash_everywhere(make)).points == 4
    # The first is the one without a crash, and the last looks for a third write.
    assert len(made) == runs + 2


async def test_of_calls_that_went_out_together_a_dead_process_hears_no_answer() -> None:
    lit: list[str] = []
    heard: list[Any] = []

    async def settle(api: Api, reader: MemoryReader, systems: Systems) -> None:
        if not lit:
            heard.append(await light(api, reader, systems, "hall", "attic"))

    point = CrashPoint(2, When.BEFORE)
    await play(house(settle, lit), point)
    assert point.reached
    assert str(point) == "a crash at write 2 (light (lamps)), before it was stored"
    assert (lit, heard) == (["hall"], [])


async def test_a_dead_process_does_not_look_either() -> None:
    point = CrashPoint(1)
    told: list[str] = []

    async def settle(api: Api, reader: MemoryReader, systems: Systems) -> None:
        if not point.reached:
            try:
                await light(api, reader, systems, "hall")
            except Crashed:
                with pytest.raises(Crashed):
                    systems["lamps"].lit()  # type: ignore[attr-defined]
                told.append("dead")
                raise

    await play(house(settle, []), point)
    assert told == ["dead"]


async def test_a_process_that_goes_on_calling_is_not_at_rest() -> None:
    async def settle(api: Api, reader: MemoryReader, systems: Systems) -> None:
        await light(api, reader, systems, "hall")

    with pytest.raises(NoRest):
        await play(house(settle, []))


async def test_what_another_system_holds_for_nobody_is_named() -> None:
    lit: list[str] = []

    async def settle(api: Api, reader: MemoryReader, systems: Systems) -> None:
        if not lit:
            await light(api, reader, systems, "attic")

    with pytest.raises(Harm, match=r"undisturbed: something is leaked:\nwithout an owner: attic"):
        await crash_everywhere(lambda: house(settle, lit, unowned=lambda objects: lit))
