"""The simulators on the in-memory API server: what they write, in which order, and what they leave alone."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from windlass.api import capa, capi, capo, core, mapi
from windlass.api.meta import KubernetesObject
from windlass.kube.controller import Controller
from windlass.testing.memory import MemoryApi
from windlass.testing.memory.reader import MemoryReader
from windlass.testing.simulators import (
    cluster_bootstrap_simulator,
    infrastructure_cluster_simulator,
    infrastructure_machine_simulator,
    machine_api_set_simulator,
    machine_api_simulator,
)
from windlass.testing.simulators.infrastructure_clusters import Endpoint
from windlass.testing.simulators.platforms import AWS, OPENSTACK, SimulatedPlatform
from windlass.testing.simulators.stepping import actor, step

BIRTH = datetime(2026, 1, 1, 12, tzinfo=UTC)
MACHINE_API, CLUSTER_API = "openshift-machine-api", "openshift-cluster-api"
KINDS = (
    mapi.Machine,
    mapi.MachineSet,
    capi.Cluster,
    capo.OpenStackMachine,
    capo.OpenStackCluster,
    capa.AWSMachine,
    capa.AWSCluster,
    core.Node,
    core.Secret,
)


class World:
    """A model of an API server with one object in it, and a clock that starts at its creation."""

    def __init__(self, kind: type[KubernetesObject], tree: Mapping[str, Any]) -> None:
        resource = kind.RESOURCE
        self.kind = kind
        self.api = MemoryApi(*KINDS, clock=lambda: self.now)
        self.now = BIRTH
        self.name = tree["metadata"]["name"]
        self.namespace = tree["metadata"]["namespace"]
        self.api.load(
            {
                **tree,
                "apiVersion": resource.api_version,
                "kind": resource.kind,
                "metadata": {"creationTimestamp": "2026-01-01T12:00:00Z", "uid": "uid-1", **tree["metadata"]},
            }
        )

    async def step(self, make: Callable[[MemoryReader], Controller[Any, Any]], *, after: float = 0.0) -> int:
        self.now = BIRTH + timedelta(seconds=after)
        return await step(make(MemoryReader(self.api)), self.api, now=self.now)

    def tree(self) -> dict[str, Any]:
        found = self.api.peek(self.kind, self.name, namespace=self.namespace)
        assert found is not None, f"{self.name} is gone"
        return found.tree()

    @property
    def gone(self) -> bool:
        return self.api.peek(self.kind, self.name, namespace=self.namespace) is None

    def node(self) -> dict[str, Any] | None:
        found = self.api.peek(core.Node, self.name)
        return found.tree() if found else None


def mapi_machine(authority: str = "", **metadata: Any) -> World:
    status = {"status": {"authoritativeAPI": authority}} if authority else {}
    meta = {"name": "worker-1", "namespace": MACHINE_API, **metadata}
    return World(mapi.Machine, {"metadata": meta, "spec": {"authoritativeAPI": "ClusterAPI"}, **status})


def infra_machine(platform: SimulatedPlatform = OPENSTACK, **metadata: Any) -> World:
    owner = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": "worker-1", "uid": "uid-0"}
    meta = {"name": "worker-1", "namespace": CLUSTER_API, "ownerReferences": [owner], **metadata}
    return World(platform.machine, {"metadata": meta, "spec": {}})


def machine_api(reader: MemoryReader) -> Controller[Any, Any]:
    return machine_api_simulator(reader, boot_seconds=2)


def openstack(reader: MemoryReader) -> Controller[Any, Any]:
    return infrastructure_machine_simulator(reader, platform=OPENSTACK, boot_seconds=2, register_seconds=1)


def aws(reader: MemoryReader) -> Controller[Any, Any]:
    return infrastructure_machine_simulator(reader, platform=AWS, boot_seconds=2, register_seconds=1)


class TestMachineApi:
    async def test_an_empty_authority_is_filled_from_spec_and_the_machine_then_paused(self) -> None:
        world = mapi_machine()
        await world.step(machine_api)
        assert world.tree()["status"] == {
            "authoritativeAPI": "ClusterAPI",
            "conditions": [
                {
                    "type": "Paused",
                    "status": "True",
                    "reason": "AuthoritativeAPINotMachineAPI",
                    "message": "The AuthoritativeAPI status is set to 'ClusterAPI'",
                    "lastTransitionTime": "2026-01-01T12:00:00Z",
                }
            ],
        }

    async def test_an_empty_authority_can_be_left_to_others(self) -> None:
        world = mapi_machine()
        assert await world.step(lambda reader: machine_api_simulator(reader, fills_authority=False)) == 0

    @pytest.mark.parametrize("authority", ["ClusterAPI", "Migrating"])
    async def test_a_paused_machine_gets_no_phase_and_no_finalizer_and_is_not_released(self, authority: str) -> None:
        world = mapi_machine(
            authority, deletionTimestamp="2026-01-01T12:00:00Z", finalizers=["machine.machine.openshift.io"]
        )
        await world.step(machine_api, after=60)
        tree = world.tree()
        assert "phase" not in tree["status"]
        assert tree["metadata"]["finalizers"] == ["machine.machine.openshift.io"]

    async def test_under_machine_api_authority_a_machine_comes_to_run(self) -> None:
        world = mapi_machine("MachineAPI")
        await world.step(machine_api, after=1)
        first = world.tree()
        await world.step(machine_api, after=2)
        assert first["metadata"]["finalizers"] == ["machine.machine.openshift.io"]
        assert first["status"]["phase"] == "Provisioning"
        assert first["status"]["conditions"][0]["severity"] == "Info"
        assert world.tree()["status"]["phase"] == "Running"

    async def test_under_machine_api_authority_a_deleted_machine_goes(self) -> None:
        world = mapi_machine("MachineAPI", finalizers=["machine.machine.openshift.io"])
        await world.api.delete(mapi.Machine, "worker-1", namespace=MACHINE_API)
        before = world.api.version
        await world.step(machine_api, after=3)
        assert world.gone
        phases = [change.tree["status"].get("phase") for change in world.api.changes_since(before)]
        assert "Deleting" in phases

    async def test_the_paused_condition_keeps_its_time_until_its_status_changes(self) -> None:
        world = mapi_machine("ClusterAPI")
        await world.step(machine_api)
        assert await world.step(machine_api, after=3600) == 0

    async def test_a_machine_set_is_told_who_is_in_charge_and_nothing_else(self) -> None:
        tree = {
            "metadata": {"name": "workers", "namespace": MACHINE_API},
            "spec": {"authoritativeAPI": "MachineAPI", "replicas": 3},
        }
        world = World(mapi.MachineSet, tree)
        await world.step(machine_api_set_simulator)
        status = world.tree()["status"]
        assert status["authoritativeAPI"] == "MachineAPI"
        assert [(one["type"], one["status"]) for one in status["conditions"]] == [("Paused", "False")]
        assert world.api.listing(mapi.Machine) == []


class TestInfrastructureMachine:
    async def test_it_waits_for_a_machine_to_own_it(self) -> None:
        assert await infra_machine(ownerReferences=[]).step(openstack, after=60) == 0

    async def test_it_leaves_a_paused_machine_alone(self) -> None:
        assert await infra_machine(annotations={"cluster.x-k8s.io/paused": ""}).step(openstack, after=60) == 0

    async def test_a_young_machine_is_held_but_has_no_instance_yet(self) -> None:
        world = infra_machine()
        await world.step(openstack, after=1)
        tree = world.tree()
        assert tree["metadata"]["finalizers"] == ["openstackmachine.infrastructure.cluster.x-k8s.io"]
        assert "providerID" not in tree["spec"]
        assert world.node() is None

    async def test_the_instance_comes_before_the_node(self) -> None:
        world = infra_machine()
        await world.step(openstack, after=2)
        tree = world.tree()
        assert tree["spec"]["providerID"] == "openstack:///uid-1"
        assert (tree["status"]["ready"], tree["status"]["initialization"]) == (True, {"provisioned": True})
        assert {one["type"] for one in tree["status"]["addresses"]} == {"InternalIP", "Hostname"}
        assert world.node() is None

    async def test_the_node_has_the_provider_id_and_is_ready(self) -> None:
        world = infra_machine()
        await world.step(openstack, after=3)
        node = world.node()
        assert node is not None
        assert node["spec"]["providerID"] == world.tree()["spec"]["providerID"]
        conditions = {one["type"]: one["status"] for one in node["status"]["conditions"]}
        assert conditions["Ready"] == "True"
        assert await world.step(openstack, after=600) == 0

    async def test_on_aws_status_has_no_field_that_the_provider_does_not_have(self) -> None:
        world = infra_machine(AWS)
        await world.step(aws, after=3)
        tree = world.tree()
        assert tree["status"].keys() == {"ready", "instanceState", "addresses"}
        assert tree["status"]["instanceState"] == "running"
        assert tree["spec"]["providerID"].endswith(tree["spec"]["instanceID"])

    async def test_a_deleted_machine_takes_its_node_along(self) -> None:
        world = infra_machine()
        await world.step(openstack, after=3)
        await world.api.delete(capo.OpenStackMachine, "worker-1", namespace=CLUSTER_API)
        await world.step(openstack, after=4)
        assert world.gone
        assert world.node() is None

    async def test_a_node_of_another_instance_is_not_touched(self) -> None:
        world = infra_machine(finalizers=["openstackmachine.infrastructure.cluster.x-k8s.io"])
        await world.api.create(core.Node, {"metadata": {"name": "worker-1"}, "spec": {"providerID": "openstack:///x"}})
        await world.step(openstack, after=60)
        await world.api.delete(capo.OpenStackMachine, "worker-1", namespace=CLUSTER_API)
        await world.step(openstack, after=61)
        assert world.gone
        assert world.node() is not None

    async def test_finalizers_of_others_are_kept(self) -> None:
        world = infra_machine(finalizers=["sync.machine.openshift.io/finalizer"])
        await world.step(openstack, after=3)
        await world.api.delete(capo.OpenStackMachine, "worker-1", namespace=CLUSTER_API)
        await world.step(openstack, after=4)
        assert world.tree()["metadata"]["finalizers"] == ["sync.machine.openshift.io/finalizer"]

    async def test_it_can_be_an_actor_of_a_scenario(self) -> None:
        world = infra_machine()
        world.now = BIRTH + timedelta(seconds=10)
        await actor(openstack, now=lambda: world.now)(world.api)
        assert world.node() is not None


class TestInfrastructureCluster:
    @staticmethod
    def simulator(reader: MemoryReader) -> Controller[Any, Any]:
        return infrastructure_cluster_simulator(reader, platform=OPENSTACK, endpoint=Endpoint("10.0.0.5", 6443))

    async def test_it_gets_an_endpoint_and_is_ready(self) -> None:
        world = World(capo.OpenStackCluster, {"metadata": {"name": "demo", "namespace": CLUSTER_API}, "spec": {}})
        await world.step(self.simulator)
        tree = world.tree()
        assert tree["spec"] == {"controlPlaneEndpoint": {"host": "10.0.0.5", "port": 6443}}
        assert tree["status"] == {"ready": True, "initialization": {"provisioned": True}}
        assert await world.step(self.simulator, after=60) == 0

    async def test_an_endpoint_that_somebody_chose_stays(self) -> None:
        endpoint = {"host": "api.example.com", "port": 443}
        tree = {"metadata": {"name": "demo", "namespace": CLUSTER_API}, "spec": {"controlPlaneEndpoint": endpoint}}
        world = World(capo.OpenStackCluster, tree)
        await world.step(self.simulator)
        assert world.tree()["spec"]["controlPlaneEndpoint"] == endpoint


class TestClusterBootstrap:
    @staticmethod
    def simulator(reader: MemoryReader) -> Controller[Any, Any]:
        return cluster_bootstrap_simulator(reader, kubeconfig=b"kind: Config")

    @staticmethod
    def world(**status: Any) -> World:
        tree = {"metadata": {"name": "demo", "namespace": CLUSTER_API}, "spec": {}}
        return World(capi.Cluster, {**tree, "status": status} if status else tree)

    async def test_cluster_api_finds_a_kubeconfig_of_the_cluster(self) -> None:
        world = self.world()
        await world.step(self.simulator)
        secret = world.api.peek(core.Secret, "demo-kubeconfig", namespace=CLUSTER_API)
        assert secret is not None
        tree = secret.tree()
        assert (tree["type"], tree["data"]) == ("cluster.x-k8s.io/secret", {"value": "a2luZDogQ29uZmln"})
        assert tree["metadata"]["labels"] == {"cluster.x-k8s.io/cluster-name": "demo"}

    async def test_the_control_plane_is_initialized_beside_what_others_say(self) -> None:
        available = {"type": "Available", "status": "False", "reason": "NotAvailable", "message": ""}
        world = self.world(conditions=[available], phase="Provisioning")
        await world.step(self.simulator)
        status = world.tree()["status"]
        assert status["phase"] == "Provisioning"
        assert status["initialization"] == {"controlPlaneInitialized": True}
        assert [one["type"] for one in status["conditions"]] == ["Available", "ControlPlaneInitialized"]
        assert await world.step(self.simulator, after=60) == 0

    async def test_a_reason_that_cluster_api_gave_is_left_to_it(self) -> None:
        said = {"type": "ControlPlaneInitialized", "status": "True", "reason": "Initialized", "message": ""}
        world = self.world(conditions=[said], initialization={"controlPlaneInitialized": True})
        await world.step(self.simulator)
        assert world.tree()["status"]["conditions"] == [said]
