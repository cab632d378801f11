"""The plan of each key."""

from typing import ClassVar

from msgspec import structs

from windlass.api import mapi
from windlass.capability.planning import ClusterListing, KeyPlan, plan_of, plans, select
from windlass.kube.control.executor import Executor
from windlass.kube.control.permissions import asks
from windlass.kube.control.plan import Done, Emit, Outcome, Plan, target
from windlass.kube.control.question import Asking, Question
from windlass.kube.control.seen import Present
from windlass.kube.errors import Failure
from windlass.model.reader import MemoryReader

from .documents import UNMIRRORED
from .world import NO_ANSWER, NOW, deciding, machine, machine_controllers, model, renamed, world


async def test_one_key_that_cannot_be_looked_at_does_not_hinder_the_others() -> None:
    api = world(machine("b"))
    reader = MemoryReader(api)
    api.fail_next("get", mapi.Machine, NO_ANSWER, name="a")
    decider = deciding(lambda _: Plan.nothing("fine"), reader)

    first, second = await plans([(decider, "a"), (decider, "b")], reader, now=NOW)

    assert (first.name, first.error) == ("a", NO_ANSWER)
    assert second == KeyPlan("Machine", "b", next=second.next)
    assert second.idle
    assert not first.idle


class Sight(Question[Failure], frozen=True):
    SYSTEM: ClassVar[str] = "tower"


class Fog:
    async def answer(self, question: Sight, /) -> None:
        raise Failure("fog")


async def test_where_another_system_cannot_be_looked_at_the_plan_is_what_would_be_done_then() -> None:
    reader = MemoryReader(world(machine("a")))
    decider = deciding(lambda seen: Plan.nothing(str(seen.need(Sight()))), reader)

    async def observe(name: str, last: Outcome) -> Asking:
        return Asking()

    foggy = structs.replace(decider.controller, observe=observe, answerers={"tower": Fog()}, permissions=(asks(Sight),))
    planned = await plan_of(structs.replace(decider, controller=foggy), "a", reader, now=NOW)

    assert (planned.error, planned.next) == (None, Done("fog"))
    assert planned.questions == (("sight (tower)",),)


async def test_what_is_so_already_is_no_action() -> None:
    reader = MemoryReader(
        world({**machine("a"), "metadata": {**machine("a")["metadata"], "labels": {"colour": "red"}}})
    )

    assert (await plan_of(deciding(lambda seen: Plan.of(renamed(seen, "red")), reader), "a", reader, now=NOW)).idle
    plan = await plan_of(deciding(lambda seen: Plan.of(renamed(seen, "blue")), reader), "a", reader, now=NOW)
    assert (plan.writes, plan.idle) == (1, False)


async def test_an_event_that_was_told_is_no_action() -> None:
    api = world(machine("a"))
    reader = MemoryReader(api)

    def tell(seen: Present[mapi.Machine]) -> Plan:
        event = Emit(target=target(seen), type="Warning", reason="Odd", note="it is odd", source="test")
        return Plan.of(event)

    before = await plan_of(deciding(tell, reader), "a", reader, now=NOW)
    await Executor(api, now=lambda: NOW).apply(Plan(before.actions))
    after = await plan_of(deciding(tell, reader), "a", reader, now=NOW)

    assert [type(action) for action in before.actions] == [Emit]
    assert before.writes == 0
    assert after.idle


async def test_planning_writes_nothing() -> None:
    api, reader = model(UNMIRRORED)
    before = api.version

    planned = await plans(select(machine_controllers(reader), reader).asked, reader, now=NOW)

    assert any(plan.writes for plan in planned)
    assert api.version == before


async def test_a_survey_and_a_model_of_the_same_objects_give_the_same_plans() -> None:
    api, reader = model(UNMIRRORED)
    cluster_listing = ClusterListing(api)
    surveyed = machine_controllers(cluster_listing)
    await cluster_listing.take(surveyed)

    asked = select(surveyed, cluster_listing).asked
    modelled = select(machine_controllers(reader), reader).asked

    assert [key for _, key in asked] == [key for _, key in modelled]
    assert await plans(asked, cluster_listing, now=NOW) == await plans(modelled, reader, now=NOW)
