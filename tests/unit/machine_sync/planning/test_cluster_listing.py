"""A cluster, listed once."""

import pytest

from windlass.api import config, mapi
from windlass.capability.planning import ClusterListing
from windlass.kube.control.plan import Plan
from windlass.kube.control.seen import Absent, NotServedKind, Present
from windlass.kube.errors import Forbidden, NotServed, Status

from .world import HERE, NO_ANSWER, deciding, machine, world


async def test_what_was_listed_is_not_asked_for_again() -> None:
    api = world(machine("a"))
    cluster_listing = ClusterListing(api)
    await cluster_listing.take([deciding(lambda _: Plan(), cluster_listing)])
    api.fail_next("get", None, NO_ANSWER)

    assert isinstance(await cluster_listing.see(mapi.Machine, "a", namespace=HERE, confirm=True), Present)
    assert await cluster_listing.see(mapi.Machine, "b", namespace=HERE) == Absent()


async def test_an_absence_that_decides_is_confirmed_by_the_api_server_once() -> None:
    api = world()
    cluster_listing = ClusterListing(api)
    await cluster_listing.take([deciding(lambda _: Plan(), cluster_listing)])

    assert await cluster_listing.see(mapi.Machine, "b", namespace=HERE, confirm=True) == Absent(confirmed=True)
    api.fail_next("get", None, NO_ANSWER)
    assert await cluster_listing.see(mapi.Machine, "b", namespace=HERE, confirm=True) == Absent(confirmed=True)


async def test_a_presence_that_decides_is_looked_at_live() -> None:
    api = world(machine("a"))
    cluster_listing = ClusterListing(api)
    await cluster_listing.take([deciding(lambda _: Plan(), cluster_listing)])
    await api.delete(mapi.Machine, "a", namespace=HERE)

    assert isinstance(await cluster_listing.see(mapi.Machine, "a", namespace=HERE), Present)
    assert await cluster_listing.see(mapi.Machine, "a", namespace=HERE, live=True) == Absent(confirmed=True)


async def test_a_kind_that_is_not_served_is_an_answer() -> None:
    api = world()
    api.uninstall(mapi.Machine)
    cluster_listing = ClusterListing(api)
    await cluster_listing.take([deciding(lambda _: Plan(), cluster_listing)])

    found = await cluster_listing.see(mapi.Machine, "a", namespace=HERE)
    assert isinstance(found, NotServedKind)
    assert cluster_listing.not_served == [found.why]
    # One that was never listed, too.
    assert isinstance(await cluster_listing.see(config.Infrastructure, "cluster"), NotServedKind)


async def test_what_is_not_served_is_unknown_to_decisions_that_look_it_up() -> None:
    api = world()
    api.uninstall(mapi.Machine)
    cluster_listing = ClusterListing(api)
    cluster_listing.add_index(mapi.Machine, "name", lambda found: [found.name])
    await cluster_listing.take([deciding(lambda _: Plan(), cluster_listing)])

    assert cluster_listing.known(mapi.Machine, "name", "a") == []
    with pytest.raises(NotServed):
        cluster_listing.indexed(mapi.Machine, "name", "a")


async def test_a_list_that_is_refused_ends_the_survey() -> None:
    api = world()
    api.fail_next("list", mapi.Machine, Forbidden(Status("Failure", "may not list machines", "Forbidden", 403)))
    cluster_listing = ClusterListing(api)

    with pytest.raises(Forbidden, match="may not list machines"):
        await cluster_listing.take([deciding(lambda _: Plan(), cluster_listing)])


async def test_listed_objects_are_found_by_the_indexes_of_the_controllers() -> None:
    cluster_listing = ClusterListing(world(machine("a"), machine("b")))
    cluster_listing.add_index(mapi.Machine, "initial", lambda found: [found.name[0]])
    await cluster_listing.take([deciding(lambda _: Plan(), cluster_listing)])

    assert [found.name for found in cluster_listing.indexed(mapi.Machine, "initial", "b")] == ["b"]
    assert cluster_listing.indexed(mapi.Machine, "initial", "c") == []
    assert [found.name for found in cluster_listing.listing(mapi.Machine)] == ["a", "b"]
    assert cluster_listing.listing(mapi.Machine, "elsewhere") == []
