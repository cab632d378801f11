"""Stories of one server on models of an API server and of a cloud: what people do, and what the object says of it."""

import base64
from typing import Any

import pytest

from tests.unit.openstack.clouded import CLOUDS_YAML, KEY, NAMESPACE, PROJECT, Process, World, secret, server
from windlass.api.capo_server import OpenStackServer
from windlass.api.core import Event, Secret
from windlass.kube.verbs import PatchType
from windlass.openstack.cloud.wire import Http
from windlass.openstack.constants import ADOPT_ANNOTATION, MARK_ANNOTATION, PAUSED_ANNOTATION


def conditions(world: World) -> dict[str, str]:
    return {each["type"]: f"{each['status']} {each['reason']}" for each in world.server["status"]["conditions"]}


def message(world: World, kind: str) -> str:
    return next(str(each["message"]) for each in world.server["status"]["conditions"] if each["type"] == kind)


def events(world: World) -> list[str]:
    """The reasons of all Events, sorted."""
    return sorted(event.decode().reason for event in world.api.listing(Event))


async def change(world: World, body: dict[str, Any], *, part: Any = "") -> None:
    await world.api.patch(OpenStackServer, KEY[1], body, type=PatchType.MERGE, namespace=NAMESPACE, subresource=part)


async def delete(world: World) -> None:
    await world.api.delete(OpenStackServer, KEY[1], namespace=NAMESPACE)


async def seconds_pass(process: Process) -> None:
    """One reconcile, and a poll a second later."""
    await process.step()
    process.world.cloud.pass_time(1)
    for member in process.clouds._members.values():
        await member.account.refresh(volumes=True)


def is_gone(world: World) -> bool:
    return world.api.peek(OpenStackServer, KEY[1], namespace=NAMESPACE) is None


def asked(world: World, *, since: int = 0) -> list[str]:
    return [f"{each.method} {each.service} {each.path}" for each in world.cloud.requests[since:]]


async def built(world: World, **spec: Any) -> Process:
    """A process that has made a server of `spec`."""
    world.api.load(server(world, **spec))
    process = Process(world)
    await process.settle()
    return process


async def test_a_server_costs_five_writes_and_six_requests_until_it_is_asked_for() -> None:
    world = World()
    process = await built(world)
    assert conditions(world)["Ready"] == "True Ready"
    written = sum(ending.writes for ending in process.endings) - 2  # the two POSTs count too
    assert written <= 5, "mark and finalizer; first conditions, choices, results, state"
    until_accepted = asked(world)[: asked(world).index("POST compute /servers") + 1]
    assert len(until_accepted) <= 6, until_accepted
    assert events(world) == ["Successfulcreateserver"]


async def test_at_rest_and_after_a_restart_nothing_is_written_and_nothing_created() -> None:
    world = World()
    process = await built(world)
    before, posts = world.server, world.posts("")
    asked_before = len(world.cloud.requests)
    for _ in range(5):
        await process.step()
    assert asked(world, since=asked_before) == [], "what is known is not asked again"
    again = Process(world)
    await again.settle()
    assert sum(ending.writes for ending in again.endings) == 0
    assert (world.server, world.posts("")) == (before, posts)


async def test_a_server_that_is_deleted_takes_three_requests_and_shared_lists() -> None:
    world = World()
    process = await built(world)
    since = len(world.cloud.requests)
    await delete(world)
    await process.settle()
    assert is_gone(world)
    assert world.held() == {}
    assert len([each for each in asked(world, since=since) if not each.startswith("GET")]) <= 3


async def test_status_that_a_move_drops_is_written_again_and_nothing_is_created() -> None:
    world = World()
    await built(world, rootVolume={"sizeGiB": 5})
    before, posts = world.server, world.posts("")
    await change(world, {"status": None}, part="status")
    await Process(world).settle()
    assert world.posts("") == posts
    status = world.server["status"]
    assert status["instanceID"] == before["status"]["instanceID"]
    assert status["resources"]["ports"] == before["status"]["resources"]["ports"]
    assert conditions(world)["Ready"] == "True Ready"


async def test_status_dropped_in_mid_build_makes_nothing_twice() -> None:
    world = World()
    world.cloud.fault(method="POST", path="^/servers$", status=503, count=3)
    world.api.load(server(world))
    process = Process(world)
    for _ in range(3):
        await process.step()
    await change(world, {"status": None}, part="status")
    await Process(world).settle()
    assert world.held() == {"servers": 1, "ports": 1}


async def test_an_object_of_the_provider_is_taken_over_and_creates_nothing() -> None:
    world = World()
    await built(world)
    status, posts = world.server["status"], world.posts("")
    for kind in (world.cloud.services.servers, world.cloud.services.ports):
        for each in kind.values():
            each.get("metadata", {}).clear()
            each["description"] = "Created by cluster-api-provider-openstack cluster shop-c"
    stored = {name: status[name] for name in ("ready", "instanceID", "instanceState", "resolved", "resources")}
    stored["conditions"] = [{"type": "InstanceReady", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]
    await change(world, {"metadata": {"annotations": {MARK_ANNOTATION: None}}})
    await change(world, {"status": stored}, part="status")
    process = Process(world)
    await process.settle()
    assert world.posts("/servers") + world.posts("/v2.0/ports") == posts
    assert conditions(world)["Ready"] == "True Ready"
    [port] = world.cloud.services.ports.values()
    assert "shop-c windlass-owner=" in port["description"]
    await delete(world)
    await process.settle()
    assert (is_gone(world), world.held()) == (True, {})


async def test_an_object_that_the_provider_left_in_mid_build_keeps_its_port() -> None:
    world = World()
    world.cloud.fault(method="POST", path="^/servers$", status=403, count=1)
    world.api.load(server(world))
    await Process(world).step()
    [port] = world.cloud.services.ports.values()
    port["description"] = ""
    status = world.server["status"]
    stored = {"ready": False, "resolved": status["resolved"], "resources": {"ports": [{"id": port["id"]}]}}
    await change(world, {"metadata": {"annotations": {MARK_ANNOTATION: None}}})
    await change(world, {"status": {"conditions": None, **stored}}, part="status")
    await Process(world).settle()
    assert world.held() == {"servers": 1, "ports": 1}
    assert "windlass-owner=" in port["description"]


@pytest.mark.parametrize("lost", [False, True], ids=["whole", "of which a volume alone is left"])
async def test_a_server_is_adopted_with_its_ports_and_volumes_and_goes_with_the_object(lost: bool) -> None:
    world = World()
    services = world.cloud.services
    _, port = services.handle(PROJECT, _post("network", "/v2.0/ports", "port", network_id=world.network, name="old"))
    _, volume = services.handle(PROJECT, _post("block-storage", "/volumes", "volume", name="old", size=1))
    world.cloud.pass_time(5)
    disk = {"source_type": "volume", "uuid": volume["volume"]["id"]}
    body = {
        "name": "old",
        "flavorRef": world.flavor,
        "networks": [{"port": port["port"]["id"]}],
        "block_device_mapping_v2": [disk],
    }
    _, made = services.handle(PROJECT, _post("compute", "/servers", "server", **body))
    world.cloud.pass_time(5)
    tree = server(world)
    tree["metadata"]["annotations"] = {ADOPT_ANNOTATION: made["server"]["id"]}
    world.api.load(tree)
    process = Process(world)
    await process.settle()
    assert world.held() == {"servers": 1, "ports": 1, "volumes": 1}
    assert world.server["status"]["instanceID"] == made["server"]["id"]
    assert conditions(world)["Ready"] == "True Ready"
    if lost:
        services.handle(PROJECT, Http("compute", "DELETE", f"/servers/{made['server']['id']}"))
        world.cloud.pass_time(60)
        services.ports.clear()
        told = dict.fromkeys(("instanceID", "resources", "resolved", "conditions"))
        await change(world, {"status": told}, part="status")
        process = Process(world)
    await delete(world)
    for _ in range(8):  # nobody waits for the volume, so no poll of this process lists volumes
        await process.step()
        world.cloud.pass_time(60)
    assert (is_gone(world), world.held()) == (True, {})


async def test_a_server_of_the_same_name_stays_when_ours_goes() -> None:
    world = World()
    tree = server(world)
    tree["metadata"]["annotations"] = {ADOPT_ANNOTATION: "none"}
    world.api.load(tree)
    foreign = {"name": KEY[1], "flavorRef": world.flavor, "networks": []}
    _, made = world.cloud.services.handle(PROJECT, _post("compute", "/servers", "server", **foreign))
    process = Process(world)
    await process.settle()
    assert world.held()["servers"] == 2
    await delete(world)
    await process.settle()
    assert is_gone(world)
    assert list(world.cloud.services.servers) == [made["server"]["id"]]


async def test_a_server_deleted_by_hand_is_told_of_and_not_made_again() -> None:
    world = World()
    process = await built(world)
    [which] = world.cloud.services.servers
    world.cloud.services.remove_server(which)
    posts = world.posts("")
    for _ in range(6):
        await _poll(process)
        await process.step()
        world.cloud.pass_time(15)
    assert conditions(world)["InstanceReady"] == "False InstanceNotFound"
    assert conditions(world)["Ready"] == "False InstanceNotFound"
    assert world.posts("") == posts
    await delete(world)
    await process.settle()
    assert (is_gone(world), world.held()) == (True, {})
    assert events(world) == ["InstanceNotFound", "Successfulcreateserver"]


async def test_a_server_that_breaks_is_told_of_in_one_event() -> None:
    world = World()
    process = await built(world)
    [broken] = world.cloud.services.servers.values()
    broken["status"] = "ERROR"
    for _ in range(4):
        await _poll(process)
        await process.step()
        world.cloud.pass_time(15)
    assert events(world) == ["InstanceStateError", "Successfulcreateserver"]


async def test_a_quota_that_is_reached_is_tried_rarely_and_goes_on_when_it_is_raised() -> None:
    world = World()
    world.cloud.services.quotas[PROJECT] = {"instances": 0}
    world.api.load(server(world))
    process = Process(world)
    for _ in range(30):
        await process.step()
        world.cloud.pass_time(10)
    assert conditions(world)["InstanceReady"] == "False QuotaExceeded"
    assert "0 of 0 instances" in message(world, "InstanceReady")
    assert world.posts("/servers") <= 4, "at 0, 60, 120, 240 seconds"
    assert world.held() == {"ports": 1}
    world.cloud.services.quotas.clear()
    await process.settle()
    assert conditions(world)["Ready"] == "True Ready"


async def test_no_valid_host_is_told_in_nova_s_words() -> None:
    world = World()
    world.cloud.services.flavor("huge", fits=False)
    process = await built(world, flavor="huge")
    assert conditions(world)["InstanceReady"] == "False InstanceStateError"
    assert "No valid host was found" in message(world, "Ready")
    await delete(world)
    await process.settle()
    assert (is_gone(world), world.held()) == (True, {})


async def test_a_volume_that_fails_twice_stops_the_server_with_a_sentence() -> None:
    world = World()
    disk = {"name": "fail", "sizeGiB": 1, "storage": {"type": "Volume"}}
    process = await built(world, additionalBlockDevices=[disk])
    assert world.posts("/volumes") == 2
    assert conditions(world)["InstanceReady"] == "False InstanceCreateFailed"
    assert "servers" not in world.held()
    await delete(world)
    await process.settle()
    assert (is_gone(world), world.held()) == (True, {})


async def test_credentials_that_are_missing_and_then_there() -> None:
    world = World()
    world.api.load(server(world))
    await world.api.delete(Secret, "credentials", namespace=NAMESPACE)
    process = Process(world)
    await process.step()
    assert conditions(world)["OpenStackAuthenticationSucceeded"] == "False OpenStackAuthenticationFailed"
    assert conditions(world)["Ready"].startswith("False")
    assert asked(world) == []
    world.api.load(secret())
    await process.settle()
    assert conditions(world)["Ready"] == "True Ready"


async def test_without_credentials_a_deletion_waits_and_says_who_must_restore_them() -> None:
    world = World()
    process = await built(world)
    await world.api.delete(Secret, "credentials", namespace=NAMESPACE)
    await delete(world)
    await process.step()
    assert "restore them" in message(world, "Ready")
    assert world.held()["servers"] == 1
    world.api.load(secret(CLOUDS_YAML))
    await process.settle()
    assert (is_gone(world), world.held()) == (True, {})


async def test_user_data_is_awaited_and_sent_as_it_is() -> None:
    world = World()
    world.api.load(server(world, userDataRef={"name": "boot"}))
    process = Process(world)
    await process.step()
    assert conditions(world)["InstanceReady"] == "False DependencyFailed"
    assert "Secret machines/boot" in message(world, "InstanceReady")
    assert world.held() == {"ports": 1}, "what does not need it is made"
    text = base64.b64encode(b"#cloud-config").decode()
    world.api.load({**secret(), "metadata": {"name": "boot", "namespace": NAMESPACE}, "data": {"value": text}})
    world.cloud.pass_time(61)
    await process.settle()
    [made] = world.cloud.services.servers.values()
    assert made["body"]["server"]["user_data"] == text


async def test_paused_in_mid_build_nothing_is_sent_until_it_goes_on() -> None:
    world = World()
    world.cloud.fault(method="POST", path="^/servers$", status=503, count=2)
    world.api.load(server(world))
    process = Process(world)
    await process.step()
    assert world.held() == {"ports": 1}
    await change(world, {"metadata": {"annotations": {PAUSED_ANNOTATION: ""}}})
    posts = world.posts("")
    for _ in range(10):
        await process.step()
        world.cloud.pass_time(20)
    assert world.posts("") == posts
    assert conditions(world)["Paused"] == "True Paused"
    assert world.server["status"]["resources"]["ports"]
    await change(world, {"metadata": {"annotations": {PAUSED_ANNOTATION: None}}})
    await process.settle()
    assert (conditions(world)["Paused"], conditions(world)["Ready"]) == ("False NotPaused", "True Ready")
    assert world.held() == {"servers": 1, "ports": 1}


async def test_a_cloud_that_is_down_does_not_make_a_server_unready_at_once() -> None:
    world = World()
    await built(world)
    for service in ("compute", "network"):
        world.cloud.fault(method="GET", service=service, status=503, count=100)
    again = Process(world)
    await again.step()
    assert conditions(world)["Ready"] == "True Ready"
    assert conditions(world)["Progressing"] == "True TransientError"
    for _ in range(20):
        world.cloud.pass_time(30)
        await again.step()
    assert conditions(world)["InstanceReady"] == "Unknown OpenStackError"
    world.cloud.faults.clear()
    world.cloud.pass_time(300)  # so long it has waited at most
    await again.settle()
    assert conditions(world)["Ready"] == "True Ready"


async def _poll(process: Process) -> None:
    for member in process.clouds._members.values():
        await member.account.refresh(volumes=True)


class _Asked:
    def __init__(self, service: str, path: str, body: dict[str, Any]) -> None:
        self.service, self.path, self.body = service, path, body

    method = "POST"
    query: tuple[tuple[str, str], ...] = ()


def _post(service: str, path: str, envelope: str, **body: Any) -> _Asked:
    return _Asked(service, path, {envelope: body})


async def test_a_volume_that_nova_reserved_for_a_server_that_it_refused_is_released() -> None:
    world = World()
    world.cloud.services.flavors[world.flavor]["ephemeral"] = 0
    disk = {"name": "scratch", "sizeGiB": 5, "storage": {"type": "Local"}}
    world.api.load(server(world, rootVolume={"sizeGiB": 10}, additionalBlockDevices=[disk]))
    process = Process(world)
    for _ in range(12):  # it never rests: every ten minutes it is tried again
        await seconds_pass(process)
    assert "Ephemeral disks requested are larger" in message(world, "InstanceReady")
    [volume] = world.cloud.services.volumes.values()
    assert volume["status"] == "available"
    await delete(world)
    await process.settle()
    assert is_gone(world)
    assert world.held() == {}


async def test_an_object_goes_although_nova_has_just_reserved_its_volume() -> None:
    world = World()
    world.cloud.services.flavors[world.flavor]["ephemeral"] = 0
    disk = {"name": "scratch", "sizeGiB": 5, "storage": {"type": "Local"}}
    world.api.load(server(world, rootVolume={"sizeGiB": 10}, additionalBlockDevices=[disk]))
    process = Process(world)
    while world.posts("/servers") == 0:
        await seconds_pass(process)
    await delete(world)
    await process.settle()
    assert is_gone(world)
    assert world.held() == {}


async def test_allowed_address_pairs_reach_the_port_of_a_server_that_runs_and_those_of_others_stay() -> None:
    world = World()
    network = {"network": {"id": world.network}}
    process = await built(world, ports=[{**network, "allowedAddressPairs": [{"ipAddress": "10.9.0.1"}]}])
    (port,) = world.cloud.services.ports.values()
    port["allowed_address_pairs"].append({"ip_address": "10.9.0.77"})  # by somebody else
    process.world.cloud.pass_time(120)
    new = [{"ipAddress": "10.9.0.2"}, {"ipAddress": "10.9.0.3", "macAddress": "fa:16:3e:00:00:09"}]
    await change(world, {"spec": {"ports": [{**network, "allowedAddressPairs": new}]}})
    since = len(world.cloud.requests)
    await process.settle()
    assert [each["ip_address"] for each in port["allowed_address_pairs"]] == ["10.9.0.77", "10.9.0.2", "10.9.0.3"]
    assert world.server["status"]["resolved"]["ports"][0]["allowedAddressPairs"] == new
    assert conditions(world)["Ready"] == "True Ready"
    writes = [each for each in asked(world, since=since) if not each.startswith("GET")]
    assert len(writes) == 1
    before = len(world.cloud.requests)
    await process.step()
    assert [each for each in asked(world, since=before) if not each.startswith("GET")] == []


async def test_pairs_that_neutron_refuses_are_told_and_the_server_stays() -> None:
    world = World()
    network = {"network": {"id": world.network}}
    process = await built(world, ports=[network])
    world.cloud.fault(method="PUT", path="/v2.0/ports/", status=400)
    await change(world, {"spec": {"ports": [{**network, "allowedAddressPairs": [{"ipAddress": "10.9.0.1"}]}]}})
    await process.step()
    assert "400" in message(world, "Progressing")
    assert conditions(world)["InstanceReady"].startswith("False ")
