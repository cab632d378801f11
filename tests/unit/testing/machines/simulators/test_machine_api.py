"""The simulated Machine API: who is in charge, and the life of a machine."""

from typing import Any

import pytest

from windlass.api import mapi
from windlass.kube.control.controller import Controller
from windlass.kube.verbs import PatchType
from windlass.model.reader import MemoryReader
from windlass.testing.machines.simulators import (
    machine_api_simulator,
)
from windlass.testing.machines.simulators.instances import InstanceRecord
from windlass.testing.machines.simulators.platforms import AWS

from .world import CLUSTER_API, MACHINE_API, acts, conditions, machine_api, mapi_machine


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

        def waits(reader: MemoryReader) -> Controller[Any, Any]:
            return machine_api_simulator(reader, platform=AWS, fills_authority=False)

        assert await world.step(waits) == 0

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
        phases = []
        for after in (1, 2, 3):
            await world.step(machine_api, after=after)
            phases.append(world.tree()["status"]["phase"])
        assert phases == ["Provisioning", "Provisioned", "Running"]
        tree = world.tree()
        assert tree["metadata"]["finalizers"] == ["machine.machine.openshift.io"]
        assert tree["metadata"]["annotations"] == {"machine.openshift.io/instance-state": "running"}
        assert tree["status"]["conditions"][0]["severity"] == "Info"
        node = world.node()
        assert node is not None
        instance = AWS.instance("w-0", "uid-1")
        assert node["spec"]["providerID"] == tree["spec"]["providerID"] == f"aws:///us-east-1a/{instance}"
        assert tree["status"]["nodeRef"] == {"kind": "Node", "name": "worker-1", "uid": node["metadata"]["uid"]}
        assert tree["status"]["providerStatus"] == {"instanceId": instance, "instanceState": "running"}
        assert {one["type"] for one in tree["status"]["addresses"]} == {"InternalIP", "InternalDNS"}
        assert await world.step(machine_api, after=600) == 0

    async def test_under_machine_api_authority_a_deleted_machine_goes_with_its_instance_and_its_node(self) -> None:
        world = mapi_machine("MachineAPI")
        await world.step(machine_api, after=3)
        assert world.node() is not None
        await world.api.delete(mapi.Machine, "worker-1", namespace=MACHINE_API)
        before = world.api.version
        await world.step(machine_api, after=4)
        assert world.gone
        assert world.node() is None
        phases = [change.tree.get("status", {}).get("phase") for change in world.api.changes_since(before)]
        assert "Deleting" in phases
        assert acts(await world.instance()) == ["created by MachineAPI", "deleted by MachineAPI"]

    async def test_the_machine_is_held_before_there_is_an_instance_however_late_it_is_seen_first(self) -> None:
        world = mapi_machine("MachineAPI")
        since = world.api.version
        await world.step(machine_api, after=60)
        written = [change.tree["kind"] for change in world.api.changes_since(since)]
        assert written[:2] == ["Machine", "ConfigMap"]

    async def test_paused_it_lets_go_of_the_instance_before_it_says_so_and_keeps_what_it_knows(self) -> None:
        world = mapi_machine("MachineAPI")
        await world.step(machine_api, after=3)
        before = world.tree()
        await world.hand_over("Migrating")
        since = world.api.version
        await world.step(machine_api, after=4)
        written = [change.tree["kind"] for change in world.api.changes_since(since)]
        assert written == ["ConfigMap", "Machine"]
        assert (await world.instance()).holder == ""
        assert conditions(world.tree()) == {"Paused": "True"}
        assert world.tree()["spec"] == before["spec"]
        assert world.tree()["status"]["nodeRef"] == before["status"]["nodeRef"]

    async def test_back_in_charge_it_goes_on_with_the_same_instance(self) -> None:
        world = mapi_machine("MachineAPI")
        await world.step(machine_api, after=3)
        before = world.tree()["spec"]
        for authority in ("Migrating", "ClusterAPI", "Migrating", "MachineAPI"):
            await world.hand_over(authority)
            await world.step(machine_api, after=4)
        assert world.tree()["spec"] == before
        assert acts(await world.instance()) == [
            "created by MachineAPI",
            "let go by MachineAPI",
            "taken by MachineAPI",
        ]

    async def test_an_instance_that_was_deleted_behind_its_back_is_not_made_again(self) -> None:
        world = mapi_machine("MachineAPI")
        await world.step(machine_api, after=3)
        record = await world.instance()
        died = {"data": {"holder": "", "history": "2026-01-01T12:00:00Z ClusterAPI deleted"}}
        await world.api.patch(InstanceRecord, record.id, died, type=PatchType.MERGE, namespace=CLUSTER_API)
        await world.step(machine_api, after=4)
        assert world.tree()["status"]["phase"] == "Failed"
        assert len(await world.instances()) == 1

    async def test_the_paused_condition_keeps_its_time_until_its_status_changes(self) -> None:
        world = mapi_machine("ClusterAPI")
        await world.step(machine_api)
        assert await world.step(machine_api, after=3600) == 0
