"""The simulated infrastructure provider and installer of a cluster: what they write, and what they leave alone."""

from typing import Any

from windlass.api import capi, capo_cluster, core
from windlass.kube.control.controller import Controller
from windlass.model.reader import MemoryReader
from windlass.testing.machines.simulators import (
    cluster_bootstrap_simulator,
    infrastructure_cluster_simulator,
)
from windlass.testing.machines.simulators.infrastructure_clusters import Endpoint
from windlass.testing.machines.simulators.platforms import OPENSTACK

from .world import CLUSTER_API, World


class TestInfrastructureCluster:
    @staticmethod
    def simulator(reader: MemoryReader) -> Controller[Any, Any]:
        return infrastructure_cluster_simulator(reader, platform=OPENSTACK, endpoint=Endpoint("10.0.0.5", 6443))

    async def test_it_is_ready_once_cluster_api_can_connect(self) -> None:
        world = World(
            capo_cluster.OpenStackCluster, {"metadata": {"name": "demo", "namespace": CLUSTER_API}, "spec": {}}
        )
        await world.step(self.simulator)
        assert "status" not in world.tree()
        await world.api.create(core.Secret, {"metadata": {"name": "demo-kubeconfig"}}, namespace=CLUSTER_API)
        await world.step(self.simulator, after=1)
        tree = world.tree()
        assert tree["spec"] == {"controlPlaneEndpoint": {"host": "10.0.0.5", "port": 6443}}
        assert tree["status"] == {"ready": True, "initialization": {"provisioned": True}}
        assert await world.step(self.simulator, after=60) == 0

    async def test_an_endpoint_that_somebody_chose_stays(self) -> None:
        endpoint = {"host": "api.example.com", "port": 443}
        tree = {"metadata": {"name": "demo", "namespace": CLUSTER_API}, "spec": {"controlPlaneEndpoint": endpoint}}
        world = World(capo_cluster.OpenStackCluster, tree)
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
