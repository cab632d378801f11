"""What a template says its machines offer, from the flavor that it names."""

from typing import Any

import pytest

from tests.unit.openstack import clouded
from tests.unit.openstack.clouded import NAMESPACE
from windlass.api.capi import Cluster
from windlass.api.capo import OpenStackMachineTemplate
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.core import Event
from windlass.kube.control.controller import Controller
from windlass.kube.object import NamespacedName
from windlass.model.reader import MemoryReader
from windlass.openstack.cloud.resources import Flavor
from windlass.openstack.template.capacity import capacity_of, quantity
from windlass.openstack.template.controller import template_controller

Tree = dict[str, Any]

OWNER = [{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "one", "uid": "u-one"}]
IDENTITY = {"type": "Secret", "name": "credentials", "cloudName": "one"}


@pytest.mark.parametrize(
    ("flavor", "root", "expected"),
    [
        pytest.param(
            Flavor(vcpus=4, ram=8192, disk=20), 0, {"cpu": "4", "memory": "8Gi", "storage": "20Gi"}, id="usual"
        ),
        pytest.param(
            Flavor(vcpus=1, ram=1536, disk=20, ephemeral=10),
            50,
            {"cpu": "1", "memory": "1536Mi", "ephemeral-storage": "10Gi", "storage": "50Gi"},
            id="a root volume, an ephemeral disk",
        ),
        pytest.param(Flavor(vcpus=2, ram=2048), 0, {"cpu": "2", "memory": "2Gi"}, id="no disk"),
        pytest.param(Flavor(), 0, {}, id="a flavor that says nothing"),
    ],
)
def test_the_capacity_is_that_of_the_flavor(flavor: Flavor, root: int, expected: dict[str, str]) -> None:
    assert capacity_of(flavor, root_volume=root) == expected


@pytest.mark.parametrize(
    ("number", "text"), [(1, "1"), (1000, "1000"), (1024, "1Ki"), (1536 * 2**20, "1536Mi"), (2**40, "1Ti")]
)
def test_quantities_are_written_as_kubernetes_does(number: int, text: str) -> None:
    assert quantity(number) == text


class World(clouded.World):
    kinds = (*clouded.World.kinds, OpenStackMachineTemplate, OpenStackCluster)

    def __init__(self, *, owners: Any = OWNER, paused: bool = False, **spec: Any) -> None:
        super().__init__()
        reference = {"apiGroup": OpenStackCluster.RESOURCE.group, "kind": "OpenStackCluster", "name": "one"}
        self.load(Cluster, "one", {"paused": paused, "infrastructureRef": reference}, uid="u-one")
        self.load(OpenStackCluster, "one", {"identityRef": IDENTITY})
        machine = {"flavor": "m1.small", "image": {"filter": {"name": "rhcos"}}, "sshKeyName": "", **spec}
        self.load(OpenStackMachineTemplate, "w", {"template": {"spec": machine}}, ownerReferences=owners)

    def load(self, kind: type[Any], name: str, spec: Tree, **meta: Any) -> None:
        resource = kind.RESOURCE
        whole = {"name": name, "namespace": NAMESPACE, **meta}
        self.api.load({"apiVersion": resource.api_version, "kind": resource.kind, "metadata": whole, "spec": spec})

    @property
    def status(self) -> Tree:
        found = self.api.peek(OpenStackMachineTemplate, "w", namespace=NAMESPACE)
        assert found is not None
        status: Tree = found.tree().get("status", {})
        return status

    @property
    def told(self) -> list[str]:
        return [f"{each.decode().reason}: {each.decode().message}" for each in self.api.listing(Event)]


class Templates(clouded.Process):
    key = (NAMESPACE, "w")

    def make(self, reader: MemoryReader) -> Controller[NamespacedName, Any]:
        return template_controller(reader, self.clouds, now=lambda: self.world.now)


async def test_a_template_of_a_cluster_has_the_capacity_of_its_flavor_and_the_system_of_its_image() -> None:
    world = World(rootVolume={"sizeGiB": 30})
    world.cloud.services.images[world.image]["os_type"] = "linux"
    process = Templates(world)
    assert (await process.step()).writes == 1
    assert world.status == {
        "capacity": {"cpu": "1", "memory": "512Mi", "ephemeral-storage": "100Gi", "storage": "30Gi"},
        "nodeInfo": {"operatingSystem": "linux"},
    }
    assert (await process.step()).writes == 0
    assert world.told == []


@pytest.mark.parametrize(
    "how",
    [
        pytest.param({"owners": []}, id="of a ClusterClass"),
        pytest.param({"paused": True}, id="paused"),
    ],
)
async def test_a_template_is_left_alone(how: Tree) -> None:
    world = World(**how)
    assert (await Templates(world).step()).writes == 0
    assert world.status == {}
    assert world.cloud.requests == []


async def test_a_flavor_that_does_not_exist_is_told_once() -> None:
    world = World(flavor="m9.huge")
    process = Templates(world)
    for _ in range(3):
        await process.step()
        world.cloud.pass_time(700)
    assert world.status == {}
    (told,) = world.told
    assert told.startswith("CapacityUnknown: ")
    assert "no flavors match flavor (name m9.huge)" in told


async def test_a_cloud_that_cannot_be_asked_is_told_and_what_was_known_stays() -> None:
    world = World()
    process = Templates(world)
    await process.step()
    before = world.status
    assert before["capacity"]["cpu"] == "1"
    world.cloud.fault(method="GET", service="compute", status=503, count=100)
    world.cloud.pass_time(700)
    await process.step()
    assert world.status == before
    assert len(world.told) == 1
