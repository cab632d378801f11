"""A machine of the control plane and its cluster, each with its own controller: who waits for whom."""

from typing import Any

import pytest

from windlass.api.capi import Machine
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_server import OpenStackServer
from windlass.model import MemoryApi
from windlass.openstack.cloud.requests import OPENSTACK
from windlass.openstack.machine.controller import machine_controller
from windlass.openstack.server.controller import server_controller
from windlass.testing.crash import Scenario, crash_everywhere

from .cluster import cases
from .cluster.endpoints import BALANCED, FLOATING, LB, WHOLE, laid_out

Tree = dict[str, Any]

LABELS = {"cluster.x-k8s.io/cluster-name": "one", "cluster.x-k8s.io/control-plane": ""}
NAME = ("ns", "cp-0")


class MachineProcess(cases.Process):
    """One life of the controller of OpenStackMachines."""

    key = NAME

    def make(self, reader: Any) -> Any:
        return machine_controller(reader, born=self.clouds.born)


class ServerProcess(cases.Process):
    """One life of the controller of OpenStackServers."""

    key = NAME

    def make(self, reader: Any) -> Any:
        return server_controller(reader, self.clouds, now=lambda: self.world.now)


def world_with_machine(spec: Tree) -> cases.World:
    reference = {"apiGroup": OpenStackMachine.RESOURCE.group, "kind": "OpenStackMachine", "name": "cp-0"}
    bootstrap = {"dataSecretName": "data"}
    owner = cases.tree(
        Machine, "cp-0", {"clusterName": "one", "bootstrap": bootstrap, "infrastructureRef": reference}, labels=LABELS
    )
    by = {"apiVersion": Machine.RESOURCE.api_version, "kind": "Machine", "name": "cp-0", "uid": "Machine-cp-0"}
    wanted = {"image": {"filter": {"name": "rhcos"}}, "flavor": "m1.small", "sshKeyName": ""}
    own = cases.tree(OpenStackMachine, "cp-0", wanted, labels=LABELS, ownerReferences=[by])
    done = {"initialization": {"infrastructureProvisioned": True}}
    data = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "data", "namespace": "ns"}}
    world = laid_out(spec, owner, own, {**data, "data": {"value": "IyEvYmluL3No"}})
    world.api.load({**cases.cluster(), "status": done})
    world.cloud.services.image("rhcos")
    world.cloud.services.flavor("m1.small")
    return world


async def settle(world: cases.World, api: Any = None, clouds: Any = None) -> None:
    """All three controllers, until none of them has anything to do."""
    clouds = clouds or world.clouds()
    processes = [kind(world, api=api, clouds=clouds) for kind in (cases.Process, MachineProcess, ServerProcess)]
    for _ in range(20):
        before = sum(ending.writes for each in processes for ending in each.endings)
        for each in processes:
            await each.settle()
        if sum(ending.writes for each in processes for ending in each.endings) == before:
            return
    raise AssertionError("no rest")


def found(world: cases.World, kind: type[Any], name: str = "cp-0") -> Tree | None:
    one = world.api.peek(kind, name, namespace="ns")
    return one.tree() if one is not None else None


async def test_the_machine_is_provisioned_with_its_member_and_leaves_before_its_server_goes() -> None:
    world = world_with_machine(BALANCED)
    told: list[tuple[bool, int]] = []

    def look(_: Any) -> None:
        own = found(world, OpenStackMachine)
        told.append(("initialization" in (own or {}).get("status", {}), len(world.cloud.services.members)))

    world.api.subscribe(look)
    await settle(world)
    assert (True, 0) not in told
    assert told[-1] == (True, 1)
    own = found(world, OpenStackMachine)
    assert own is not None
    (address,) = [each["address"] for each in own["status"]["addresses"] if each["type"] == "InternalIP"]
    assert {each["name"]: each["address"] for each in world.cloud.services.members.values()} == {
        f"{LB}-6443-cp-0": address
    }
    before = len(world.cloud.requests)
    await world.api.delete(OpenStackMachine, "cp-0", namespace="ns")
    await settle(world)
    assert found(world, OpenStackMachine) is found(world, OpenStackServer) is None
    gone = [each.path.split("/")[-2] for each in world.cloud.requests[before:] if each.method == "DELETE"]
    assert gone == ["members", "servers", "ports"]


async def test_the_floating_ip_leads_to_the_port_of_the_machine_and_is_free_again() -> None:
    world = world_with_machine(FLOATING)
    await settle(world)
    own, server = found(world, OpenStackMachine), found(world, OpenStackServer)
    assert own is not None
    assert server is not None
    assert own["status"]["initialization"] == {"provisioned": True}
    (floating,) = world.cloud.services.floatingips.values()
    assert floating["port_id"] == server["status"]["resources"]["ports"][0]["id"]
    await world.api.delete(OpenStackMachine, "cp-0", namespace="ns")
    await settle(world)
    assert found(world, OpenStackMachine) is None
    assert floating["port_id"] is None
    assert list(world.cloud.services.floatingips.values()) == [floating]


@pytest.mark.slow
async def test_a_crash_at_any_write_of_three_controllers_leaves_nothing() -> None:
    def make() -> Scenario:
        world = world_with_machine({**BALANCED, "disableAPIServerFloatingIP": True})

        async def delete(api: MemoryApi) -> None:
            own = found(world, OpenStackMachine)
            if own is not None and "deletionTimestamp" not in own["metadata"]:
                await api.delete(OpenStackMachine, "cp-0", namespace="ns")

        def unowned(trees: Any) -> list[str]:
            expected = {name: count for name, count in WHOLE.items() if name != "floatingips"} | {"ports": 2}
            return [] if (held := dict(world.held())) == expected else [f"the project has {held}"]

        return Scenario(
            world.api,
            lambda api, _, systems: settle(world, api, systems[OPENSTACK]),
            actors=[delete],
            systems={OPENSTACK: world.clouds},
            unowned=unowned,
            moment=lambda: world.now,
        )

    report = await crash_everywhere(make)
    assert report.points >= 30
    assert not any(each.startswith(("OpenStackMachine", "OpenStackServer")) for each in report.end)
