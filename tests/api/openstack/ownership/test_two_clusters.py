"""Two management clusters on one project: objects that are moved from one to the other, and those that both have."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.api.openstack.ownership.conftest import with_machines
from tests.api.openstack.ownership.stage import (
    KINDS,
    Places,
    Stage,
    Tree,
    for_each,
    mark_in,
    named,
    owner_of,
    says,
    server_of,
)
from tests.waiting import eventually
from windlass.api.capi import Cluster
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_server import OpenStackServer
from windlass.kube import config
from windlass.kube.client.client import Client
from windlass.openstack.cloud.marks import place_of, root_of
from windlass.openstack.constants import ADOPT_ANNOTATION, ADOPT_NONE
from windlass.testing import PlaneAccess
from windlass.testing.cloud import Project
from windlass.testing.plane.pool import PlanePool

pytestmark = pytest.mark.sampled

Kind = type[Any]


@pytest.fixture(scope="package")
def other_management(windlass_planes: PlanePool, places: Places) -> PlaneAccess:
    """Another API server, with namespaces of the same names."""
    plane = with_machines(windlass_planes.plane("openstack"))
    for name in (places.home, places.other):
        plane.blocking.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return plane


@pytest.fixture
async def there(other_management: PlaneAccess, places: Places, stage: Stage, shared: Project) -> AsyncIterator[Stage]:
    """The stage on the other one; `stage` is here."""
    async with Client(config.load(kubeconfig=other_management.kubeconfig()), field_manager="kubectl") as client:
        there = Stage(client, places, shared)
        await there.prepare()
        yield there
        assert await there.told_marks(await there.servers()) == []


async def test_what_is_moved_to_another_cluster_has_its_server_there_and_nothing_is_made(
    stage: Stage, there: Stage
) -> None:
    """As `clusterctl move` does it: paused, with owners and without status; then the source loses its finalizers."""
    kinds = (OpenStackServer, OpenStackMachine)

    async def paused(place: Stage, *, paused: bool) -> None:
        await place.change(Cluster, "c", {"spec": {"paused": paused}})

        async def said() -> str:
            return says(await place.get(OpenStackMachine, named(OpenStackMachine, "0")), "Paused")

        await eventually(said, lambda told: told.startswith(str(paused)), what=f"Paused is {paused}")

    async with stage.at_work():
        before = {kind: await stage.original(kind) for kind in kinds}
        asked = len(await stage.asked())
        await paused(stage, paused=True)
    await there.change(Cluster, "c", {"spec": {"paused": True}})
    for kind in kinds:
        backup, name = await stage.backup(kind, named(kind, "0")), named(kind, "0")
        await there.restore(backup, owned=True)
        await stage.lose(kind, name)
    async with stage.at_work(), there.at_work():
        await paused(there, paused=True)
        await paused(there, paused=False)
        for kind in kinds:
            after = await there.until_ready(kind, named(kind, "0"))
            assert server_of(after) == server_of(before[kind])
            assert root_of(mark_in(after)) == root_of(mark_in(before[kind]))
            assert mark_in(after) != mark_in(before[kind])
            await there.until_marked(after)
        assert await stage.made_or_deleted(asked) == []
        for kind in kinds:
            await there.delete(kind, named(kind, "0"))
    await stage.change(Cluster, "c", {"spec": {"paused": False}})


async def test_of_two_clusters_with_one_object_the_newer_has_the_server_for_good_and_the_other_stops(
    stage: Stage, there: Stage
) -> None:
    """An export of the one is applied to the other, while the controllers of both are at work."""

    async def taken_over(kind: Kind) -> None:
        name, before = named(kind, "0"), originals[kind]
        await there.restore(await stage.backup(kind, name))
        after = await there.until_ready(kind, name)
        assert (server_of(after), place_of(mark_in(after))) == (server_of(before), place_of(mark_in(before)))
        await there.until_marked(after)
        taken[kind] = after

    async def stops(kind: Kind) -> None:
        name, before = named(kind, "0"), originals[kind]
        told = await stage.until_stopped(kind, name)
        assert told == (
            f"server {server_of(before)} belongs to {owner_of(before)} with another uid, which has taken it over from "
            "this one, maybe in another management cluster: delete this object; that leaves the cloud as it is"
        )

    originals: dict[Kind, Tree] = {}
    taken: dict[Kind, Tree] = {}
    async with there.at_work():
        async with stage.at_work():
            for kind in KINDS:
                originals[kind] = await stage.original(kind)
            asked = len(await stage.asked())
            await for_each(KINDS, taken_over)
            await for_each(KINDS, stops)
        written = len(await stage.asked())
        async with stage.at_work():  # another process
            await for_each(KINDS, stops)
            for kind in KINDS:
                await stage.delete(kind, named(kind, "0"))
        assert [each for each in (await stage.asked())[written:] if not each.startswith("GET")] == []
        for kind in KINDS:
            await there.until_marked(taken[kind])
        assert await stage.made_or_deleted(asked) == []
        for kind in KINDS:
            await there.delete(kind, named(kind, "0"))


async def test_an_object_that_was_not_copied_stops_at_the_server_of_its_name_in_the_other_cluster_and_may_have_its_own(
    stage: Stage, there: Stage
) -> None:
    name = named(OpenStackServer, "0")
    async with stage.at_work(), there.at_work():
        here = await stage.original(OpenStackServer)
        asked = len(await stage.asked())
        await there.add(OpenStackServer, name)
        told = await there.until_stopped(OpenStackServer, name)
        assert told.startswith(
            f"the project has a server {name} of an earlier object of this name ({server_of(here)}), "
        )
        assert await stage.made_or_deleted(asked) == []
        await there.annotate(OpenStackServer, name, ADOPT_ANNOTATION, ADOPT_NONE)
        beyond = await there.until_ready(OpenStackServer, name)
        assert server_of(here) != server_of(beyond)
        await there.delete(OpenStackServer, name)
        await stage.until_marked(here)
