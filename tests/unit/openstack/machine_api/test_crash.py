"""A crash at any write to either side is harmless: one of each resource, and nothing is left behind."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.unit.openstack.clouded import NAMESPACE
from tests.unit.openstack.machine_api.cases import NAME, Fleet, MachineProcess, machine, node, pod
from windlass.api.core import Node
from windlass.api.mapi import Machine
from windlass.kube.verbs import PatchType
from windlass.model import MemoryApi
from windlass.openstack.cloud.requests import OPENSTACK
from windlass.testing.crash import Scenario, crash_everywhere

GROUPED: dict[str, Any] = {"serverGroupName": "workers"}
VOLUMES: dict[str, Any] = {
    "rootVolume": {"diskSize": 10, "sourceUUID": "rhcos"},
    "additionalBlockDevices": [{"name": "etcd", "sizeGiB": 5, "storage": {"type": "Volume"}}],
    "trunk": True,
}


async def links(api: MemoryApi) -> None:
    """The Node registers and is linked, with a Pod on it, as soon as there is a server."""
    found = api.peek(Machine, NAME, namespace=NAMESPACE)
    if found is None or not found.decode().spec.provider_id or found.decode().status.node_ref is not None:
        return
    api.load(node(), pod("p"))
    body = {"status": {"nodeRef": {"kind": "Node", "name": "node-0"}}}
    await api.patch(Machine, NAME, body, type=PatchType.MERGE, namespace=NAMESPACE, subresource="status")


async def deletes(api: MemoryApi) -> None:
    found = api.peek(Machine, NAME, namespace=NAMESPACE)
    if found is not None and found.decode().status.phase == "Running" and not found.deleting:
        await api.delete(Machine, NAME, namespace=NAMESPACE)


def scenario(value: dict[str, Any], actors: Sequence[Any], expected: dict[str, int]) -> Callable[[], Scenario]:
    def make() -> Scenario:
        world = Fleet()
        world.api.load(machine(world, **value))

        async def settle(api: Any, reader: Any, systems: Any) -> None:
            await MachineProcess(world, api=api, clouds=systems[OPENSTACK]).settle()

        def unowned(trees: Sequence[Any]) -> list[str]:
            there = any(tree["kind"] == "Machine" for tree in trees)
            held, wanted = dict(world.held()), expected if there else {}
            groups = len(world.cloud.services.server_groups)
            if held != wanted or groups > 1:
                return [f"the project has {held}, not {wanted}, and {groups} server groups"]
            return [] if there else [f"Node {each.name}" for each in world.api.listing(Node)]

        return Scenario(
            world.api,
            settle,
            actors=actors,
            systems={OPENSTACK: world.clouds},
            unowned=unowned,
            moment=lambda: world.now,
        )

    return make


@pytest.mark.slow
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(GROUPED, {"servers": 1, "ports": 1}, id="with a server group"),
        pytest.param(VOLUMES, {"servers": 1, "ports": 1, "volumes": 2, "trunks": 1}, id="with volumes and a trunk"),
    ],
)
@pytest.mark.parametrize("actors", [(links,), (links, deletes)], ids=["created", "created, drained and deleted"])
async def test_a_crash_at_any_write_leaves_one_of_each(
    value: dict[str, Any], expected: dict[str, int], actors: Sequence[Any]
) -> None:
    report = await crash_everywhere(scenario(value, actors, expected))
    assert report.points >= 14
