"""Whose a cluster's network is: OpenStackClusters that are copied, forged, moved, restored, and served twice."""

from copy import deepcopy
from typing import Any

import pytest

from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.core import Event
from windlass.openstack.cloud.marks import mark_for, place_of, root_of
from windlass.openstack.cloud.requests import OPENSTACK
from windlass.openstack.constants import MARK_ANNOTATION, TAKE_OVER_ANNOTATION
from windlass.testing.crash import Scenario, crash_everywhere

from .cases import FINALIZER, GONE, MARK, OWN, Process, Tree, World, cluster, infra
from .copies import OfCopy, of_copy, told
from .managed import MANAGED, NAME, WHOLE, ask, made
from .restored import again, tried, writes


def copy(world: World, mark: str, **annotations: str) -> OfCopy:
    """Somebody makes another cluster from the manifests of the first, with annotations, under another name."""
    reference = {"apiGroup": OpenStackCluster.RESOURCE.group, "kind": "OpenStackCluster", "name": "copy"}
    owner, found = cluster(infrastructureRef=reference), infra(MANAGED)
    owner["metadata"].update(name="two", uid="Cluster-two")
    found["metadata"]["ownerReferences"][0].update(name="two", uid="Cluster-two")
    found["metadata"].update(name="copy", uid="copy", annotations={MARK_ANNOTATION: mark, **annotations})
    world.api.load(owner, found)
    return OfCopy(world)


def marks(world: World) -> set[str]:
    """Those of all that has one."""
    services = world.cloud.services
    kinds = (services.networks, services.subnets, services.routers, services.security_groups)
    texts = (each["description"] for kind in kinds for each in kind.values())
    return {text.partition("windlass-owner=")[2] for text in texts if "windlass-owner=" in text}


def events(world: World, reason: str) -> list[str]:
    found = [each.decode() for each in world.api.listing(Event)]
    return [each.message for each in found if each.reason == reason]


async def stopped(process: Process) -> None:
    for _ in range(8):
        await process.step()
        process.world.cloud.pass_time(5.0)


async def delete_copy(world: World, process: Process) -> None:
    await world.api.delete(OpenStackCluster, "copy", namespace="ns")
    await process.settle()
    assert of_copy(world) is None


async def test_a_copy_makes_a_network_of_its_own_and_its_deletion_leaves_that_of_the_original() -> None:
    world = await made()
    process = copy(world, world.mark)
    await process.settle()
    assert told(of_copy(world), "Ready")[0] == "True"
    assert world.held()["networks"] == 2
    text = "It was made from a copy of OpenStackCluster ns/one-infra: it has nothing of what that one has in the cloud"
    assert events(world, "MarkDropped") == [text]
    await delete_copy(world, process)
    assert (world.held(), marks(world)) == (WHOLE, {OWN})
    world.cloud.pass_time(601.0)
    assert (await world.rest()).writes == 0


@pytest.mark.parametrize(
    "forged",
    [
        pytest.param(MARK, id="the root alone, as earlier versions wrote it"),
        pytest.param(mark_for(MARK, "older", "cluster/ns/copy"), id="the root, and its own place"),
        pytest.param(mark_for(MARK, "copy", "cluster/ns/copy"), id="the root, and its own place and uid"),
        pytest.param(OWN, id="the whole mark"),
    ],
)
async def test_a_forged_mark_is_worth_nothing(forged: str) -> None:
    world = await made()
    process, before = copy(world, forged), len(world.cloud.requests)
    await stopped(process)
    touched = {each for each in writes(world, before) if not each.startswith("POST")}
    mine = [each["id"] for each in world.cloud.services.networks.values() if each["name"] == NAME]
    assert not any(which in each for each in touched for which in mine)
    if "/copy" in forged:
        status, reason, message = told(of_copy(world), "NetworkReady")
        assert (status, reason) == ("False", "OwnedByAnother")
        assert "belongs to OpenStackCluster ns/one-infra" in message
        assert MARK not in message
        assert writes(world, before) == []
    await delete_copy(world, process)
    assert (world.held(), marks(world)) == (WHOLE, {OWN})


async def test_a_moved_cluster_keeps_all_it_has_and_its_mark_follows_by_writes_alone() -> None:
    world = await made()
    again(world)
    before = len(world.cloud.requests)
    await world.process.settle()
    assert world.condition("Ready")[0] == "True"
    assert {each.partition(" ")[0] for each in writes(world, before)} == {"PUT"}
    assert marks(world) == {world.mark} != {OWN}
    assert (root_of(world.mark), place_of(world.mark)) == (MARK, place_of(OWN))
    assert world.held() == WHOLE


async def test_a_moved_cluster_that_is_deleted_before_it_was_visited_takes_what_it_had_with_it() -> None:
    world = await made()
    again(world, finalizers=[FINALIZER], deletionTimestamp=GONE)
    await world.process.settle()
    assert (world.is_gone, world.held()) == (True, {})
    assert events(world, "LeftInCloud") == []


@pytest.mark.slow
@pytest.mark.parametrize("deleted", [False, True], ids=["kept", "deleted at once"])
async def test_a_crash_while_a_moved_cluster_takes_over_makes_nothing_twice_and_loses_nothing(deleted: bool) -> None:
    start = await made()
    whole = {**start.tree(), "status": {}}
    whole["metadata"] = {name: each for name, each in whole["metadata"].items() if name != "resourceVersion"}
    whole["metadata"]["uid"] = "another"

    def make() -> Scenario:
        world = start_again(start, whole)

        async def settle(api: Any, reader: Any, systems: Any) -> None:
            await Process(world, api=api, clouds=systems[OPENSTACK]).settle()

        async def delete(api: Any) -> None:
            if not world.is_gone and "deletionTimestamp" not in world.tree()["metadata"]:
                await world.delete()

        def unowned(trees: Any) -> list[str]:
            expected = WHOLE if any(each["kind"] == "OpenStackCluster" for each in trees) else {}
            held = dict(world.held())
            return [] if held == expected else [f"the project has {held}, not {expected}"]

        return Scenario(
            world.api,
            settle,
            actors=[delete] if deleted else [],
            systems={OPENSTACK: world.clouds},
            unowned=unowned,
            moment=lambda: world.now,
        )

    report = await crash_everywhere(make)
    assert report.points >= 10


async def test_what_an_earlier_version_made_is_taken_over_by_writes_alone() -> None:
    world = await made()
    services = world.cloud.services
    for kind in (services.networks, services.subnets, services.routers, services.security_groups):
        for each in kind.values():
            each["description"] = each["description"].replace(OWN, MARK)
    again(world, annotations={MARK_ANNOTATION: MARK})
    before = len(world.cloud.requests)
    await world.process.settle()
    assert world.condition("Ready")[0] == "True"
    assert {each.partition(" ")[0] for each in writes(world, before)} == {"PUT"}
    assert marks(world) == {world.mark}
    assert world.held() == WHOLE


async def test_of_two_management_clusters_the_older_one_stops_for_good_and_its_deletion_leaves_the_cloud() -> None:
    old = await made()
    new = twin(old)
    again(new)
    await new.process.settle()
    assert new.condition("Ready")[0] == "True"
    old.cloud.pass_time(601.0)
    before = len(old.cloud.requests)
    await tried(old)
    status, reason, message = old.condition("NetworkReady")
    assert (status, reason) == ("False", "OwnedByAnother")
    assert "OpenStackCluster ns/one-infra with another uid, which has taken it over" in message
    assert writes(old, before) == []
    assert old.condition("Progressing")[0] == "False"
    await old.delete()
    await old.process.settle()
    assert old.is_gone
    assert any(each.startswith("Left in the cloud: ") for each in events(old, "LeftInCloud"))
    assert (old.held(), marks(old)) == (WHOLE, {new.mark})
    new.cloud.pass_time(601.0)
    assert (await new.rest()).writes == 0


async def test_under_another_name_it_stops_until_an_annotation_confirms_that_it_takes_over() -> None:
    world = await made()
    mark = world.mark
    meta = {**world.tree()["metadata"], "resourceVersion": None, "finalizers": []}
    world.api.load({**world.tree(), "metadata": meta})
    await world.delete()
    assert world.is_gone
    process = copy(world, mark)
    await stopped(process)
    status, reason, message = told(of_copy(world), "NetworkReady")
    assert (status, reason) == ("False", "OwnedByAnother")
    assert "belongs to OpenStackCluster ns/one-infra, which does not exist here" in message
    assert f"annotate this object with {TAKE_OVER_ANNOTATION}={place_of(mark)}" in message
    assert world.held() == WHOLE
    process = copy(world, mark, **{TAKE_OVER_ANNOTATION: place_of(mark)})
    before = len(world.cloud.requests)
    await process.settle()
    assert told(of_copy(world), "Ready")[0] == "True"
    assert world.held() == WHOLE, "the groups of the other name serve on"
    assert {each.partition(" ")[0] for each in writes(world, before)} == {"PUT"}


async def test_what_the_status_records_and_another_cluster_has_is_told_with_its_owner() -> None:
    world = await made()
    process = copy(world, "")
    theirs = mark_for("2b5f4c1e-8e5f-4d0c-9b0e-3f0a2a1d7c55", "x", "cluster/team-b/two")
    body = {"name": NAME, "description": f"windlass-owner={theirs}"}
    network = ask(world, "POST", "/networks", {"network": body})["network"]["id"]
    found = of_copy(world)
    assert found is not None
    found["metadata"].pop("resourceVersion")
    world.api.load({**found, "status": {"network": {"id": network}}})
    await stopped(process)
    status, reason, message = told(of_copy(world), "NetworkReady")
    assert (status, reason) == ("False", "OwnedByAnother")
    assert f"({network}), which the status records, belongs to OpenStackCluster team-b/two" in message
    assert theirs not in message


def twin(world: World) -> World:
    """Another management cluster, with the same objects, and credentials for the same project."""
    found = World(*world.api.dump())
    found.cloud = world.cloud
    return found


def start_again(world: World, infra_: Tree) -> World:
    """The same objects, but for this one, before a cloud that has what the cluster was made with."""
    others = (each for each in world.api.dump() if each["kind"] not in ("OpenStackCluster", "Event"))
    found = World(*others, infra_)
    was = {name: each for name, each in vars(world.cloud.services).items() if name != "_routes"}
    vars(found.cloud.services).update(deepcopy(was))
    return found
