"""The end of an OpenStackMachine, and its pauses."""

from typing import Any

import pytest

from windlass.api.capi import Cluster, Machine
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_server import OpenStackServer
from windlass.kube.object import Object
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader
from windlass.model.schema import Tree as Stored
from windlass.openstack.machine.controller import machine_controller
from windlass.testing.crash import Scenario, crash_everywhere

from ..process import NOW, to_rest
from .cases import (
    ADDRESSES,
    FINALIZER,
    GONE,
    ID,
    KEY,
    KINDS,
    MARK,
    PAUSED,
    Tree,
    World,
    all_of_it,
    cluster,
    held,
    infra,
    machine,
    owner,
    says,
    server,
)


def deleted(spec: Tree | None = None, status: Tree | None = None, **annotations: str) -> Tree:
    visited = {"conditions": [says("Paused", "False", "NotPaused")]}
    return machine(spec, {**visited, **(status or {})}, **held(**annotations), deletionTimestamp=GONE)


async def test_the_openstackserver_is_deleted_and_the_machine_says_so_before() -> None:
    world = World(*all_of_it(machine=deleted()), server("ACTIVE"))
    told: list[bool] = []
    world.api.subscribe(lambda _: told.append("deletionTimestamp" in world.tree(OpenStackServer)["metadata"]))
    await world.rest()
    assert told == [False, True]
    for type_ in ("Deleting", "Ready"):
        status = "True" if type_ == "Deleting" else "False"
        assert world.condition(type_) == (status, "DeletingServer", "Deleting OpenStackServer w-0")
    assert world.tree()["metadata"]["finalizers"] == [FINALIZER]
    assert await world.rest() == 0


INGRESS = {"openstack.windlass.dev/ingress": "lb1"}
BALANCED: Tree = {"apiServerLoadBalancer": {"enabled": True}}


async def test_the_server_stays_until_the_endpoint_leads_elsewhere() -> None:
    world = World(*all_of_it(machine=deleted(None, None, **INGRESS), infra=infra(BALANCED)), server("ACTIVE"))
    await world.rest()
    text = "Waiting for OpenStackCluster one-infra to lead its API endpoint to other machines"
    assert world.condition("Deleting") == ("True", "LeavingAPIEndpoint", text)
    assert "deletionTimestamp" not in world.tree(OpenStackServer)["metadata"]
    assert await world.rest() == 0
    world.load(deleted(status=world.tree()["status"]))
    await world.rest()
    assert "deletionTimestamp" in world.tree(OpenStackServer)["metadata"]


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(None, id="gone"),
        pytest.param(
            {**infra(BALANCED), "metadata": {**infra()["metadata"], "deletionTimestamp": GONE, "finalizers": ["x"]}},
            id="being deleted",
        ),
        pytest.param(infra({"disableExternalNetwork": True}), id="its endpoint leads nowhere"),
    ],
)
async def test_the_server_waits_for_no_cluster_that_will_not_answer(found: Tree | None) -> None:
    world = World(*all_of_it(machine=deleted(None, None, **INGRESS), infra=found), server("ACTIVE"))
    await world.rest()
    assert "deletionTimestamp" in world.tree(OpenStackServer)["metadata"]


async def test_the_machine_goes_with_its_openstackserver_and_needs_nothing_else() -> None:
    own = deleted({"providerID": f"openstack:///{ID}"}, {"instanceID": ID})
    world = World(own, server("ACTIVE", finalizers=[]))
    await world.rest()
    assert not world.exists(OpenStackServer)
    assert not world.exists()


async def test_what_is_in_the_way_of_the_deletion_is_told_by_the_machine() -> None:
    refused = [
        says("Deleting", "True", "DeletingServer", "Deleting instance failed: compute (403): no"),
        says("InstanceReady", "False", "InstanceDeleteFailed", "Deleting instance failed: compute (403): no"),
        says("Progressing", "False", "InvalidConfiguration", "grant the role"),
    ]
    world = World(*all_of_it(machine=deleted()), server("ACTIVE", refused, deletionTimestamp=GONE))
    await world.rest()
    assert world.condition("Ready") == ("False", "DeletingServer", "Deleting instance failed: compute (403): no")
    assert world.condition("InstanceReady")[1] == "InstanceDeleteFailed"
    assert world.condition("Progressing") == ("False", "InvalidConfiguration", "grant the role")


@pytest.mark.parametrize(
    "trees",
    [
        pytest.param([deleted()], id="nothing was made for it"),
        pytest.param([deleted({"providerID": f"aws:///{ID}"})], id="a foreign providerID"),
        pytest.param([deleted(), server("ACTIVE", ownerReferences=[])], id="an OpenStackServer of somebody else"),
    ],
)
async def test_without_a_server_the_finalizer_goes(trees: list[Tree]) -> None:
    world = World(*trees)
    await world.rest()
    assert not world.exists()
    assert world.exists(OpenStackServer) == (len(trees) == 2)


async def test_a_machine_that_never_had_our_finalizer_is_left_alone() -> None:
    world = World(machine(finalizers=["example.com/other"], deletionTimestamp=GONE), server("ACTIVE"))
    assert await world.rest() == 0


async def test_a_recorded_server_without_openstackserver_is_adopted_to_be_deleted() -> None:
    own = machine(status={"instanceID": ID}, finalizers=[FINALIZER], deletionTimestamp=GONE)
    world = World(own)
    await world.rest()
    child = world.tree(OpenStackServer)["metadata"]
    assert child["annotations"]["openstack.windlass.dev/adopt"] == ID
    assert child["deletionTimestamp"]
    assert world.tree()["metadata"]["finalizers"] == [FINALIZER]


async def test_without_credentials_a_recorded_server_is_not_left_behind_in_silence() -> None:
    own = machine({"identityRef": None}, {"instanceID": ID}, finalizers=[FINALIZER], deletionTimestamp=GONE)
    world = World(own)
    await world.rest()
    status, reason, message = world.condition("Deleting")
    assert (status, reason) == ("True", "DependencyFailed")
    assert message.startswith(f"Server {ID} may be left in the cloud")
    assert world.condition("Ready")[0] == "False"
    assert await world.rest() == 0


@pytest.mark.parametrize(("other", "goes"), [(ID, True), ("", False)], ids=["the same server", "another one"])
async def test_a_recorded_server_is_not_left_behind_for_an_openstackserver_of_somebody_else(
    other: str, goes: bool
) -> None:
    theirs = server("ACTIVE" if other else "", ownerReferences=[])
    world = World(deleted(status={"instanceID": ID}), theirs)
    await world.rest()
    assert world.exists() is not goes
    assert "deletionTimestamp" not in world.tree(OpenStackServer)["metadata"]
    if not goes:
        assert world.condition("Deleting")[2].startswith(f"Server {ID} may be left in the cloud")
        assert await world.rest() == 0


# Pauses


@pytest.mark.parametrize(
    "trees",
    [
        pytest.param([machine(annotations={PAUSED: ""})], id="annotation"),
        pytest.param(all_of_it(cluster=cluster(paused=True)), id="Cluster"),
        pytest.param([machine(annotations={PAUSED: ""}, finalizers=[FINALIZER], deletionTimestamp=GONE)], id="deleted"),
    ],
)
async def test_a_paused_machine_without_openstackserver_is_paused_at_the_first_visit(trees: list[Tree]) -> None:
    world = World(*trees)
    await world.rest()
    assert world.condition("Paused")[:2] == ("True", "Paused")
    assert not world.exists(OpenStackServer)
    assert world.exists()
    assert await world.rest() == 0


async def test_a_machine_is_paused_when_its_openstackserver_is_and_resumes_with_it() -> None:
    world = World(*all_of_it(machine=machine(**held(**{PAUSED: ""}))), server("BUILD"))
    await world.rest()
    assert world.tree(OpenStackServer)["metadata"]["annotations"][PAUSED] == "OpenStackMachine"
    assert world.condition("Paused")[:2] == ("False", "Pausing")
    assert await world.rest() == 0

    world.status(OpenStackServer, conditions=[says("Paused", "True", "Paused")])
    await world.rest()
    assert world.condition("Paused")[:2] == ("True", "Paused")
    assert await world.rest() == 0

    own = world.tree()
    own["metadata"]["annotations"].pop(PAUSED)
    own["metadata"].pop("resourceVersion")
    world.load(own)
    await world.rest()
    assert PAUSED not in world.tree(OpenStackServer)["metadata"]["annotations"]
    assert world.condition("Paused")[:2] == ("False", "NotPaused")


async def test_a_pause_that_somebody_set_on_the_openstackserver_stays() -> None:
    mine = {"openstack.windlass.dev/mark": MARK, PAUSED: "maintenance"}
    world = World(*all_of_it(machine=machine(**held())), server("ACTIVE", annotations=mine))
    await world.rest()
    assert world.tree(OpenStackServer)["metadata"]["annotations"][PAUSED] == "maintenance"


async def test_an_openstackserver_follows_its_cluster_by_itself() -> None:
    world = World(*all_of_it(machine=machine(**held()), cluster=cluster(paused=True)), server("ACTIVE"))
    await world.rest()
    assert PAUSED not in world.tree(OpenStackServer)["metadata"]["annotations"]
    assert world.condition("Paused")[:2] == ("False", "Pausing")


# What wakes a machine


@pytest.mark.parametrize(
    ("kind", "tree", "keys"),
    [
        (OpenStackMachine, machine(), [KEY]),
        (OpenStackServer, server(), [KEY]),
        (Machine, owner(), [KEY]),
        (Machine, owner(infrastructureRef={"kind": "Other", "name": "w-0"}), []),
        (Cluster, cluster(), [KEY]),
        (OpenStackCluster, infra(), [KEY]),
        (OpenStackCluster, {**infra(), "metadata": {"name": "other", "namespace": "ns"}}, []),
    ],
)
def test_what_a_machine_depends_on_wakes_it(kind: type[Any], tree: Tree, keys: list[Any]) -> None:
    reader = MemoryReader(World(machine()).api)
    controller = machine_controller(reader)
    reader.only(controller)
    (watch,) = [watch for watch in controller.watches if watch.kind is kind]
    assert list(watch.map(Object.of(kind, tree))) == keys


@pytest.mark.parametrize(
    ("changed", "wakes"),
    [
        (cluster(), False),
        (cluster(provisioned=False), True),
        ({**cluster(), "metadata": {**cluster()["metadata"], "generation": 2}}, True),
        ({**cluster(), "status": {**cluster()["status"], "phase": "Provisioned"}}, False),
    ],
)
def test_a_cluster_wakes_its_machines_only_by_what_matters_to_them(changed: Tree, wakes: bool) -> None:
    (watch,) = [watch for watch in machine_controller(MemoryReader(MemoryApi())).watches if watch.kind is Cluster]
    assert watch.when(Object.of(Cluster, cluster()), Object.of(Cluster, changed)) is wakes


# Crashes


def scenario(*trees: Tree) -> Scenario:
    api = MemoryApi(*KINDS, clock=lambda: NOW)
    api.load(*trees)

    async def settle(alive: Any, reader: MemoryReader) -> None:
        for _ in range(10):
            ending = await to_rest(machine_controller(reader), KEY, api=alive, reader=reader)
            if not ending.writes:
                return

    async def serve(api: MemoryApi) -> None:
        """The controller of OpenStackServers."""
        found = api.peek(OpenStackServer, "w-0", namespace="ns")
        if found is None:
            return
        tree = found.tree()
        tree["metadata"].pop("resourceVersion")
        if found.deleting:
            api.load({**tree, "metadata": {**tree["metadata"], "finalizers": []}})
            await api.delete(OpenStackServer, "w-0", namespace="ns")
        elif tree.get("status", {}).get("instanceState") != "ACTIVE":
            status = {"ready": True, "instanceID": ID, "instanceState": "ACTIVE", "addresses": ADDRESSES}
            api.load({**tree, "status": status})

    async def delete(api: MemoryApi) -> None:
        """The user, when the machine is provisioned."""
        found = api.peek(OpenStackMachine, "w-0", namespace="ns")
        if found is not None and not found.deleting and found.tree().get("status", {}).get("initialization"):
            await api.delete(OpenStackMachine, "w-0", namespace="ns")

    return Scenario(api, settle, actors=(serve, delete), leaked=leaked)


def leaked(tree: Stored) -> str:
    return "it is left behind" if tree["kind"] in ("OpenStackMachine", "OpenStackServer") else ""


@pytest.mark.parametrize(
    "trees",
    [
        pytest.param(all_of_it(), id="new"),
        pytest.param(all_of_it(machine=machine({"providerID": f"openstack:///{ID}"})), id="adopted"),
        pytest.param(all_of_it(machine=machine(**held()), server=server("BUILD")), id="building"),
    ],
)
async def test_a_crash_anywhere_between_creation_and_deletion_leaves_nothing(trees: list[Tree]) -> None:
    report = await crash_everywhere(lambda: scenario(*trees))
    assert report.points > 0
