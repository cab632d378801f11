"""The simulated infrastructure provider and its machines: what it writes, and what it leaves alone."""

from datetime import timedelta

from windlass.api import capi, capo, core
from windlass.kube.verbs import PatchType
from windlass.testing.machines.simulators.instances import InstanceRecord
from windlass.testing.machines.simulators.platforms import AWS
from windlass.testing.machines.simulators.stepping import actor

from .world import BIRTH, CLUSTER_API, acts, aws, conditions, infra_machine, openstack


class TestInfrastructureMachine:
    async def test_it_waits_for_a_machine_to_own_it(self) -> None:
        assert await infra_machine(ownerReferences=[]).step(openstack, after=60) == 0

    async def test_it_leaves_a_paused_machine_alone(self) -> None:
        world = infra_machine(annotations={"cluster.x-k8s.io/paused": ""})
        assert await world.step(openstack, after=60) == 0
        assert await world.instances() == []

    async def test_on_aws_it_says_whether_it_is_paused(self) -> None:
        world = infra_machine(AWS, annotations={"cluster.x-k8s.io/paused": ""})
        await world.step(aws, after=60)
        assert conditions(world.tree()) == {"Paused": "True"}
        assert await world.step(aws, after=61) == 0
        await world.merge({"metadata": {"annotations": None}})
        await world.step(aws, after=62)
        assert conditions(world.tree()) == {"Paused": "False"}

    async def test_paused_it_lets_go_of_its_instance_and_resumed_it_takes_the_same_one(self) -> None:
        world = infra_machine(AWS)
        await world.step(aws, after=3)
        spec = world.tree()["spec"]
        await world.merge({"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}})
        await world.step(aws, after=4)
        assert (await world.instance()).holder == ""
        await world.merge({"metadata": {"annotations": None}})
        await world.step(aws, after=5)
        assert world.tree()["spec"] == spec
        instance = await world.instance()
        assert acts(instance) == ["created by ClusterAPI", "let go by ClusterAPI", "taken by ClusterAPI"]
        assert instance.hands == ("ClusterAPI", "ClusterAPI")
        assert not instance.seizures

    async def test_it_takes_over_the_instance_that_its_own_spec_names(self) -> None:
        world = infra_machine(AWS, spec={"providerID": "aws:///us-east-1a/i-0", "instanceID": "i-0"})
        await world.step(aws, after=0)
        assert world.tree()["spec"] == {"providerID": "aws:///us-east-1a/i-0", "instanceID": "i-0"}
        assert (await world.instance()).id == "i-0"

    async def test_it_takes_over_the_instance_that_its_machine_names(self) -> None:
        world = infra_machine()
        world.add(capi.Machine, "worker-1", CLUSTER_API, spec={"providerID": "openstack:///made-by-the-machine-api"})
        await world.step(openstack, after=0)
        assert world.tree()["spec"] == {"providerID": "openstack:///made-by-the-machine-api"}
        assert world.tree()["status"]["instanceID"] == "made-by-the-machine-api"
        assert len(await world.instances()) == 1

    async def test_an_instance_that_was_deleted_is_not_made_again(self) -> None:
        world = infra_machine()
        await world.step(openstack, after=3)
        record = await world.instance()
        died = {"data": {"holder": "", "history": "2026-01-01T12:00:00Z MachineAPI deleted"}}
        await world.api.patch(InstanceRecord, record.id, died, type=PatchType.MERGE, namespace=CLUSTER_API)
        assert await world.step(openstack, after=4) == 0

    async def test_a_young_machine_is_held_but_has_no_instance_yet(self) -> None:
        world = infra_machine()
        await world.step(openstack, after=1)
        tree = world.tree()
        assert tree["metadata"]["finalizers"] == ["openstackmachine.infrastructure.cluster.x-k8s.io"]
        assert "providerID" not in tree["spec"]
        assert world.node() is None

    async def test_the_machine_is_held_before_there_is_an_instance_however_late_it_is_seen_first(self) -> None:
        world = infra_machine()
        since = world.api.version
        await world.step(openstack, after=60)
        written = [change.tree["kind"] for change in world.api.changes_since(since)]
        assert written[:2] == ["OpenStackMachine", "ConfigMap"]

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
        assert tree["status"].keys() == {"ready", "instanceState", "addresses", "conditions"}
        assert tree["status"]["instanceState"] == "running"
        assert tree["spec"]["providerID"].endswith(tree["spec"]["instanceID"])

    async def test_a_deleted_machine_takes_its_node_along(self) -> None:
        world = infra_machine()
        await world.step(openstack, after=3)
        await world.api.delete(capo.OpenStackMachine, "worker-1", namespace=CLUSTER_API)
        await world.step(openstack, after=4)
        assert world.gone
        assert world.node() is None
        assert not (await world.instance()).alive

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
