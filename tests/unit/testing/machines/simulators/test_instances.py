"""The record of instances: one goes to and fro between two authorities, and whoever breaks the rules is found out."""

from typing import Any

import pytest

from windlass.api import capa, capi
from windlass.kube.verbs import PatchType
from windlass.testing.machines.simulators.platforms import AWS, OPENSTACK, SimulatedPlatform

from .world import CLUSTER_API, World, aws, machine_api, machine_api_on_openstack, mapi_machine, openstack


class TestTwoAuthorities:
    """A Machine of the Machine API and an infrastructure machine of the same name, whose instance is one."""

    PLATFORMS = pytest.mark.parametrize(
        ("platform", "here", "there"),
        [(AWS, machine_api, aws), (OPENSTACK, machine_api_on_openstack, openstack)],
        ids=["AWS", "OpenStack"],
    )

    @staticmethod
    async def world(platform: SimulatedPlatform, here: Any, *, paused: bool = True) -> World:
        world = mapi_machine("MachineAPI")
        await world.step(here, after=3)
        named = world.tree()["spec"]["providerID"]
        owner = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": "worker-1", "uid": "uid-0"}
        annotations = {"cluster.x-k8s.io/paused": ""} if paused else {}
        world.add(capi.Machine, "worker-1", CLUSTER_API, spec={"providerID": named})
        spec = {"providerID": named} if platform is AWS else {}
        metadata = {"ownerReferences": [owner], "annotations": annotations}
        world.add(platform.machine, "worker-1", CLUSTER_API, spec=spec, metadata=metadata)
        return world

    @staticmethod
    async def pause(world: World, platform: SimulatedPlatform, *, paused: bool) -> None:
        body = {"metadata": {"annotations": {"cluster.x-k8s.io/paused": "" if paused else None}}}
        await world.api.patch(platform.machine, "worker-1", body, type=PatchType.MERGE, namespace=CLUSTER_API)

    @PLATFORMS
    async def test_one_instance_goes_to_and_fro(self, platform: SimulatedPlatform, here: Any, there: Any) -> None:
        world = await self.world(platform, here)
        for authority in ("Migrating", "ClusterAPI"):
            await world.hand_over(authority)
            await world.step(here, after=4)
            await world.step(there, after=4)
        await self.pause(world, platform, paused=False)
        await world.step(there, after=5)
        await world.step(here, after=5)
        assert (await world.instance()).holder == "ClusterAPI"
        await self.pause(world, platform, paused=True)
        await world.step(there, after=6)
        for authority in ("Migrating", "MachineAPI"):
            await world.hand_over(authority)
            await world.step(here, after=7)
            await world.step(there, after=7)
        instance = await world.instance()
        assert instance.hands == ("MachineAPI", "ClusterAPI", "MachineAPI")
        assert instance.alive
        assert not instance.seizures

    @PLATFORMS
    async def test_a_provider_that_acts_while_the_machine_api_does_is_found_out(
        self, platform: SimulatedPlatform, here: Any, there: Any
    ) -> None:
        world = await self.world(platform, here, paused=False)
        await world.step(there, after=4)
        (seizure,) = (await world.instance()).seizures
        assert (seizure.side, seizure.before) == ("ClusterAPI", "MachineAPI")

    @PLATFORMS
    async def test_a_provider_that_deletes_what_the_machine_api_has_is_found_out(
        self, platform: SimulatedPlatform, here: Any, there: Any
    ) -> None:
        world = await self.world(platform, here, paused=False)
        held = {"metadata": {"finalizers": [platform.machine_finalizer]}}
        await world.api.patch(platform.machine, "worker-1", held, type=PatchType.MERGE, namespace=CLUSTER_API)
        await world.api.delete(platform.machine, "worker-1", namespace=CLUSTER_API)
        await world.step(there, after=4)
        instance = await world.instance()
        assert not instance.alive
        assert [entry.what for entry in instance.seizures] == ["deleted"]

    async def test_the_machine_api_that_acts_while_a_provider_does_is_found_out(self) -> None:
        world = await self.world(AWS, machine_api)
        await world.hand_over("Migrating")
        await world.step(machine_api, after=4)
        await self.pause(world, AWS, paused=False)
        await world.step(aws, after=5)
        await world.hand_over("MachineAPI")
        await world.step(machine_api, after=6)
        (seizure,) = (await world.instance()).seizures
        assert (seizure.side, seizure.before) == ("MachineAPI", "ClusterAPI")

    async def test_where_a_provider_cannot_say_that_it_stands_still_the_machine_api_waits_for_it(self) -> None:
        world = await self.world(OPENSTACK, machine_api_on_openstack)
        await world.hand_over("Migrating")
        await world.step(machine_api_on_openstack, after=4)
        await self.pause(world, OPENSTACK, paused=False)
        await world.step(openstack, after=5)
        await self.pause(world, OPENSTACK, paused=True)
        await world.hand_over("MachineAPI")
        await world.step(machine_api_on_openstack, after=6)
        assert (await world.instance()).holder == "ClusterAPI"
        await world.step(openstack, after=7)
        await world.step(machine_api_on_openstack, after=8)
        assert (await world.instance()).holder == "MachineAPI"
        assert not (await world.instance()).seizures

    async def test_an_instance_made_twice_for_one_machine_has_two_records(self) -> None:
        world = await self.world(AWS, machine_api, paused=False)
        forgotten = {"spec": {"providerID": None}}
        for kind in (capi.Machine, capa.AWSMachine):
            await world.api.patch(kind, "worker-1", forgotten, type=PatchType.MERGE, namespace=CLUSTER_API)
        await world.step(aws, after=4)
        assert [instance.machine for instance in await world.instances()] == ["worker-1", "worker-1"]
