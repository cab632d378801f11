"""Bastions of clusters: made, changed, switched off and on again, and in the hands of others."""

from typing import Any

import pytest

from windlass.api.capo_server import OpenStackServer
from windlass.api.core import Event
from windlass.kube.errors import Forbidden, Status
from windlass.openstack.status import CLUSTER_PARTS

from .bastioned import BASTION, NAME, WHOLE, WITHOUT, Process, World, made
from .cases import Tree, secret

OFF: Tree = {**BASTION, "enabled": False}


def methods(world: World, since: int) -> list[str]:
    return [
        f"{each.method} {each.path.split('/')[-1]}" for each in world.cloud.requests[since:] if each.method != "GET"
    ]


async def test_a_bastion_is_made_with_its_group_and_address_and_goes_without_a_trace() -> None:
    world, process = await made()
    assert world.ready[0] == world.condition("Ready")[0] == "True"
    assert world.held() == WHOLE
    assert world.leads_to_the_server()
    (server,) = world.cloud.services.servers.values()
    address = world.address["floating_ip_address"]
    assert world.told == {
        "name": NAME,
        "id": server["id"],
        "state": "ACTIVE",
        "sshKeyName": "key",
        "ip": world.address["fixed_ip_address"],
        "floatingIP": address,
    }
    assert world.address["description"].startswith(
        "Bastion address made by Windlass for cluster ns-one windlass-owner="
    )
    assert world.server is not None
    group = world.tree()["status"]["bastionSecurityGroup"]["id"]
    assert world.server["spec"]["ports"][0]["securityGroups"] == [{"id": group}]
    before = len(world.cloud.requests)
    world.cloud.pass_time(601.0)
    await process.settle()
    assert methods(world, before) == []
    await world.delete()
    await process.settle()
    assert world.is_gone
    assert world.held() == {}


async def test_a_cluster_is_provisioned_before_its_bastion() -> None:
    world = World()
    await Process(world).cluster.settle()  # nobody makes servers
    assert world.tree()["status"]["initialization"] == {"provisioned": True}
    assert {world.condition(part)[0] for part in CLUSTER_PARTS} == {"True"}
    assert world.ready[:2] == world.condition("Ready")[:2] == ("False", "InstanceNotReady")
    assert NAME in world.condition("Ready")[2]
    assert world.told["name"] == NAME


async def test_a_changed_bastion_is_replaced_and_keeps_its_address() -> None:
    world, process = await made()
    address, before = world.address, len(world.cloud.requests)
    (old,) = world.cloud.services.servers
    world.bastion(flavor="m1.medium")
    await process.cluster.step()
    text = f"Deleting OpenStackServer {NAME}: flavor m1.small -> m1.medium: the bastion is replaced"
    assert world.ready == ("False", "Progressing", text)
    assert world.told == {"name": NAME, "floatingIP": address["floating_ip_address"]}
    assert world.tree()["status"]["initialization"] == {"provisioned": True}
    await process.settle()
    assert world.ready[0] == "True"
    assert world.address["id"] == address["id"]
    assert world.leads_to_the_server()
    assert old not in world.cloud.services.servers
    assert methods(world, before) == [
        f"DELETE {old}",
        methods(world, before)[1],  # its port
        "POST ports",
        "POST servers",
        f"PUT {address['id']}",
    ]
    assert sorted(found.decode().message for found in world.api.listing(Event) if found.decode().message == text) == [
        text
    ]


async def test_a_bastion_that_cannot_stay_is_deleted_before_the_look_that_a_changed_spec_needs() -> None:
    world, process = await made()
    before = len(world.cloud.requests)
    down = world.cloud.fault(method="GET", path="^/v2.0/routers", status=503, count=1)
    world.bastion(flavor="m1.medium")
    await process.cluster.step()
    assert world.server is not None
    assert "deletionTimestamp" in world.server["metadata"]
    assert down.hits == 1
    assert {each.path.rpartition("/")[2] for each in world.cloud.requests[before:]} >= {"networks", "routers"}


async def test_a_deletion_that_is_refused_is_told() -> None:
    world, process = await made()
    refusal = Forbidden(Status(code=403, message="ask first"))
    for _ in range(2):
        world.api.fail_next("delete", OpenStackServer, refusal)
    world.bastion(flavor="m1.medium")
    ending = await process.cluster.step()
    assert ending.error is refusal
    assert world.ready[:2] == ("False", "Progressing")
    assert world.server is not None
    assert "deletionTimestamp" not in world.server["metadata"]
    await process.settle()
    assert world.ready[0] == "True"


async def test_the_address_leads_to_a_new_bastion_while_nova_builds_it() -> None:
    world, process = await made()
    address = world.address["floating_ip_address"]
    world.cloud.services.spawn = 1000.0
    world.bastion(flavor="m1.medium")
    for _ in range(15):
        await process.turn()
        world.cloud.pass_time(1.0)
    assert world.ready == ("False", "InstanceNotReady", f"OpenStackServer {NAME}: Instance is building")
    assert world.condition("Progressing") == ("True", "Progressing", "Instance is building")
    assert world.address["floating_ip_address"] == world.told["floatingIP"] == address
    assert world.leads_to_the_server()


async def test_a_bastion_whose_server_nova_refuses_gets_no_address() -> None:
    world = World()
    refusal = b'{"badRequest": {"code": 400, "message": "no"}}'
    refused = world.cloud.fault(method="POST", path="^/servers$", status=400, body=refusal)
    process = Process(world)
    for _ in range(15):
        await process.turn()
        world.cloud.pass_time(1.0)
    assert refused.hits > 0
    assert "floatingips" not in world.held()


async def test_a_bastion_comes_and_goes_while_its_cluster_lives() -> None:
    world, process = await made()
    given = world.tree()["spec"]["bastion"]
    world.change(bastion={**OFF, "spec": {**BASTION["spec"], "flavor": "m1.medium"}})
    await process.settle()
    assert world.held() == WITHOUT
    assert world.told == {}
    assert world.ready == ("True", "Ready", "No bastion is wanted")
    world.bastion(flavor="m1.medium")
    await process.settle()
    assert world.held() == WHOLE
    world.change(bastion=given)
    await process.settle()
    assert world.tree()["spec"]["bastion"] == given
    assert world.held() == WHOLE
    assert world.server is not None
    assert world.server["spec"]["flavor"] == "m1.small"
    world.change(bastion=None)
    await process.settle()
    assert world.held() == WITHOUT


async def test_without_a_bastion_nothing_of_one_is_asked_for() -> None:
    world, process = await made(bastion=OFF)
    assert world.held() == WITHOUT
    assert not any(
        "/servers" in each.path or "/floatingips" in each.path for each in world.cloud.requests if each.method != "GET"
    )
    assert (await process.cluster.step()).writes == 0


@pytest.mark.parametrize("bastion", [OFF, {"enabled": False, "spec": {"flavor": "gone", "image": {"id": "x"}}}, None])
async def test_a_bastion_that_no_status_records_is_deleted_whatever_the_spec_says(bastion: Tree | None) -> None:
    world, process = await made()
    moved = {name: value for name, value in world.tree().items() if name != "status"}
    moved["metadata"].pop("resourceVersion")
    world.api.load(moved)
    world.change(bastion=bastion)
    await process.settle()
    assert world.held() == WITHOUT


async def test_a_moved_bastion_is_left_as_it_is() -> None:
    world, _ = await made()
    status, before = world.tree()["status"], len(world.cloud.requests)
    moved = {name: value for name, value in world.tree().items() if name != "status"}
    moved["metadata"] = {**moved["metadata"], "uid": "another"}
    moved["metadata"].pop("resourceVersion")
    world.api.load(moved)
    await Process(world).settle()
    assert {each.partition(" ")[0] for each in methods(world, before)} == {"PUT"}, (
        "what it has gets its mark again, as it has another uid"
    )
    assert world.tree()["status"]["bastion"] == status["bastion"]
    assert world.ready[0] == "True"


async def test_a_server_of_its_name_without_an_owner_stops_the_bastion_until_it_is_adopted_with_its_address() -> None:
    world = World()
    services = world.cloud.services
    (image,), flavor = services.images, next(each for each, it in services.flavors.items() if it["name"] == "m1.small")
    network = services.network("elsewhere", cidr="10.8.0.0/24")
    port = world.ask("POST", "/v2.0/ports", {"port": {"network_id": network}})["port"]["id"]
    body = {"name": NAME, "imageRef": image, "flavorRef": flavor, "networks": [{"port": port}]}
    existing = world.ask("POST", "/servers", {"server": body}, service="compute")["server"]["id"]
    process = Process(world)
    for _ in range(25):
        await process.turn()
        world.cloud.pass_time(1.0)
    status, reason, message = world.ready
    assert (status, reason) == ("False", "OwnedByAnother")
    assert existing in message
    assert list(services.servers) == [existing]
    assert not services.floatingips
    server = world.server
    assert server is not None
    server["metadata"].pop("resourceVersion")
    server["metadata"]["annotations"]["openstack.windlass.dev/adopt"] = existing
    world.api.load(server)
    for _ in range(25):
        await process.turn()
        world.cloud.pass_time(1.0)
    assert list(services.servers) == [existing]
    assert world.told["id"] == existing


async def test_a_wrong_image_is_the_trouble_of_the_bastion_alone() -> None:
    world, process = await made(bastion={**BASTION, "spec": {**BASTION["spec"], "image": {"filter": {"name": "none"}}}})
    assert world.tree()["status"]["initialization"] == {"provisioned": True}
    assert {world.condition(part)[0] for part in CLUSTER_PARTS} == {"True"}
    status, reason, message = world.ready
    assert (status, reason) == ("False", "DependencyFailed")
    assert message.startswith(f"OpenStackServer {NAME}: Failed to resolve server spec: no image matches")
    assert world.condition("Ready") == world.ready
    assert world.condition("Progressing")[:2] == ("True", "TransientError")
    world.bastion()
    await process.settle()
    assert world.ready[0] == "True"
    world.bastion(image={"filter": {"name": "none"}})
    await process.settle()
    await world.delete()
    await process.settle()
    assert world.is_gone
    assert world.held() == {}


@pytest.mark.parametrize(
    ("bastion", "text"),
    [
        pytest.param({"enabled": True}, "spec.bastion: spec is missing", id="no spec"),
        pytest.param(
            {"spec": {**BASTION["spec"], "floatingIPPoolRef": {"kind": "p", "name": "p"}}},
            "spec.bastion: spec.floatingIPPoolRef cannot be used for a bastion",
            id="a pool",
        ),
        pytest.param(
            {**BASTION, "floatingIP": "203.0.113.99"}, "the project has no floating IP 203.0.113.99", id="address"
        ),
    ],
)
async def test_what_only_a_person_can_correct_is_told_and_the_cluster_goes_on(bastion: Tree, text: str) -> None:
    world, _ = await made(bastion=bastion)
    assert world.ready[:2] == ("False", "InvalidConfiguration")
    assert text in world.ready[2]
    assert world.condition("Progressing")[:2] == ("False", "InvalidConfiguration")
    assert world.tree()["status"]["initialization"] == {"provisioned": True}


async def test_the_address_of_a_user_is_used_and_never_deleted() -> None:
    world, process = await made(bastion=OFF)
    (network,) = (each["id"] for each in world.cloud.services.networks.values() if each["router:external"])
    body = {"floatingip": {"floating_network_id": network, "description": "mine"}}
    mine = world.ask("POST", "/v2.0/floatingips", body)["floatingip"]
    world.change(bastion={**BASTION, "floatingIP": mine["floating_ip_address"]})
    await process.settle()
    assert world.ready[0] == "True"
    assert world.leads_to_the_server()
    world.bastion()  # one of our own instead
    await process.settle()
    free, used = sorted(world.cloud.services.floatingips.values(), key=lambda each: bool(each["port_id"]))
    assert (free["id"], free["port_id"], free["description"]) == (mine["id"], None, "mine")
    assert world.told["floatingIP"] == used["floating_ip_address"]
    world.change(bastion={**BASTION, "floatingIP": used["floating_ip_address"]})  # keep that one
    await process.settle()
    assert world.ready[0] == "True"
    await world.delete()
    await process.settle()
    assert world.is_gone
    assert set(world.cloud.services.floatingips) == {mine["id"], used["id"]}


async def test_a_user_s_address_that_leads_elsewhere_is_not_taken() -> None:
    world, process = await made()
    (interface,) = (each for each in world.cloud.services.ports.values() if each["device_owner"].startswith("compute:"))
    other = world.ask("POST", "/v2.0/ports", {"port": {"network_id": interface["network_id"]}})["port"]
    external = world.address["floating_network_id"]
    body = {"floatingip": {"floating_network_id": external, "port_id": other["id"]}}
    mine = world.ask("POST", "/v2.0/floatingips", body)["floatingip"]
    world.change(bastion={**BASTION, "floatingIP": mine["floating_ip_address"]})
    await process.settle()
    assert world.ready[:2] == ("False", "InvalidConfiguration")
    assert f"leads to port {other['id']}, which is not" in world.ready[2]
    assert world.address["port_id"] == other["id"]


async def moves(world: World) -> None:
    world.ask("PUT", f"/v2.0/floatingips/{world.address['id']}", {"floatingip": {"port_id": None}})


async def deletes_address(world: World) -> None:
    world.ask("DELETE", f"/v2.0/floatingips/{world.address['id']}")


async def deletes_object(world: World) -> None:
    await world.api.delete(OpenStackServer, NAME, namespace="ns")


@pytest.mark.parametrize("act", [moves, deletes_address, deletes_object])
async def test_what_somebody_else_does_is_put_right(act: Any) -> None:
    world, process = await made()
    await act(world)
    world.cloud.pass_time(601.0)
    await process.settle()
    assert world.held() == WHOLE
    assert world.leads_to_the_server()
    assert world.ready[0] == "True"


async def test_a_server_that_somebody_deletes_is_told_about_and_made_again_when_its_object_goes() -> None:
    world, process = await made()
    address = world.address["id"]
    world.ask("DELETE", f"/servers/{world.told['id']}", service="compute")
    for _ in range(8):
        world.cloud.pass_time(60.0)
        await process.settle()
    assert world.ready[:2] == ("False", "InstanceNotFound")
    assert "Delete the OpenStackServer, and another one is created" in world.ready[2]
    await deletes_object(world)
    await process.settle()
    assert world.ready[0] == "True"
    assert world.address["id"] == address
    assert world.leads_to_the_server()


async def test_an_openstackserver_of_somebody_else_is_in_the_way_and_stays() -> None:
    world, process = await made(bastion=OFF)
    foreign: Tree = {
        "apiVersion": OpenStackServer.RESOURCE.api_version,
        "kind": "OpenStackServer",
        "metadata": {"name": NAME, "namespace": "ns", "uid": "foreign"},
        "spec": {
            "identityRef": {"name": "cloud", "cloudName": "one"},
            "image": {"id": "x"},
            "ports": [{}],
            "flavor": "f",
        },
    }
    world.api.load(foreign)
    world.bastion()
    await process.cluster.settle()
    assert world.ready[:2] == ("False", "InvalidConfiguration")
    assert f"OpenStackServer {NAME} belongs to no OpenStackMachine" in world.ready[2]
    world.change(bastion=OFF)
    await process.cluster.settle()
    assert world.ready[0] == "True"
    await world.delete()
    await process.cluster.settle()
    assert world.is_gone
    assert world.server is not None


async def test_new_credentials_are_handed_down_and_nothing_is_replaced() -> None:
    world, process = await made()
    before = len(world.cloud.requests)
    world.api.load({**secret(), "metadata": {"name": "rotated", "namespace": "ns"}})
    world.change(identityRef={"type": "Secret", "name": "rotated", "cloudName": "one"})
    await process.settle()
    assert world.server is not None
    assert world.server["spec"]["identityRef"]["name"] == "rotated"
    assert methods(world, before) == []
    assert world.ready[0] == "True"
