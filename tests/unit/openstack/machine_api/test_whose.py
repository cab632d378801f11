"""Machines of the Machine API that are copied, restored, renamed or handed over, on the models of both worlds."""

import pytest

from tests.unit.openstack.clouded import MARK, NAMESPACE, PROJECT, begun_by_a_newer_one
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_server import OpenStackServer
from windlass.api.core import Event
from windlass.api.mapi import Machine
from windlass.kube.verbs import PatchType
from windlass.openstack.cloud.inventory import MARK as KEY_OF_MARK
from windlass.openstack.cloud.marks import mark_for, place
from windlass.openstack.cloud.wire import Http
from windlass.openstack.constants import (
    ADOPT_ANNOTATION,
    MACHINE_MARK_ANNOTATION,
    TAKE_OVER_ANNOTATION,
)
from windlass.openstack.create import mark_of_owner

from .cases import (
    NAME,
    OF_CLUSTER_API,
    ROOT,
    Fleet,
    Tree,
    machine,
    machine_of_the_other_side,
    other_side,
)
from .lives import Life, annotate, change, delete, deletions, exported, lose, of, original, says, writes

PROGRAM = mark_of_owner("fleet-7/worker-0")
ELSEWHERE = mark_for(ROOT, "u-restored", f"server/openshift-cluster-api/{NAME}")
"""That of the same object, restored in another management cluster."""


async def test_a_copy_gets_a_server_of_its_own_and_its_deletion_leaves_the_original() -> None:
    world = await original()
    (had,) = world.cloud.services.servers
    world.api.load(exported(world, "copy", named=False))
    await Life(world, "copy").settle()
    assert len(world.cloud.services.servers) == 2
    assert of(world, "copy")["spec"]["providerID"] != of(world, NAME)["spec"]["providerID"]
    assert "MarkDropped" in world.events()
    await delete(world, "copy")
    assert list(world.cloud.services.servers) == [had]
    assert len(world.cloud.services.ports) == 1


async def test_a_copy_that_names_the_server_of_the_original_stops_and_its_deletion_leaves_it() -> None:
    world = await original()
    (had,) = world.cloud.services.servers
    before = len(world.cloud.requests)
    world.api.load(exported(world, "copy"))
    await Life(world, "copy").settle()
    reason, message = says(of(world, "copy"))
    assert (reason, message) == (
        "OwnedByAnother",
        f"server {had} belongs to Machine {NAMESPACE}/{NAME}: remove spec.providerID if this object is to have a "
        "server of its own",
    )
    assert of(world, "copy")["status"].get("phase") != "Failed"
    await delete(world, "copy")
    assert (list(world.cloud.services.servers), writes(world, before)) == ([had], [])


async def test_a_copy_that_is_deleted_before_anybody_looked_at_it_leaves_the_original() -> None:
    world = await original()
    (had,) = world.cloud.services.servers
    before = len(world.cloud.requests)
    for name, named in (("one", True), ("two", False)):
        copy = exported(world, name, named=named)
        copy["metadata"]["finalizers"] = ["machine.machine.openshift.io"]
        world.api.load(copy)
        await delete(world, name)
    assert (list(world.cloud.services.servers), writes(world, before)) == ([had], [])
    told = [found.decode() for found in world.api.listing(Event)]
    assert "LeftInCloud" not in {each.reason for each in told if each.involved_object.name == "two"}


async def test_the_deletion_of_a_machine_leaves_all_that_a_newer_one_has_begun_to_take_over() -> None:
    world = Fleet()
    world.cloud.fault(method="POST", path="^/servers$", status=400, count=9)
    world.api.load(machine(world))
    await Life(world).settle()
    begun_by_a_newer_one(world)
    await delete(world, NAME)
    assert (len(world.cloud.services.ports), deletions(world)) == (2, [])


@pytest.mark.parametrize("named", [True, False], ids=["with providerID", "without"])
async def test_a_restored_machine_takes_over_what_it_had_and_makes_nothing(named: bool) -> None:
    world = await original()
    (had,) = world.cloud.services.servers
    backup = exported(world, NAME, named=named)
    await lose(world)
    world.api.load(backup)
    before = len(world.cloud.requests)
    await Life(world).settle()
    tree = of(world, NAME)
    assert (tree["spec"]["providerID"], says(tree)[0]) == (f"openstack:///{had}", "Ready")
    assert len(writes(world, before)) == 2  # the marks of server and port
    mark = tree["metadata"]["annotations"][MACHINE_MARK_ANNOTATION]
    assert world.cloud.services.servers[had]["metadata"][KEY_OF_MARK] == mark
    await delete(world, NAME)
    assert world.held() == {}


@pytest.mark.parametrize("named", [True, False], ids=["with providerID", "without"])
async def test_a_machine_that_was_restored_under_another_name_stops_until_an_annotation_confirms_it(
    named: bool,
) -> None:
    world = await original()
    (had,) = world.cloud.services.servers
    backup = exported(world, "renamed", named=named)
    await lose(world)
    world.api.load(backup)
    before = len(world.cloud.requests)
    await Life(world, "renamed").settle()
    reason, message = says(of(world, "renamed"))
    assert (reason, writes(world, before)) == ("OwnedByAnother", [])
    assert f"{had} belongs to Machine {NAMESPACE}/{NAME}, which does not exist here" in message
    assert f"{TAKE_OVER_ANNOTATION}=machine/{NAMESPACE}/{NAME}" in message
    await change(world, **annotate("renamed", **{TAKE_OVER_ANNOTATION: f"machine/{NAMESPACE}/{NAME}"}))
    await Life(world, "renamed").settle()
    assert of(world, "renamed")["spec"]["providerID"] == f"openstack:///{had}"
    await delete(world, "renamed")
    assert world.held() == {}


@pytest.mark.parametrize("held", [True, False], ids=["with the finalizer of the original", "without"])
async def test_the_deletion_of_a_machine_that_stopped_leaves_what_another_had(held: bool) -> None:
    world = await original()
    (had,) = world.cloud.services.servers
    backup = exported(world, "renamed", named=False)
    backup["metadata"]["finalizers"] = ["machine.machine.openshift.io"] if held else []
    await lose(world)
    world.api.load(backup)
    await Life(world, "renamed").settle()
    await delete(world, "renamed")
    assert (list(world.cloud.services.servers), deletions(world)) == ([had], [])
    assert ("LeftInCloud" in world.events()) is held


@pytest.mark.parametrize("named", [True, False], ids=["with providerID", "without"])
async def test_a_machine_that_a_newer_one_took_over_from_stops_for_good_and_goes_without_a_deletion(
    named: bool,
) -> None:
    world = await original()
    (had,) = world.cloud.services.servers
    if not named:
        await forget(world)
    root, _, place = of(world, NAME)["metadata"]["annotations"][MACHINE_MARK_ANNOTATION].split("/", 2)
    world.cloud.services.servers[had]["metadata"][KEY_OF_MARK] = f"{root}/ffffffffffffffff/{place}"
    await Life(world).settle()
    reason, message = says(of(world, NAME))
    assert (reason, "has taken it over from this one" in message) == ("OwnedByAnother", True)
    await delete(world, NAME)
    assert (list(world.cloud.services.servers), deletions(world)) == ([had], [])
    assert "LeftInCloud" in world.events()


async def test_a_mark_of_the_earlier_version_becomes_whole_without_a_create_or_a_deletion() -> None:
    world = await original()
    (had,) = world.cloud.services.servers
    mark = of(world, NAME)["metadata"]["annotations"][MACHINE_MARK_ANNOTATION]
    root = mark.partition("/")[0]
    world.cloud.services.servers[had]["metadata"][KEY_OF_MARK] = root
    for port in world.cloud.services.ports.values():
        port["description"] = f"{KEY_OF_MARK}={root}"
    await change(world, **annotate(NAME, **{MACHINE_MARK_ANNOTATION: root}))
    before = len(world.cloud.requests)
    await Life(world).settle()
    assert of(world, NAME)["metadata"]["annotations"][MACHINE_MARK_ANNOTATION] == mark
    assert world.cloud.services.servers[had]["metadata"][KEY_OF_MARK] == mark
    assert (len(writes(world, before)), deletions(world)) == (2, [])


async def forget(world: Fleet) -> None:
    """The Machine loses providerID and status."""
    await change(world, NAME, {"spec": {"providerID": None}})
    lost: Tree = {"status": {"phase": None, "conditions": None}}
    await world.api.patch(Machine, NAME, lost, type=PatchType.MERGE, namespace=NAMESPACE, subresource="status")


@pytest.mark.parametrize("stored", [f"{MARK}/x/server/a/b", None], ids=["other", "none"])
@pytest.mark.parametrize("named", [True, False], ids=["with providerID", "without"])
async def test_a_machine_whose_annotation_somebody_replaced_keeps_its_server(stored: str | None, named: bool) -> None:
    world = await original()
    (had,) = world.cloud.services.servers
    await change(world, **annotate(NAME, **{MACHINE_MARK_ANNOTATION: stored}))
    if not named:
        await forget(world)
    await Life(world).settle()
    assert list(world.cloud.services.servers) == [had]
    mark = of(world, NAME)["metadata"]["annotations"][MACHINE_MARK_ANNOTATION]
    assert world.cloud.services.servers[had]["metadata"][KEY_OF_MARK] == mark
    assert says(of(world, NAME))[0] == "Ready"
    await delete(world, NAME)
    assert world.held() == {}


async def with_a_server_of_its_name() -> tuple[Fleet, str]:
    """A Machine that has stopped at a server of its name, and the ID of that server."""
    world = Fleet()
    body = {"name": NAME, "flavorRef": world.flavor, "networks": []}
    _, made = world.cloud.services.handle(PROJECT, Http("compute", "POST", "/servers", body={"server": body}))
    world.api.load(machine(world))
    before = len(world.cloud.requests)
    await Life(world).settle()
    had = str(made["server"]["id"])
    reason, message = says(world.machine)
    assert (reason, writes(world, before)) == ("OwnedByAnother", [])
    assert f"({had}), which may have been made for this object before: set its spec.providerID to openst" in message
    return world, had


async def test_a_server_of_its_name_without_an_owner_stops_a_new_machine_until_its_provider_id_names_it() -> None:
    world, had = await with_a_server_of_its_name()
    await change(world, NAME, {"spec": {"providerID": f"openstack:///{had}"}})
    await Life(world).settle()
    assert (says(world.machine)[0], list(world.cloud.services.servers)) == ("Ready", [had])


async def test_or_until_an_annotation_says_that_it_makes_another_one() -> None:
    world, had = await with_a_server_of_its_name()
    await change(world, **annotate(NAME, **{ADOPT_ANNOTATION: "none"}))
    await Life(world).settle()
    assert (says(world.machine)[0], len(world.cloud.services.servers)) == ("Ready", 2)
    assert had not in world.machine["spec"]["providerID"]


async def test_a_copy_of_a_machine_that_was_deleted_since_makes_up_a_mark_of_its_own() -> None:
    world = await original()
    copy = exported(world, "copy", named=False)
    root = copy["metadata"]["annotations"][MACHINE_MARK_ANNOTATION].partition("/")[0]
    await delete(world, NAME)
    world.api.load(copy)
    await Life(world, "copy").settle()
    assert says(of(world, "copy"))[0] == "Ready"
    assert of(world, "copy")["metadata"]["annotations"][MACHINE_MARK_ANNOTATION].partition("/")[0] != root
    assert "MarkDropped" in world.events()


async def test_a_renamed_machine_that_takes_over_keeps_the_root_of_the_mark() -> None:
    world = await original()
    backup = exported(world, "renamed")
    backup["metadata"]["annotations"][TAKE_OVER_ANNOTATION] = f"machine/{NAMESPACE}/{NAME}"
    root = backup["metadata"]["annotations"][MACHINE_MARK_ANNOTATION].partition("/")[0]
    await lose(world)
    world.api.load(backup)
    await Life(world, "renamed").settle()
    assert of(world, "renamed")["metadata"]["annotations"][MACHINE_MARK_ANNOTATION].partition("/")[0] == root
    assert "MarkDropped" not in world.events()


async def test_a_restored_machine_of_which_nothing_is_left_waits_for_earlier_requests_before_it_makes_another() -> None:
    world = await original()
    backup = exported(world, NAME, named=False)
    await lose(world)
    world.api.load(backup)
    world.cloud.services.servers.clear()
    world.cloud.services.ports.clear()
    process = Life(world)
    for _ in range(4):
        await process.step()
    stored = of(world, NAME)["metadata"]["annotations"][MACHINE_MARK_ANNOTATION]
    assert stored == backup["metadata"]["annotations"][MACHINE_MARK_ANNOTATION]
    await process.settle()
    assert of(world, NAME)["metadata"]["annotations"][MACHINE_MARK_ANNOTATION] != stored
    assert len(world.cloud.services.servers) == 1


async def test_of_two_machines_with_one_mark_of_the_earlier_version_the_one_that_names_the_server_keeps_it() -> None:
    world = await original()
    (had,) = world.cloud.services.servers
    root = of(world, NAME)["metadata"]["annotations"][MACHINE_MARK_ANNOTATION].partition("/")[0]
    world.cloud.services.servers[had]["metadata"][KEY_OF_MARK] = root
    for port in world.cloud.services.ports.values():
        port["description"] = f"{KEY_OF_MARK}={root}"
    await change(world, **annotate(NAME, **{MACHINE_MARK_ANNOTATION: root}))
    copy = exported(world, "copy", named=False)
    copy["metadata"]["finalizers"] = ["machine.machine.openshift.io"]
    world.api.load(copy)
    await delete(world, "copy")
    await Life(world).settle()
    assert (list(world.cloud.services.servers), says(of(world, NAME))[0]) == ([had], "Ready")


async def test_a_machine_that_is_made_again_without_its_mark_has_the_server_that_it_names() -> None:
    world = await original()
    (had,) = world.cloud.services.servers
    again = exported(world, NAME)
    again["metadata"]["annotations"] = {}
    await lose(world)
    world.api.load(again)
    await Life(world).settle()
    assert (list(world.cloud.services.servers), says(of(world, NAME))[0]) == ([had], "Ready")
    await delete(world, NAME)
    assert world.held() == {}


async def given_to_cluster_api(theirs: str = OF_CLUSTER_API, *, name: str = NAME) -> Fleet:
    world = await original(name)
    for server in world.cloud.services.servers.values():
        server["metadata"][KEY_OF_MARK] = theirs
    for port in world.cloud.services.ports.values():
        port["description"] = f"{KEY_OF_MARK}={theirs}"
    return world


async def test_a_server_of_an_openstackserver_that_may_still_act_is_waited_for() -> None:
    world = await given_to_cluster_api()
    world.api.load(other_side())
    before = len(world.cloud.requests)
    await Life(world).settle()
    awaited = f"Waiting for OpenStackServer openshift-cluster-api/{NAME} of Cluster API to hand over"
    assert (says(world.machine)[1], writes(world, before)) == (awaited, [])
    await world.delete()
    await Life(world).settle()
    assert (world.is_gone, writes(world, before)) == (False, [])
    await world.api.delete(OpenStackServer, NAME, namespace="openshift-cluster-api")
    world.api.load(other_side(paused="True"))
    await Life(world).settle()
    assert (world.is_gone, world.held()) == (True, {})


async def test_without_its_openstackserver_a_machine_takes_its_server_once_its_openstackmachine_is_paused() -> None:
    world = await given_to_cluster_api()
    world.api.load(machine_of_the_other_side(paused="False"))
    before = len(world.cloud.requests)
    await Life(world).settle()
    awaited = f"Waiting for OpenStackMachine openshift-cluster-api/{NAME} of Cluster API to hand over"
    assert (says(world.machine)[1], writes(world, before)) == (awaited, [])
    await world.api.delete(OpenStackMachine, NAME, namespace="openshift-cluster-api")
    world.api.load(machine_of_the_other_side())
    await Life(world).settle()
    assert says(world.machine)[0] == "Ready"
    await delete(world, NAME)
    assert world.held() == {}


async def test_a_machine_with_a_long_name_takes_its_server_from_its_counterpart() -> None:
    name = "worker-" + "x" * 50
    theirs = mark_for(ROOT, "u-server", place("server", "openshift-cluster-api", name))
    world = await given_to_cluster_api(theirs, name=name)
    world.api.load(other_side(mark=theirs, paused="True", name=name))
    await Life(world, name).settle()
    assert says(of(world, name))[0] == "Ready"
    await delete(world, name)
    assert world.held() == {}


async def test_a_machine_takes_no_server_that_cluster_api_has_in_another_management_cluster() -> None:
    world = await given_to_cluster_api()
    before = len(world.cloud.requests)
    await Life(world).settle()
    assert (says(world.machine)[0], writes(world, before)) == ("OwnedByAnother", [])


@pytest.mark.parametrize(
    ("theirs", "there"),
    [
        pytest.param(ELSEWHERE, other_side(paused="True"), id="restored elsewhere"),
        pytest.param(ELSEWHERE, machine_of_the_other_side(), id="restored elsewhere, and lost here"),
        pytest.param(
            mark_for(ROOT, "u-server", "server/openshift-cluster-api/other"),
            other_side(paused="True", name="other"),
            id="of another name",
        ),
        pytest.param(
            OF_CLUSTER_API, other_side(paused="True", mark=mark_for(MARK, "u", "server/a/b")), id="with another mark"
        ),
        pytest.param(
            mark_for(ROOT, "u", f"cluster/openshift-cluster-api/{NAME}"), other_side(paused="True"), id="kind"
        ),
        pytest.param(PROGRAM, other_side(paused="True", mark=PROGRAM), id="a program's, with a forged annotation"),
        pytest.param(OF_CLUSTER_API, {**other_side(paused="True"), "spec": 7}, id="that cannot be read"),
    ],
)
async def test_a_server_of_anybody_but_its_counterpart_is_not_taken(theirs: str, there: Tree) -> None:
    world = await given_to_cluster_api(theirs)
    world.api.load(there)
    if there["kind"] == "OpenStackServer":  # its machine does not count while it is there itself
        world.api.load(machine_of_the_other_side(mark=theirs))
    before = len(world.cloud.requests)
    await Life(world).settle()
    assert (says(world.machine)[0], writes(world, before)) == ("OwnedByAnother", [])
    await delete(world, NAME)
    assert deletions(world) == []


async def test_annotations_of_openstackservers_mean_nothing_on_a_machine() -> None:
    world = await original()
    (had,) = world.cloud.services.servers
    copy = exported(world, "copy", named=False)
    copy["metadata"]["annotations"] = {ADOPT_ANNOTATION: had}
    world.api.load(copy)
    await Life(world, "copy").settle()
    assert of(world, "copy")["spec"]["providerID"] != f"openstack:///{had}"


@pytest.mark.parametrize("lost", ["providerID", "finalizer"])
async def test_what_a_machine_without_its_mark_had_is_looked_for_until_no_earlier_request_can_arrive(lost: str) -> None:
    world = await original()
    without: Tree = {"annotations": {MACHINE_MARK_ANNOTATION: None}}
    await change(world, NAME, {"metadata": {**without, **({"finalizers": None} if lost == "finalizer" else {})}})
    if lost == "providerID":
        await forget(world)
    process = Life(world)
    for _ in range(2):
        await process.step()
    assert not (await process.look()).certain
