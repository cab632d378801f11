"""The simulated MachineSets of the Machine API: which Machines they make, and which they delete."""

from typing import Any

import pytest

from windlass.api import mapi
from windlass.kube.verbs import PatchType
from windlass.testing.machines.simulators import (
    machine_api_set_simulator,
)

from .world import MACHINE_API, World, conditions


class TestMachineApiSet:
    @staticmethod
    def world(authority: str = "MachineAPI", *, replicas: int = 3) -> World:
        labels = {"machine.openshift.io/cluster-api-machineset": "workers"}
        spec = {
            "authoritativeAPI": authority,
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels, "annotations": {"example.com/a": "b"}},
                "spec": {"authoritativeAPI": "ClusterAPI", "providerSpec": {"value": {"flavor": "m1.large"}}},
            },
        }
        meta = {"name": "workers", "namespace": MACHINE_API}
        status = {"status": {"authoritativeAPI": authority}}
        return World(mapi.MachineSet, {"metadata": meta, "spec": spec, **status})

    @staticmethod
    def machines(world: World) -> dict[str, dict[str, Any]]:
        return {one.name: one.tree() for one in world.api.listing(mapi.Machine)}

    async def test_an_empty_authority_is_filled_from_spec_and_the_set_then_gets_its_machines(self) -> None:
        tree = {
            "metadata": {"name": "workers", "namespace": MACHINE_API},
            "spec": {"authoritativeAPI": "MachineAPI", "replicas": 2},
        }
        world = World(mapi.MachineSet, tree)
        await world.step(machine_api_set_simulator)
        assert world.tree()["status"]["authoritativeAPI"] == "MachineAPI"
        assert conditions(world.tree()) == {"Paused": "False"}
        assert len(self.machines(world)) == 2

    async def test_its_machines_are_made_from_the_template(self) -> None:
        world = self.world()
        await world.step(machine_api_set_simulator)
        machines = self.machines(world)
        assert len(machines) == 3
        assert all(name.startswith("workers-") for name in machines)
        template = world.tree()["spec"]["template"]
        for machine in machines.values():
            assert machine["metadata"]["labels"] == template["metadata"]["labels"]
            assert machine["metadata"]["annotations"] == {"example.com/a": "b"}
            assert machine["spec"] == template["spec"]
            (owner,) = machine["metadata"]["ownerReferences"]
            assert (owner["kind"], owner["name"], owner["controller"]) == ("MachineSet", "workers", True)
            assert owner["uid"] == world.tree()["metadata"]["uid"]
        assert await world.step(machine_api_set_simulator, after=60) == 0

    async def test_status_counts_the_machines_that_there_are_and_those_that_run(self) -> None:
        world = self.world()
        await world.step(machine_api_set_simulator)
        running = {"status": {"phase": "Running", "nodeRef": {"kind": "Node", "name": "n"}}}
        name, *others = self.machines(world)
        await world.api.patch(
            mapi.Machine, name, running, type=PatchType.MERGE, namespace=MACHINE_API, subresource="status"
        )
        unlabeled = {"metadata": {"labels": None}}
        await world.api.patch(mapi.Machine, others[0], unlabeled, type=PatchType.MERGE, namespace=MACHINE_API)
        await world.step(machine_api_set_simulator)
        status = world.tree()["status"]
        assert {key: status[key] for key in status if key.endswith("eplicas")} == {
            "replicas": 3,
            "fullyLabeledReplicas": 2,
            "readyReplicas": 1,
            "availableReplicas": 1,
        }
        assert status["observedGeneration"] == world.tree()["metadata"].get("generation", 0)

    async def test_scaled_down_it_deletes_what_is_marked_and_then_what_does_not_run(self) -> None:
        world = self.world()
        await world.step(machine_api_set_simulator)
        marked, running, _ = self.machines(world)
        mark = {"metadata": {"annotations": {"machine.openshift.io/delete-machine": "true"}}}
        await world.api.patch(mapi.Machine, marked, mark, type=PatchType.MERGE, namespace=MACHINE_API)
        status = {"status": {"phase": "Running", "nodeRef": {"kind": "Node", "name": "n"}}}
        for name in (marked, running):
            await world.api.patch(
                mapi.Machine, name, status, type=PatchType.MERGE, namespace=MACHINE_API, subresource="status"
            )
        await world.merge({"spec": {"replicas": 1}})
        await world.step(machine_api_set_simulator)
        assert [*self.machines(world)] == [running]

    async def test_a_deleted_machine_is_replaced_by_one_of_another_name(self) -> None:
        world = self.world(replicas=1)
        await world.step(machine_api_set_simulator)
        (first,) = self.machines(world)
        held = {"metadata": {"finalizers": ["example.com/held"]}}
        await world.api.patch(mapi.Machine, first, held, type=PatchType.MERGE, namespace=MACHINE_API)
        await world.api.delete(mapi.Machine, first, namespace=MACHINE_API)
        await world.step(machine_api_set_simulator)
        assert len(self.machines(world)) == 2
        assert world.tree()["status"]["replicas"] == 1

    @pytest.mark.parametrize("authority", ["Migrating", "ClusterAPI"])
    async def test_it_stands_still_while_another_api_is_authoritative(self, authority: str) -> None:
        world = self.world("ClusterAPI")
        if authority == "Migrating":
            await world.hand_over(authority)
        await world.step(machine_api_set_simulator)
        assert conditions(world.tree()) == {"Paused": "True"}
        assert self.machines(world) == {}

    async def test_a_set_that_is_being_deleted_makes_no_machines(self) -> None:
        world = self.world()
        await world.merge({"metadata": {"finalizers": ["example.com/held"]}})
        await world.api.delete(mapi.MachineSet, "workers", namespace=MACHINE_API)
        await world.step(machine_api_set_simulator)
        assert self.machines(world) == {}
