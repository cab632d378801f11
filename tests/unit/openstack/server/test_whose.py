"""OpenStackServers that are copied, moved, restored or forged, on the models of the API server and the cloud."""

import pytest

from tests.unit.openstack.clouded import NAMESPACE, PROJECT, World, begun_by_a_newer_one, server
from tests.unit.openstack.server.lives import (
    NAME,
    Life,
    Tree,
    delete,
    deletions,
    exported,
    of,
    original,
    reason_of,
    restored,
    told,
)
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_server import OpenStackServer
from windlass.api.core import Event
from windlass.kube.verbs import PatchType
from windlass.openstack.cloud.marks import mark_for
from windlass.openstack.cloud.wire import Http
from windlass.openstack.constants import ADOPT_ANNOTATION, MARK_ANNOTATION, TAKE_OVER_ANNOTATION


async def test_a_copy_gets_a_server_of_its_own_and_its_deletion_leaves_the_original() -> None:
    world = await original()
    (had,) = world.cloud.services.servers
    world.api.load(exported(world, "copy", NAMESPACE))
    await Life(world, "copy").settle()
    assert len(world.cloud.services.servers) == 2
    assert of(world, "copy")["status"]["instanceID"] != had
    await delete(world, "copy")
    assert list(world.cloud.services.servers) == [had]
    assert len(world.cloud.services.ports) == 1


async def test_a_copy_that_is_deleted_before_anybody_looked_says_what_it_was_copied_from() -> None:
    world = await original()
    (had,) = world.cloud.services.servers
    copy = exported(world, "copy")
    copy["metadata"]["finalizers"] = of(world, NAME)["metadata"]["finalizers"]
    world.api.load(copy)
    await delete(world, "copy")
    assert (list(world.cloud.services.servers), deletions(world)) == ([had], [])
    events = [found.decode() for found in world.api.listing(Event)]
    (told_of,) = [each.message for each in events if each.involved_object.name == "copy"]
    assert told_of.startswith(f"It was made from a copy of OpenStackServer {NAMESPACE}/{NAME}")


async def test_a_copy_that_names_the_server_of_the_original_stops_and_its_deletion_leaves_it() -> None:
    world = await original()
    (had,) = world.cloud.services.servers
    world.api.load(exported(world, "copy", NAMESPACE, **{ADOPT_ANNOTATION: had}))
    await Life(world, "copy").settle()
    reason, message = told(of(world, "copy"))
    assert (reason, f"OpenStackServer {NAMESPACE}/{NAME}" in message) == ("OwnedByAnother", True)
    assert ADOPT_ANNOTATION in message
    await delete(world, "copy")
    assert (list(world.cloud.services.servers), deletions(world)) == ([had], [])


@pytest.mark.parametrize("form", ["whole", "root"])
async def test_a_forged_mark_gives_nothing(form: str) -> None:
    world = await original()
    (had,) = world.cloud.services.servers
    mark = of(world, NAME)["metadata"]["annotations"][MARK_ANNOTATION]
    forged = server(world)
    forged["metadata"] = {
        "name": "evil",
        "namespace": NAMESPACE,
        "annotations": {MARK_ANNOTATION: mark if form == "whole" else mark.partition("/")[0]},
    }
    world.api.load(forged)
    await Life(world, "evil").settle()
    assert of(world, "evil")["status"]["instanceID"] != had
    await delete(world, "evil")
    assert list(world.cloud.services.servers) == [had]


async def test_a_restored_object_takes_over_what_it_had_and_makes_nothing() -> None:
    world = await original()
    (had,) = world.cloud.services.servers
    before = len(world.cloud.requests)
    await restored(world)
    await Life(world).settle()
    tree = of(world, NAME)
    assert tree["status"]["instanceID"] == had
    assert {each["type"]: each["status"] for each in tree["status"]["conditions"]}["Ready"] == "True"
    writes = [f"{each.method} {each.path}" for each in world.cloud.requests[before:] if each.method != "GET"]
    assert len(writes) == 2, writes  # server and port
    mark = tree["metadata"]["annotations"][MARK_ANNOTATION]
    assert world.cloud.services.servers[had]["metadata"]["windlass-owner"] == mark
    await delete(world, NAME)
    assert world.held() == {}


async def test_an_object_that_was_restored_under_another_name_stops_until_an_annotation_confirms_it() -> None:
    world = await original()
    (had,) = world.cloud.services.servers
    before = len(world.cloud.requests)
    lost = await restored(world, "renamed")
    root = lost["metadata"]["annotations"][MARK_ANNOTATION].partition("/")[0]
    await Life(world, "renamed").settle()
    reason, message = told(of(world, "renamed"))
    assert reason == "OwnedByAnother"
    assert f"{had} belongs to OpenStackServer {NAMESPACE}/{NAME}, which does not exist here" in message
    assert f"{TAKE_OVER_ANNOTATION}=server/{NAMESPACE}/{NAME}" in message
    assert all(each.method == "GET" for each in world.cloud.requests[before:])
    body = {"metadata": {"annotations": {TAKE_OVER_ANNOTATION: f"server/{NAMESPACE}/{NAME}"}}}
    await world.api.patch(OpenStackServer, "renamed", body, type=PatchType.MERGE, namespace=NAMESPACE)
    await Life(world, "renamed").settle()
    assert of(world, "renamed")["status"]["instanceID"] == had
    assert of(world, "renamed")["metadata"]["annotations"][MARK_ANNOTATION].partition("/")[0] == root
    await delete(world, "renamed")
    assert world.held() == {}


async def test_an_object_that_stopped_makes_its_own_server_once_its_mark_is_removed() -> None:
    world = await original()
    (had,) = world.cloud.services.servers
    await restored(world, "renamed")
    await Life(world, "renamed").settle()
    body: Tree = {"metadata": {"annotations": {MARK_ANNOTATION: None}}}
    await world.api.patch(OpenStackServer, "renamed", body, type=PatchType.MERGE, namespace=NAMESPACE)
    await Life(world, "renamed").settle()
    assert of(world, "renamed")["status"]["instanceID"] != had
    await delete(world, "renamed")
    assert list(world.cloud.services.servers) == [had]


async def test_the_deletion_of_an_object_that_stopped_leaves_what_another_had() -> None:
    world = await original()
    (had,) = world.cloud.services.servers
    await restored(world, "renamed")
    await Life(world, "renamed").settle()
    await delete(world, "renamed")
    assert (list(world.cloud.services.servers), deletions(world)) == ([had], [])


@pytest.mark.parametrize("stored", ["0b5f4c1e-8e5f-4d0c-9b0e-3f0a2a1d7c55/x/server/a/b", None], ids=["other", "none"])
@pytest.mark.parametrize("told", [True, False], ids=["with its status", "without"])
async def test_an_object_whose_annotation_somebody_replaced_keeps_its_server(stored: str | None, told: bool) -> None:
    world = await original()
    (had,) = world.cloud.services.servers
    body: Tree = {"metadata": {"annotations": {MARK_ANNOTATION: stored}}}
    await world.api.patch(OpenStackServer, NAME, body, type=PatchType.MERGE, namespace=NAMESPACE)
    if not told:
        lost: Tree = {"status": {"instanceID": None, "resources": None, "resolved": None}}
        await world.api.patch(
            OpenStackServer, NAME, lost, type=PatchType.MERGE, namespace=NAMESPACE, subresource="status"
        )
    await Life(world).settle()
    tree = of(world, NAME)
    assert (list(world.cloud.services.servers), reason_of(tree)) == ([had], "Ready")
    mark = tree["metadata"]["annotations"][MARK_ANNOTATION]
    assert world.cloud.services.servers[had]["metadata"]["windlass-owner"] == mark
    await delete(world, NAME)
    assert world.held() == {}


async def test_an_object_that_a_newer_one_took_over_from_stops_for_good_and_goes_without_a_deletion() -> None:
    world = await original()
    (had,) = world.cloud.services.servers
    mark = of(world, NAME)["metadata"]["annotations"][MARK_ANNOTATION]
    root, _, place = mark.split("/", 2)
    newer = f"{root}/ffffffffffffffff/{place}"
    world.cloud.services.servers[had]["metadata"]["windlass-owner"] = newer
    process = Life(world)
    await process.settle()
    reason, message = told(of(world, NAME))
    assert (reason, "has taken it over from this one" in message) == ("OwnedByAnother", True)
    await delete(world, NAME)
    assert (list(world.cloud.services.servers), deletions(world)) == ([had], [])


async def test_an_object_makes_another_port_if_the_one_with_its_mark_hangs_on_the_server_of_another() -> None:
    world = await original()
    (had,), services = world.cloud.services.servers, world.cloud.services
    other = server(world)
    other["metadata"]["name"] = "other"
    world.api.load(other)
    world.cloud.fault(method="POST", path="^/servers$", status=400, count=1)
    await Life(world, "other").step()
    mine = next(each for each in services.ports.values() if each["device_id"] == "")
    mine.update(device_id=had, device_owner="compute:az1")
    await Life(world, "other").settle()
    assert reason_of(of(world, "other")) == "Ready"
    (own,) = [{"id": each["id"]} for each in services.ports.values() if each["device_id"] != had]
    assert of(world, "other")["status"]["resources"]["ports"] == [own]
    assert len(services.ports) == 3


async def test_the_deletion_of_an_object_leaves_all_that_a_newer_one_has_begun_to_take_over() -> None:
    world = World()
    world.cloud.fault(method="POST", path="^/servers$", status=400, count=9)
    world.api.load(server(world))
    await Life(world).settle()
    begun_by_a_newer_one(world)
    await delete(world, NAME)
    assert (len(world.cloud.services.ports), deletions(world)) == (2, [])


async def test_who_knows_the_mark_of_an_earlier_version_gets_nothing_by_issuing_it_to_another_object() -> None:
    world = await original()
    (had,) = world.cloud.services.servers
    mark = of(world, NAME)["metadata"]["annotations"][MARK_ANNOTATION]
    root = mark.partition("/")[0]
    world.cloud.services.servers[had]["metadata"]["windlass-owner"] = root
    body = {"metadata": {"annotations": {MARK_ANNOTATION: root}}}
    await world.api.patch(OpenStackServer, NAME, body, type=PatchType.MERGE, namespace=NAMESPACE)
    forged = server(world)
    issued = mark_for(root, "u-thief", f"server/{NAMESPACE}/thief")
    meta = {"name": "thief", "namespace": NAMESPACE, "uid": "u-thief"}
    world.api.load({**forged, "metadata": {**meta, "annotations": {MARK_ANNOTATION: issued}}})
    await Life(world, "thief").settle()
    reason, message = told(of(world, "thief"))
    assert reason == "OwnedByAnother"
    assert f"server {had} belongs to OpenStackServer {NAMESPACE}/{NAME}: remove the annotation" in message
    await delete(world, "thief")
    await Life(world).settle()
    assert (list(world.cloud.services.servers), deletions(world)) == ([had], [])
    assert of(world, NAME)["metadata"]["annotations"][MARK_ANNOTATION] == mark


async def test_marks_of_the_earlier_version_become_whole_without_a_create_or_a_deletion() -> None:
    world = await original()
    (had,) = world.cloud.services.servers
    services = world.cloud.services
    mark = of(world, NAME)["metadata"]["annotations"][MARK_ANNOTATION]
    root = mark.partition("/")[0]
    services.servers[had]["metadata"]["windlass-owner"] = root
    for port in services.ports.values():
        port["description"] = f"windlass-owner={root}"
    body = {"metadata": {"annotations": {MARK_ANNOTATION: root}}}
    await world.api.patch(OpenStackServer, NAME, body, type=PatchType.MERGE, namespace=NAMESPACE)
    before = len(world.cloud.requests)
    await Life(world).settle()
    assert of(world, NAME)["metadata"]["annotations"][MARK_ANNOTATION] == mark
    assert services.servers[had]["metadata"]["windlass-owner"] == mark
    writes = [each.path for each in world.cloud.requests[before:] if each.method != "GET"]
    assert (len(writes), deletions(world), list(services.servers)) == (2, [], [had])


async def test_a_server_of_its_name_without_an_owner_stops_a_new_object_before_its_first_create() -> None:
    world = World()
    body = {"name": NAME, "flavorRef": world.flavor, "networks": []}
    _, made = world.cloud.services.handle(PROJECT, Http("compute", "POST", "/servers", body={"server": body}))
    world.api.load(server(world))
    await Life(world).settle()
    reason, message = told(world.server)
    assert (reason, made["server"]["id"] in message) == ("OwnedByAnother", True)
    assert len(world.cloud.services.servers) == 1
    annotation = {"metadata": {"annotations": {ADOPT_ANNOTATION: "none"}}}
    await world.api.patch(OpenStackServer, NAME, annotation, type=PatchType.MERGE, namespace=NAMESPACE)
    await Life(world).settle()
    assert len(world.cloud.services.servers) == 2


async def test_a_server_of_its_name_that_it_adopts_as_it_is_told_to_goes_with_its_ports() -> None:
    world = World()
    port = {"network_id": world.network, "name": "of-a-person"}
    _, made = world.cloud.services.handle(PROJECT, Http("network", "POST", "/v2.0/ports", body={"port": port}))
    body = {"name": NAME, "flavorRef": world.flavor, "networks": [{"port": made["port"]["id"]}]}
    _, made = world.cloud.services.handle(PROJECT, Http("compute", "POST", "/servers", body={"server": body}))
    world.cloud.pass_time(5)
    world.api.load(server(world))
    process = Life(world)
    await process.settle()
    annotation = {"metadata": {"annotations": {ADOPT_ANNOTATION: made["server"]["id"]}}}
    await world.api.patch(OpenStackServer, NAME, annotation, type=PatchType.MERGE, namespace=NAMESPACE)
    await process.settle()
    assert told(world.server)[0] == "Ready"
    mark = world.server["metadata"]["annotations"][MARK_ANNOTATION]
    assert [each["description"] for each in world.cloud.services.ports.values()] == [f"windlass-owner={mark}"]
    assert world.held() == {"servers": 1, "ports": 1}
    await delete(world, NAME)
    assert world.held() == {}


@pytest.mark.parametrize("named", [True, False])
async def test_a_restored_object_without_a_mark_waits_for_the_machine_that_knows_its_server(named: bool) -> None:
    world = World()
    tree = server(world)
    owner = {"apiVersion": OpenStackMachine.RESOURCE.api_version, "kind": "OpenStackMachine", "name": NAME, "uid": "m"}
    tree["metadata"]["ownerReferences"] = [owner]
    spec = {"flavor": "m1.small", "image": {}, "sshKeyName": ""}
    spec |= {"providerID": "openstack:///0b5f4c1e-8e5f-4d0c-9b0e-3f0a2a1d7c55"} if named else {}
    metadata = {"name": NAME, "namespace": NAMESPACE, "uid": "m"}
    world.api.load(tree, {**owner, "metadata": metadata, "spec": spec})
    await Life(world).settle()
    assert len(world.cloud.services.servers) == (0 if named else 1)
    if named:
        assert "Waiting for OpenStackMachine worker-0 to name its server here" in told(world.server)[1]


async def test_a_copy_of_an_object_that_was_deleted_since_makes_up_a_mark_of_its_own() -> None:
    world = await original()
    copy = exported(world, "copy")
    root = copy["metadata"]["annotations"][MARK_ANNOTATION].partition("/")[0]
    await delete(world, NAME)
    world.api.load(copy)
    await Life(world, "copy").settle()
    assert reason_of(of(world, "copy")) == "Ready"
    assert of(world, "copy")["metadata"]["annotations"][MARK_ANNOTATION].partition("/")[0] != root
    assert "MarkDropped" in {event.decode().reason for event in world.api.listing(Event)}


async def test_a_restored_object_of_which_nothing_is_left_waits_for_earlier_requests_before_it_makes_another() -> None:
    world = await original()
    backup = await restored(world)
    world.cloud.services.servers.clear()
    world.cloud.services.ports.clear()
    process = Life(world)
    for _ in range(4):
        await process.step()
    stored = of(world, NAME)["metadata"]["annotations"][MARK_ANNOTATION]
    assert stored == backup["metadata"]["annotations"][MARK_ANNOTATION]
    await process.settle()
    assert of(world, NAME)["metadata"]["annotations"][MARK_ANNOTATION] != stored
    assert len(world.cloud.services.servers) == 1


async def test_a_restored_object_that_is_deleted_before_anybody_looked_takes_its_server_with_it() -> None:
    world = await original()
    backup = exported(world, NAME)
    backup["metadata"]["finalizers"] = of(world, NAME)["metadata"]["finalizers"]
    await restored(world, "nobody")
    world.api.load(backup)
    await delete(world, NAME)
    assert world.held() == {}


@pytest.mark.parametrize("deleted", [True, False], ids=["deleted", "served"])
async def test_of_two_objects_with_one_mark_of_the_earlier_version_the_recorded_one_keeps_the_server(
    deleted: bool,
) -> None:
    world = await original()
    (had,) = world.cloud.services.servers
    services, root = world.cloud.services, of(world, NAME)["metadata"]["annotations"][MARK_ANNOTATION].partition("/")[0]
    services.servers[had]["metadata"]["windlass-owner"] = root
    for port in services.ports.values():
        port["description"] = f"windlass-owner={root}"
    body: Tree = {"metadata": {"annotations": {MARK_ANNOTATION: root}}}
    await world.api.patch(OpenStackServer, NAME, body, type=PatchType.MERGE, namespace=NAMESPACE)
    copy = exported(world, "copy")
    copy["metadata"]["finalizers"] = of(world, NAME)["metadata"]["finalizers"]
    world.api.load(copy)
    if not deleted:
        await Life(world, "copy").settle()
        assert of(world, "copy")["status"]["instanceID"] != had
    await delete(world, "copy")
    await Life(world).settle()
    assert (list(services.servers), reason_of(of(world, NAME))) == ([had], "Ready")


async def test_an_object_that_names_the_server_of_one_that_is_gone_stops_until_an_annotation_confirms_it() -> None:
    world = await original()
    (had,) = world.cloud.services.servers
    await restored(world, "nobody")
    await world.api.delete(OpenStackServer, "nobody", namespace=NAMESPACE)
    heir = server(world)
    heir["metadata"] = {"name": "heir", "namespace": NAMESPACE, "annotations": {ADOPT_ANNOTATION: had}}
    world.api.load(heir)
    await Life(world, "heir").settle()
    assert f"{TAKE_OVER_ANNOTATION}=server/{NAMESPACE}/{NAME}" in told(of(world, "heir"))[1]
    body = {"metadata": {"annotations": {TAKE_OVER_ANNOTATION: f"server/{NAMESPACE}/{NAME}"}}}
    await world.api.patch(OpenStackServer, "heir", body, type=PatchType.MERGE, namespace=NAMESPACE)
    await Life(world, "heir").settle()
    assert (of(world, "heir")["status"]["instanceID"], reason_of(of(world, "heir"))) == (had, "Ready")
    await delete(world, "heir")
    assert world.held() == {}


async def test_an_object_that_is_made_again_without_its_mark_and_names_its_server_has_it_once() -> None:
    world = await original()
    (had,) = world.cloud.services.servers
    await restored(world, "nobody")
    again = server(world)
    again["metadata"]["annotations"] = {ADOPT_ANNOTATION: had}
    world.api.load(again)
    await Life(world).settle()
    tree = of(world, NAME)
    assert (tree["status"]["instanceID"], reason_of(tree)) == (had, "Ready")
    newer = "2b5f4c1e-8e5f-4d0c-9b0e-3f0a2a1d7c55/ffffffffffffffff/server/machines/worker-0"
    world.cloud.services.servers[had]["metadata"]["windlass-owner"] = newer
    await Life(world).settle()
    assert reason_of(of(world, NAME)) == "OwnedByAnother"
    assert world.cloud.services.servers[had]["metadata"]["windlass-owner"] == newer


async def test_a_server_that_was_deleted_in_the_cloud_is_told_of_although_another_has_its_name() -> None:
    world = await original()
    world.cloud.services.servers.clear()
    world.cloud.services.ports.clear()
    body = {"name": NAME, "flavorRef": world.flavor, "networks": []}
    world.cloud.services.handle(PROJECT, Http("compute", "POST", "/servers", body={"server": body}))
    await Life(world).settle()
    assert reason_of(of(world, NAME)) == "InstanceNotFound"


async def test_what_an_object_made_goes_with_it_although_it_names_the_server_of_another() -> None:
    world = await original()
    (had,) = world.cloud.services.servers
    other = server(world)
    other["metadata"]["name"] = "other"
    world.api.load(other)
    world.cloud.fault(method="POST", path="^/servers$", status=400, count=9)
    await Life(world, "other").settle()
    assert len(world.cloud.services.ports) == 2
    body = {"metadata": {"annotations": {ADOPT_ANNOTATION: had}}}
    await world.api.patch(OpenStackServer, "other", body, type=PatchType.MERGE, namespace=NAMESPACE)
    await delete(world, "other")
    assert (list(world.cloud.services.servers), len(world.cloud.services.ports)) == ([had], 1)


@pytest.mark.parametrize("kept", ["resolved", "instanceID"])
async def test_what_an_object_without_its_mark_had_is_looked_for_until_no_earlier_request_can_arrive(kept: str) -> None:
    world = await original()
    without: Tree = {"metadata": {"annotations": {MARK_ANNOTATION: None}, "finalizers": None}}
    await world.api.patch(OpenStackServer, NAME, without, type=PatchType.MERGE, namespace=NAMESPACE)
    lost: Tree = {"status": {each: None for each in ("instanceID", "resources", "resolved") if each != kept}}
    await world.api.patch(OpenStackServer, NAME, lost, type=PatchType.MERGE, namespace=NAMESPACE, subresource="status")
    process = Life(world)
    await process.step()
    assert not (await process.look()).certain


async def test_a_plain_manifest_that_is_applied_again_finds_the_server_of_the_lost_object_and_makes_no_other() -> None:
    world = await original()
    (had,) = world.cloud.services.servers
    await restored(world)
    plain = {"metadata": {"annotations": {MARK_ANNOTATION: None}}}
    await world.api.patch(OpenStackServer, NAME, plain, type=PatchType.MERGE, namespace=NAMESPACE)
    await Life(world).settle()
    reason, message = told(world.server)
    assert (reason, f"of an earlier object of this name ({had})" in message) == ("OwnedByAnother", True)
    adopt = {"metadata": {"annotations": {ADOPT_ANNOTATION: had}}}
    await world.api.patch(OpenStackServer, NAME, adopt, type=PatchType.MERGE, namespace=NAMESPACE)
    await Life(world).settle()
    assert (list(world.cloud.services.servers), world.server["status"]["instanceID"]) == ([had], had)


async def test_what_a_list_of_before_shows_is_not_believed_once_a_newer_one_was_asked_for() -> None:
    """Its YAML is applied again after everything was deleted by another process, while an old list still shows it."""
    world = await original()
    yaml, staying = exported(world, NAME), Life(world)
    await staying.step()
    world.cloud.pass_time(60.0)
    for member in staying.clouds._members.values():
        await member.account.refresh(volumes=True)
    await delete(world, NAME)
    assert list(world.cloud.services.servers) == []
    await world.api.create(OpenStackServer, yaml, namespace=NAMESPACE)
    await staying.step()
    assert reason_of(of(world, NAME)) != "OwnedByAnother"
    await staying.settle()
    assert len(world.cloud.services.servers) == 1
