"""OpenStackClusters on two models: an API server and a cloud, with one clock for both."""

from typing import Any

import pytest

from windlass.api.capi import Cluster, Machine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.core import Secret
from windlass.kube.control.plan import RequeueAfter
from windlass.kube.object import Object
from windlass.model.reader import MemoryReader
from windlass.openstack.cluster.controller import cluster_controller
from windlass.openstack.status import CLUSTER

from .cases import FINALIZER, GONE, HOST, KEY, OWN, SPEC, Tree, World, cluster, infra, machine, secret


async def test_a_cluster_on_an_existing_network_is_provisioned_and_rests() -> None:
    world = World(infra(), cluster(), secret())
    ending = await world.rest()
    assert ending.writes == 3
    own = world.tree()
    assert own["metadata"]["finalizers"] == [FINALIZER]
    status = own["status"]
    assert status["initialization"] == {"provisioned": True}
    assert status["network"]["id"] == world.network
    assert [each["cidr"] for each in status["network"]["subnets"]] == ["10.0.0.0/24"]
    assert status["failureDomains"] == [{"name": "az1", "controlPlane": True}, {"name": "az2", "controlPlane": True}]
    assert {each: world.condition(each)[0] for each in CLUSTER} == {
        **dict.fromkeys(CLUSTER, "True"),
        "Progressing": "False",
        "Deleting": "False",
        "Paused": "False",
    }
    asked = len(world.cloud.requests)
    assert asked <= 4
    again = await world.rest()
    assert again.writes == 0
    assert again.next == RequeueAfter(600.0, "look whether the cloud has changed")
    assert {each.method for each in world.cloud.requests} == {"GET"}


async def test_the_endpoint_is_stored_before_the_cluster_is_said_to_be_provisioned() -> None:
    fixed = {"controlPlaneEndpoint": None, "apiServerFixedIP": "10.0.0.9"}
    marked = {"openstack.windlass.dev/mark": OWN}
    world = World(infra(fixed, finalizers=[FINALIZER], annotations=marked), cluster(), secret())
    order: list[tuple[bool, bool]] = []

    def look(_: Any) -> None:
        own = world.tree()
        order.append(("controlPlaneEndpoint" in own["spec"], "initialization" in own.get("status", {})))

    world.api.subscribe(look)
    await world.rest()
    assert order == [(False, False), (True, False), (True, True)]
    assert world.tree()["spec"]["controlPlaneEndpoint"] == {"host": "10.0.0.9", "port": 6443}
    assert world.condition("APIEndpointReady")[0] == "True"
    assert (await world.rest()).writes == 0


@pytest.mark.parametrize(
    ("trees", "awaited"),
    [
        pytest.param(
            [infra(ownerReferences=[])],
            "Waiting for Cluster API to set the Cluster as owner of this object",
            id="no owner",
        ),
        pytest.param([infra()], "Waiting for Cluster ns/one", id="no Cluster"),
    ],
)
async def test_without_a_cluster_nothing_is_asked_and_every_condition_is_there(trees: list[Tree], awaited: str) -> None:
    world = World(*trees)
    await world.rest()
    assert world.condition("Ready") == ("Unknown", "NotYetObserved", awaited)
    assert sorted(each["type"] for each in world.tree()["status"]["conditions"]) == sorted(CLUSTER)
    assert world.cloud.requests == []
    assert (await world.rest()).writes == 0


@pytest.mark.parametrize(
    "trees",
    [
        pytest.param([infra(annotations={"cluster.x-k8s.io/paused": ""}), cluster()], id="annotation"),
        pytest.param([infra(), cluster(paused=True)], id="Cluster"),
    ],
)
async def test_a_paused_cluster_says_so_and_nothing_is_asked(trees: list[Tree]) -> None:
    world = World(*trees, secret())
    await world.rest()
    assert world.condition("Paused")[:2] == ("True", "Paused")
    assert world.cloud.requests == []
    assert "finalizers" not in world.tree()["metadata"]
    assert (await world.rest()).writes == 0


async def test_a_cluster_that_others_manage_is_left_alone() -> None:
    world = World(infra(annotations={"cluster.x-k8s.io/managed-by": ""}), cluster(), secret())
    assert (await world.rest()).writes == 0


async def test_missing_credentials_are_told_and_cured_by_the_secret() -> None:
    world = World(infra(), cluster())
    ending = await world.rest()
    status, reason, message = world.condition("OpenStackAuthenticationSucceeded")
    assert (status, reason) == ("False", "OpenStackAuthenticationFailed")
    assert "Secret ns/cloud does not exist" in message
    assert world.condition("Ready")[:2] == ("False", "OpenStackAuthenticationFailed")
    assert world.condition("Progressing")[:2] == ("False", "InvalidConfiguration")
    assert isinstance(ending.next, RequeueAfter)
    assert (await world.rest()).writes == 0
    world.api.load(secret())
    await world.rest()
    assert world.condition("Ready")[0] == "True"


async def test_an_identity_that_is_not_for_the_namespace_is_told() -> None:
    identity = {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1",
        "kind": "OpenStackClusterIdentity",
        "metadata": {"name": "shared"},
        "spec": {
            "secretRef": {"name": "cloud", "namespace": "ns"},
            "namespaceSelector": {"matchLabels": {"team": "other"}},
        },
    }
    ref = {"identityRef": {"type": "ClusterIdentity", "name": "shared", "cloudName": "one"}}
    world = World(infra(ref), cluster(), secret(), identity)
    await world.rest()
    status, reason, message = world.condition("OpenStackAuthenticationSucceeded")
    assert (status, reason) == ("False", "OpenStackAuthenticationFailed")
    assert "OpenStackClusterIdentity shared is not for namespace ns" in message
    assert world.cloud.requests == []


@pytest.mark.parametrize(
    "spec", [{"bastion": {"enabled": False}}, {"apiServerLoadBalancer": {"enabled": False}}], ids=["bastion", "LB"]
)
async def test_what_is_switched_off_is_not_in_the_way(spec: Tree) -> None:
    world = World(infra(spec), cluster(), secret())
    await world.rest()
    assert world.condition("Ready")[0] == "True"


async def test_a_provisioned_cluster_tells_of_trouble_and_stays_provisioned() -> None:
    world = World(infra(), cluster(), secret())
    await world.rest()
    world.change(network={"filter": {"name": "gone"}})
    await world.rest()
    assert world.condition("NetworkReady")[:2] == ("False", "NetworkCreateFailed")
    assert world.condition("Ready")[:2] == ("False", "NetworkCreateFailed")
    assert world.condition("Progressing")[1] == "TransientError"
    assert world.tree()["status"]["initialization"] == {"provisioned": True}
    assert world.tree()["status"]["network"]["id"] == world.network
    world.change(network=SPEC["network"])
    await world.rest()
    assert world.condition("Ready")[0] == "True"


async def test_an_answer_that_is_missing_for_minutes_makes_a_cluster_unready_and_not_before() -> None:
    world = World(infra(), cluster(), secret())
    await world.rest()
    fault = world.cloud.fault(service="network", method="GET", status=503, count=1000)
    ending = await world.rest()
    assert world.condition("Ready")[0] == "True"
    assert world.condition("Progressing")[:2] == ("True", "TransientError")
    assert "Next attempt at" in world.condition("Progressing")[2]
    for _ in range(20):
        assert isinstance(ending.next, RequeueAfter)
        world.cloud.pass_time(ending.next.seconds)
        ending = await world.rest()
    assert world.condition("NetworkReady")[:2] == ("False", "OpenStackError")
    assert world.condition("Ready")[0] == "False"
    asked = [each for each in world.cloud.requests if each.path == "/v2.0/networks"]
    assert len(asked) < 30
    world.cloud.faults.remove(fault)
    world.cloud.pass_time(600.0)
    await world.rest()
    assert world.condition("Ready")[0] == "True"


async def test_zones_and_choices_of_them_show_while_the_cluster_lives() -> None:
    world = World(infra(), cluster(), secret())
    await world.rest()
    world.cloud.services.zones = ["nova", "edge"]
    world.cloud.pass_time(3700.0)
    world.change(controlPlaneAvailabilityZones=["nova"])
    await world.rest()
    assert world.tree()["status"]["failureDomains"] == [
        {"name": "edge", "controlPlane": False},
        {"name": "nova", "controlPlane": True},
    ]


async def test_a_zone_without_running_hosts_is_left_out_until_they_are_back() -> None:
    world = World(infra(), cluster(), secret())
    world.cloud.services.unavailable_zones = ["az2"]
    await world.rest()
    assert [each["name"] for each in world.tree()["status"]["failureDomains"]] == ["az1"]
    world.cloud.services.unavailable_zones = []
    world.cloud.pass_time(700.0)
    await world.rest()
    assert [each["name"] for each in world.tree()["status"]["failureDomains"]] == ["az1", "az2"]


async def test_the_failure_domains_of_an_earlier_provider_are_replaced() -> None:
    old = {"failureDomains": {"nova": {"controlPlane": True}}, "ready": True, "failureReason": "x"}
    world = World(infra(status=old), cluster(), secret())
    await world.rest()
    assert world.tree()["status"]["failureDomains"] == [
        {"name": "az1", "controlPlane": True},
        {"name": "az2", "controlPlane": True},
    ]


async def test_a_moved_cluster_gets_its_status_again() -> None:
    world = World(infra(), cluster(), secret())
    await world.rest()
    before = world.tree()["status"]
    moved = {name: value for name, value in world.tree().items() if name != "status"}
    moved["metadata"].pop("resourceVersion")
    world.api.load(moved)
    await world.rest()
    assert world.tree()["status"] == before


async def test_a_deleted_cluster_waits_for_its_machines_and_asks_no_cloud() -> None:
    held = infra(finalizers=[FINALIZER], deletionTimestamp=GONE)
    world = World(held, cluster(), machine("m-0"), machine("m-1"))
    await world.rest()
    text = "Waiting for 2 Machines of Cluster one to go: m-0, m-1"
    assert world.condition("Deleting") == ("True", "WaitingForMachines", text)
    assert world.condition("Ready") == ("False", "WaitingForMachines", text)
    for name in ("m-0", "m-1"):
        await world.api.delete(Machine, name, namespace="ns")
    await world.rest()
    assert world.api.peek(OpenStackCluster, KEY[1], namespace="ns") is None
    assert world.cloud.requests == []


@pytest.mark.parametrize(
    ("kind", "object"),
    [(OpenStackCluster, infra()), (Cluster, cluster()), (Secret, secret())],
)
def test_what_a_cluster_depends_on_wakes_it(kind: type[Any], object: Tree) -> None:  # noqa: A002
    assert woken(infra(), kind, object) == [KEY]


def test_machines_wake_a_cluster_only_while_it_is_deleted() -> None:
    assert woken(infra(), Machine, machine("m-0")) == []
    assert woken(infra(finalizers=[FINALIZER], deletionTimestamp=GONE), Machine, machine("m-0")) == [KEY]


@pytest.mark.parametrize(
    ("changed", "wakes"),
    [
        (cluster(paused=True), True),
        (cluster(infrastructureRef={"kind": "OpenStackCluster", "name": "other"}), True),
        ({**cluster(), "metadata": {**cluster()["metadata"], "deletionTimestamp": GONE}}, True),
        (cluster(controlPlaneEndpoint=HOST), False),
        ({**cluster(), "status": {"phase": "Provisioned"}}, False),
    ],
    ids=["paused", "other infrastructure", "deleted", "the endpoint, which is copied from here", "status"],
)
def test_a_cluster_wakes_its_infrastructure_only_by_what_matters_to_it(changed: Tree, wakes: bool) -> None:
    world = World(infra())
    controller = cluster_controller(MemoryReader(world.api), world.clouds())
    (watch,) = [watch for watch in controller.watches if watch.kind is Cluster]
    assert watch.when(Object.of(Cluster, cluster()), Object.of(Cluster, changed)) is wakes


def woken(found: Tree, kind: type[Any], object: Tree) -> list[Any]:  # noqa: A002
    """What a change of `object` wakes where `found` is the OpenStackCluster."""
    world = World(found)
    reader = MemoryReader(world.api)
    controller = cluster_controller(reader, world.clouds())
    reader.only(controller)
    (watch,) = [watch for watch in controller.watches if watch.kind is kind]
    return list(watch.map(Object.of(kind, object)))
