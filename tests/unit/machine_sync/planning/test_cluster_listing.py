"""A cluster, listed once."""

import pytest

from windlass.api import config, mapi
from windlass.capability.planning import Survey
from windlass.kube.control.plan import Plan
from windlass.kube.control.seen import Absent, NotServedKind, Present
from windlass.kube.errors import Forbidden, NotServed, Status

from .world import HERE, NO_ANSWER, deciding, machine, world


async def test_what_was_listed_is_not_asked_for_again() -> None:
    api = world(machine("a"))
    survey = Survey(api)
    await survey.take([deciding(lambda _: Plan(), survey)])
    api.fail_next("get", None, NO_ANSWER)

    assert isinstance(await survey.see(mapi.Machine, "a", namespace=HERE, confirm=True), Present)
    assert await survey.see(mapi.Machine, "b", namespace=HERE) == Absent()


async def test_an_absence_that_decides_is_confirmed_by_the_api_server_once() -> None:
    api = world()
    survey = Survey(api)
    await survey.take([deciding(lambda _: Plan(), survey)])

    assert await survey.see(mapi.Machine, "b", namespace=HERE, confirm=True) == Absent(confirmed=True)
    api.fail_next("get", None, NO_ANSWER)
    assert await survey.see(mapi.Machine, "b", namespace=HERE, confirm=True) == Absent(confirmed=True)


async def test_a_presence_that_decides_is_looked_at_live() -> None:
    api = world(machine("a"))
    survey = Survey(api)
    await survey.take([deciding(lambda _: Plan(), survey)])
    await api.delete(mapi.Machine, "a", namespace=HERE)

    assert isinstance(await survey.see(mapi.Machine, "a", namespace=HERE), Present)
    assert await survey.see(mapi.Machine, "a", namespace=HERE, live=True) == Absent(confirmed=True)


async def test_a_kind_that_is_not_served_is_an_answer() -> None:
    api = world()
    api.uninstall(mapi.Machine)
    survey = Survey(api)
    await survey.take([deciding(lambda _: Plan(), survey)])

    found = await survey.see(mapi.Machine, "a", namespace=HERE)
    assert isinstance(found, NotServedKind)
    assert survey.not_served == [found.why]
    # One that was never listed, too.
    assert isinstance(await survey.see(config.Infrastructure, "cluster"), NotServedKind)


async def test_what_is_not_served_is_unknown_to_decisions_that_look_it_up() -> None:
    api = world()
    api.uninstall(mapi.Machine)
    survey = Survey(api)
    survey.add_index(mapi.Machine, "name", lambda found: [found.name])
    await survey.take([deciding(lambda _: Plan(), survey)])

    assert survey.known(mapi.Machine, "name", "a") == []
    with pytest.raises(NotServed):
        survey.indexed(mapi.Machine, "name", "a")


async def test_a_list_that_is_refused_ends_the_survey() -> None:
    api = world()
    api.fail_next("list", mapi.Machine, Forbidden(Status("Failure", "may not list machines", "Forbidden", 403)))
    survey = Survey(api)

    with pytest.raises(Forbidden, match="may not list machines"):
        await survey.take([deciding(lambda _: Plan(), survey)])


async def test_listed_objects_are_found_by_the_indexes_of_the_controllers() -> None:
    survey = Survey(world(machine("a"), machine("b")))
    survey.add_index(mapi.Machine, "initial", lambda found: [found.name[0]])
    await survey.take([deciding(lambda _: Plan(), survey)])

    assert [found.name for found in survey.indexed(mapi.Machine, "initial", "b")] == ["b"]
    assert survey.indexed(mapi.Machine, "initial", "c") == []
    assert [found.name for found in survey.listing(mapi.Machine)] == ["a", "b"]
    assert survey.listing(mapi.Machine, "elsewhere") == []
