"""Plans carried out on a model, until nothing is left to do."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from msgspec import structs

from windlass.api import mapi
from windlass.capability.planning import plans, select
from windlass.capability.planning.following import MAX_ROUNDS, follow
from windlass.kube.control.merge import FieldChange
from windlass.kube.control.permissions import calls
from windlass.kube.control.plan import Call, Create, Plan, Request, Retry, Target, WaitFor
from windlass.kube.control.seen import Present
from windlass.kube.errors import Undeclared, Withheld
from windlass.machine_sync.overview import MACHINE_SETS
from windlass.machine_sync.planning import deciders
from windlass.machine_sync.platforms import PLATFORMS
from windlass.model.reader import MemoryReader

from .documents import AT_REST
from .world import HERE, NOW, PLACES, Tree, deciding, machine, machine_controllers, model, renamed, towards, world

RECORDED = Path(__file__).parents[3] / "data" / "machine_sync" / "controllers.jsonl.gz"


async def test_following_ends_when_nothing_is_left_to_do() -> None:
    api = world(machine("a"))
    reader = MemoryReader(api)

    (course,) = await follow([(deciding(towards("red"), reader), "a")], api=api, ledger=reader, now=NOW)

    assert [[result.action.diff() for result in tried] for tried in course.rounds] == [
        [(FieldChange("metadata.labels.colour", None, "red"),)]
    ]
    assert (course.writes, course.restless, course.idle) == (1, False, False)


async def test_a_key_that_another_one_wakes_gets_another_turn() -> None:
    """The first one waits for what the second one does."""
    api = world(machine("a"), machine("b"))
    reader = MemoryReader(api)

    def after_the_other(seen: Present[mapi.Machine]) -> Plan:
        other = api.peek(mapi.Machine, "b", namespace=HERE)
        done = other is not None and other.metadata.labels.get("colour") == "red"
        return towards("red")(seen) if done or seen.metadata.name == "b" else Plan().then(WaitFor("b"))

    decider = deciding(after_the_other, reader)
    first, second = await follow([(decider, "a"), (decider, "b")], api=api, ledger=reader, now=NOW)

    assert (first.writes, second.writes) == (1, 1)


async def test_two_controllers_that_undo_each_other_are_given_up() -> None:
    api = world(machine("a"))
    reader = MemoryReader(api)
    red, blue = deciding(towards("red"), reader), deciding(towards("blue"), reader, of=MACHINE_SETS)

    courses = await follow([(red, "a"), (blue, "a")], api=api, ledger=reader, now=NOW)

    assert [course.restless for course in courses] == [True, True]
    assert all(isinstance(course.next, Retry) and "no rest" in course.next.error for course in courses)


async def test_a_plan_that_never_ends_is_given_up() -> None:
    api = world(machine("a"))
    reader = MemoryReader(api)

    def count(seen: Present[mapi.Machine]) -> Plan:
        return Plan.of(renamed(seen, str(int(seen.metadata.labels.get("colour", "0")) + 1)))

    (course,) = await follow([(deciding(count, reader), "a")], api=api, ledger=reader, now=NOW)

    assert course.restless
    assert len(course.rounds) >= MAX_ROUNDS


async def test_what_a_controller_does_not_declare_is_refused_as_on_a_cluster() -> None:
    api = world()
    reader = MemoryReader(api)
    create = Create(target=Target(mapi.Machine, "a", HERE), body={})

    (course,) = await follow([(deciding(lambda _: Plan.of(create), reader), "a")], api=api, ledger=reader, now=NOW)

    assert isinstance(course.rounds[0][0].error, Undeclared)
    assert course.writes == 0


class StartServer(Request, frozen=True):
    SYSTEM: ClassVar[str] = "cloud"


async def test_following_ends_at_an_effect_outside_kubernetes() -> None:
    api = world(machine("a"))
    reader = MemoryReader(api)
    call = Call(target=Target(mapi.Machine, "a", HERE, "uid"), request=StartServer())
    decider = deciding(lambda _: Plan.of(call), reader)
    able = structs.replace(decider, controller=structs.replace(decider.controller, permissions=(calls(StartServer),)))

    (course,) = await follow([(able, "a")], api=api, ledger=reader, now=NOW)

    ((result,),) = course.rounds
    assert (result.action, type(result.error)) == (call, Withheld)
    assert (course.writes, course.restless) == (0, False)
    assert course.next == WaitFor("the answer of cloud, which the model lacks: later rounds depend on it")


async def test_nothing_is_left_to_do_about_what_is_at_rest() -> None:
    api, reader = model(AT_REST)

    (course,) = await follow(select(machine_controllers(reader), reader).asked, api=api, ledger=reader, now=NOW)

    assert course.idle


def recorded() -> Iterator[Any]:
    """Every world that was recorded, its Infrastructure included."""
    with gzip.open(RECORDED, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            infrastructure = {**row["infrastructure"], "apiVersion": "config.openshift.io/v1", "kind": "Infrastructure"}
            name = f"{row['controller']}-{row['platform']}-{row['case']}"
            yield pytest.param(row["platform"], [infrastructure, *row["objects"]], id=name)


@pytest.mark.parametrize(("platform", "objects"), [*recorded()])
async def test_all_controllers_together_come_to_rest_and_leave_nothing_to_do(
    platform: str, objects: list[Tree]
) -> None:
    api, reader = model("\n---\n".join(map(json.dumps, objects)))
    deciding = deciders(reader, platform=PLATFORMS[platform], namespaces=PLACES)
    asked = select(deciding, reader).asked

    courses = await follow(asked, api=api, ledger=reader, now=NOW)

    assert [course for course in courses if course.restless] == []
    assert [plan for plan in await plans(asked, reader, now=NOW) if plan.writes] == []
