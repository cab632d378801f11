"""Machines and sets that change hands and change back, and what must be so meanwhile."""

import pytest

from tests.explore import in_turn
from tests.waiting import eventually
from windlass.api import capi, core, mapi
from windlass.kube.conditions import is_true
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API

from ..api.machine_sync.examples import Tree
from .claims import since
from .ground import OTHER, Ground
from .history import History

ON_A_PLATFORM = pytest.mark.parametrize("platform", in_turn("AWS", "GCP", "OpenStack"))


async def there_and_back(ground: Ground, name: str, authority: str) -> None:
    """Two hops, and what must be so after each; the machine is settled under `authority` before."""
    there = await ground.settled(name, authority)
    node = await node_of(ground, name)
    for target in (OTHER[authority], authority):
        before = there
        await ground.hand_over(mapi.Machine, name, target)
        there = await ground.settled(name, target)
        assert there["mirror"]["spec"]["providerID"] == before["mirror"]["spec"]["providerID"]
        assert there["mirror"]["status"]["addresses"] == before["mirror"]["status"]["addresses"]
        assert there["infra"]["metadata"]["uid"] == before["infra"]["metadata"]["uid"], "no infra machine was recreated"
        assert since(there["mirror"], "Paused") >= since(before["mirror"], "Paused")
    assert await node_of(ground, name) == node, "the Node noticed nothing"


async def node_of(ground: Ground, name: str) -> Tree:
    """The Node of a machine once it is ready, less the metadata that Cluster API core adds when it meets it."""
    found = await eventually(lambda: ground.stage.get(core.Node, name), is_ready, what=f"a Node {name} that is ready")
    assert found is not None
    return {"uid": found["metadata"]["uid"], "spec": found["spec"], "status": found["status"]}


def is_ready(node: Tree | None) -> bool:
    return node is not None and is_true(node["status"].get("conditions") or [], "Ready")


def assert_one_authority_at_a_time(history: History) -> None:
    assert history.two_authorities() == []
    assert history.machine_api_awake() == []


async def machines_of(ground: Ground, name: str, count: int) -> set[str]:
    """The Machines of a set on both sides, once there are `count` and the same ones."""

    async def look() -> list[set[str]]:
        return [set(await ground.machines(kind, prefix=f"{name}-")) for kind in (mapi.Machine, capi.Machine)]

    here, _ = await eventually(
        look, lambda found: found[0] == found[1] and len(found[0]) == count, what=f"{count} Machines twice"
    )
    return here


async def made_set(ground: Ground, name: str, authority: str, *, replicas: int) -> set[str]:
    """The Machines of a new set, once it and they are there on both sides."""
    await ground.machine_set(name, authority, replicas=replicas)
    await ground.set_settled(name, authority, replicas=replicas)
    return await machines_of(ground, name, replicas)


async def made_handed_over_and_back(ground: Ground, name: str, *, replicas: int) -> set[str]:
    """The Machines of a new set of the Machine API, after it and they went to Cluster API and back."""
    machines = await made_set(ground, name, MACHINE_API, replicas=replicas)
    for target in (CLUSTER_API, MACHINE_API):
        for machine in machines:
            await ground.hand_over(mapi.Machine, machine, target)
        await ground.hand_over(mapi.MachineSet, name, target)
        for machine in machines:
            await ground.settled(machine, target)
        await ground.set_settled(name, target, replicas=replicas)
    return machines
