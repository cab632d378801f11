"""A server that changes its owner, as a machine does that moves between the APIs: the new one takes it, the old one
lets go."""

from typing import Any

import pytest

from tests.unit.openstack.clouded import KEY, NAMESPACE, Process, World, attached, server
from windlass.api.capo_server import OpenStackServer
from windlass.api.mapi import Machine
from windlass.kube.verbs import PatchType
from windlass.openstack.cloud.inventory import MARK as KEY_OF_MARK
from windlass.openstack.cloud.marks import mark_for
from windlass.openstack.constants import MACHINE_MARK_ANNOTATION, MARK_ANNOTATION, PAUSED_ANNOTATION

THEIRS = mark_for("11111111-0000-4000-8000-000000000001", "u-machine", f"machine/openshift-machine-api/{KEY[1]}")
MACHINE_API = "openshift-machine-api"
ROOT = {"rootVolume": {"sizeGiB": 1}, "trunk": True}


def machine(
    *, authority: str = "ClusterAPI", paused: str = "True", mark: str = THEIRS, name: str = KEY[1]
) -> dict[str, Any]:
    """The Machine of the Machine API, of the same name unless told otherwise."""
    condition = {"type": "Paused", "status": paused, "reason": "x", "lastTransitionTime": "2026-11-22T12:00:00Z"}
    return {
        "apiVersion": Machine.RESOURCE.api_version,
        "kind": "Machine",
        "metadata": {
            "name": name,
            "namespace": MACHINE_API,
            "uid": "u-machine" if name == KEY[1] else "u-other",
            "annotations": {MACHINE_MARK_ANNOTATION: mark},
        },
        "spec": {},
        "status": {"authoritativeAPI": authority, "conditions": [condition]},
    }


async def world_with(*trees: dict[str, Any], **spec: Any) -> World:
    """A server of ours that stands, and then has the mark of the other side on all that belongs to it."""
    world = World()
    world.api.load(server(world, **spec), *trees)
    await Process(world).settle()
    services = world.cloud.services
    for each in (*services.servers.values(), *services.volumes.values()):
        each["metadata"] = {**each["metadata"], KEY_OF_MARK: THEIRS}
    for each in (*services.ports.values(), *services.trunks.values()):
        each["description"] = each["description"].replace(ours(world), THEIRS)
    return world


def ours(world: World) -> str:
    return str(world.server["metadata"]["annotations"][MARK_ANNOTATION])


def marks(world: World) -> set[str]:
    """On servers, volumes, ports and trunks."""
    services = world.cloud.services
    of_nova = {each["metadata"][KEY_OF_MARK] for each in (*services.servers.values(), *services.volumes.values())}
    described = (*services.ports.values(), *services.trunks.values())
    return of_nova | {each["description"].rpartition("=")[2] for each in described}


def writes(world: World, since: int) -> list[str]:
    return [f"{each.method} {each.path}" for each in world.cloud.requests[since:] if each.method != "GET"]


async def change(world: World, annotations: dict[str, str]) -> None:
    body = {"metadata": {"annotations": annotations}}
    await world.api.patch(OpenStackServer, KEY[1], body, type=PatchType.MERGE, namespace=NAMESPACE)


async def test_a_server_whose_owner_in_the_machine_api_gave_it_up_gets_our_mark_on_all_that_it_has() -> None:
    world = await world_with(machine(), **ROOT)
    before, held = len(world.cloud.requests), world.held()
    await Process(world, machine_api=MACHINE_API).settle()
    assert marks(world) == {ours(world)}
    assert len(writes(world, before)) == 4  # server, volume, port, trunk
    assert world.held() == held
    [described] = [each["description"] for each in world.cloud.services.ports.values()]
    assert described.count(KEY_OF_MARK) == 1
    assert {each["type"]: each["status"] for each in world.server["status"]["conditions"]}["Ready"] == "True"


@pytest.mark.parametrize("stood", [True, False], ids=["taken back", "new"])
@pytest.mark.parametrize(
    "other",
    [
        pytest.param(machine(authority="Migrating"), id="it moves"),
        pytest.param(machine(paused="False"), id="it may still act"),
    ],
)
async def test_a_server_that_is_being_given_up_is_waited_for_without_an_alarm(
    other: dict[str, Any], stood: bool
) -> None:
    world = await world_with(other)
    if not stood:
        body: dict[str, Any] = {"status": {"conditions": None}}
        await world.api.patch(
            OpenStackServer, KEY[1], body, type=PatchType.MERGE, namespace=NAMESPACE, subresource="status"
        )
    before = len(world.cloud.requests)
    process = Process(world, machine_api=MACHINE_API)
    await process.settle()
    assert (marks(world), writes(world, before)) == ({THEIRS}, [])
    told = {each["type"]: each for each in world.server["status"]["conditions"]}
    said = ("True", "Ready") if stood else ("Unknown", "InstanceNotReady")
    assert (told["Ready"]["status"], told["Ready"]["reason"]) == said
    if not stood:
        assert "Machine openshift-machine-api/worker-0 of the Machine API to hand over" in told["Ready"]["message"]
    world.api.load(machine())
    await process.settle()
    assert marks(world) == {ours(world)}
    assert {each["type"]: each["status"] for each in world.server["status"]["conditions"]}["Ready"] == "True"


async def test_a_port_that_the_last_list_did_not_have_yet_gets_our_mark_too() -> None:
    world = await world_with(machine(authority="Migrating"))
    process = Process(world, machine_api=MACHINE_API)
    await process.settle()
    attached(world, mark=THEIRS)
    world.cloud.pass_time(1)
    world.api.load(machine())
    await process.step()
    assert len(world.cloud.services.ports) == 2
    assert marks(world) == {ours(world)}


@pytest.mark.parametrize("other", [machine(authority="Migrating"), machine(paused="False")], ids=["moves", "acts"])
async def test_a_server_that_is_being_given_up_is_deleted_only_when_it_is_ours(other: dict[str, Any]) -> None:
    world = await world_with(other)
    await world.api.delete(OpenStackServer, KEY[1], namespace=NAMESPACE)
    before = len(world.cloud.requests)
    process = Process(world, machine_api=MACHINE_API)
    await process.settle()
    assert writes(world, before) == []
    told = {each["type"]: each["message"] for each in world.server["status"]["conditions"]}
    assert told["Deleting"].startswith("Waiting for Machine openshift-machine-api/worker-0")
    world.api.load(machine())
    await process.settle()
    assert world.held() == {}
    assert world.api.peek(OpenStackServer, KEY[1], namespace=NAMESPACE) is None


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(machine(authority="MachineAPI"), id="it has the authority"),
        pytest.param(machine(mark="22222222-0000-4000-8000-000000000002"), id="the mark is another one's"),
        pytest.param(
            machine(mark=THEIRS.replace("worker-0", "worker-1"), name="copy"), id="it has the root of the mark alone"
        ),
    ],
)
async def test_a_server_that_nobody_gave_up_is_not_taken(other: dict[str, Any]) -> None:
    world = await world_with(other)
    before = len(world.cloud.requests)
    await Process(world, machine_api=MACHINE_API).settle()
    assert marks(world) == {THEIRS}
    assert not writes(world, before)
    ready = {each["type"]: each for each in world.server["status"]["conditions"]}["Ready"]
    assert ready["reason"] == "OwnedByAnother"
    assert f"belongs to Machine openshift-machine-api/{KEY[1]}" in ready["message"]
    assert THEIRS.partition("/")[0] not in ready["message"]


class InAnotherNamespace(Process):
    """Machines of the Machine API give their servers to OpenStackServers of another namespace."""

    mirrors = "openshift-cluster-api"


async def test_a_machine_gives_its_server_to_no_openstackserver_but_its_mirror() -> None:
    world = await world_with(machine())
    before = len(world.cloud.requests)
    await InAnotherNamespace(world, machine_api=MACHINE_API).settle()
    assert (marks(world), writes(world, before)) == ({THEIRS}, [])
    other = mark_for("11111111-0000-4000-8000-000000000001", "u-other", f"machine/{MACHINE_API}/other")
    (named,) = world.cloud.services.servers.values()
    named["metadata"] = {**named["metadata"], KEY_OF_MARK: other}
    world.api.load(machine(name="other", mark=other))
    await Process(world, machine_api=MACHINE_API).settle()
    assert (marks(world), writes(world, before)) == ({THEIRS, other}, [])


@pytest.mark.parametrize(
    "moved", [False, True], ids=["it holds its mark", "it was moved, or its machine was recreated"]
)
async def test_a_paused_object_whose_server_has_another_owner_goes_without_a_write_to_the_cloud(moved: bool) -> None:
    world = await world_with(machine(authority="MachineAPI"))
    root, holder, place = ours(world).split("/", 2)
    await change(world, {PAUSED_ANNOTATION: "", MARK_ANNOTATION: f"{root}/{'f' * 16 if moved else holder}/{place}"})
    await world.api.delete(OpenStackServer, KEY[1], namespace=NAMESPACE)
    before, held = len(world.cloud.requests), world.held()
    await Process(world, machine_api=MACHINE_API).settle()
    assert world.api.peek(OpenStackServer, KEY[1], namespace=NAMESPACE) is None
    assert not writes(world, before)
    assert world.held() == held


async def test_a_paused_object_goes_when_its_server_is_gone_and_no_earlier_request_can_arrive() -> None:
    world = await world_with()
    await change(world, {PAUSED_ANNOTATION: ""})
    await world.api.delete(OpenStackServer, KEY[1], namespace=NAMESPACE)
    world.cloud.services.servers.clear()
    process = Process(world)
    await process.step()
    assert world.api.peek(OpenStackServer, KEY[1], namespace=NAMESPACE) is not None
    await process.settle()
    assert world.api.peek(OpenStackServer, KEY[1], namespace=NAMESPACE) is None


@pytest.mark.parametrize("marked", [True, False], ids=["with its mark", "without a mark yet"])
async def test_a_paused_object_stays_while_something_is_its_own(marked: bool) -> None:
    world = await world_with()
    [port] = world.cloud.services.ports.values()
    port["description"] = port["description"].replace(THEIRS, ours(world)) if marked else ""
    await change(world, {PAUSED_ANNOTATION: ""})
    await world.api.delete(OpenStackServer, KEY[1], namespace=NAMESPACE)
    before = len(world.cloud.requests)
    await Process(world, machine_api=MACHINE_API).settle()
    assert world.server["metadata"]["finalizers"]
    assert not writes(world, before)
