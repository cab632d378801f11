"""Taints on both sides, with Cluster API's own manager and webhooks: its gate MachineTaintPropagation on and off.

The webhook refuses each object with taints while the gate is off. Windlass is told with an option that it is on.
"""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import eventually
from windlass.api import capi, core, mapi
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API
from windlass.testing import ControlPlane, crds
from windlass.testing.machines import cluster_api
from windlass.testing.plane.pool import PlanePool

from ..api.machine_sync.examples import Tree
from ..api.machine_sync.replicas import replica
from ..api.machine_sync.stage import condition, new_stage
from ..program import ALONE
from .claims import status_of
from .ground import SIMULATORS, Actors, Ground

pytestmark = pytest.mark.plane

ON = (*ALONE, "--machine-taint-propagation")
TAINTS = [{"key": "gpu", "value": "a", "effect": "NoSchedule"}]
ALWAYS = [{**TAINTS[0], "propagation": "Always"}]
GATE_OFF = "cluster-api-without-taints"


@pytest.fixture
def without_taints(windlass_planes: PlanePool) -> Iterator[ControlPlane]:
    """A plane on which Cluster API's manager has its default gates."""
    plane = windlass_planes.plane(
        GATE_OFF,
        users={SIMULATORS: ["system:masters"]},
        crds=crds.documents(*{*crds.MACHINES, *crds.CLUSTER_API_CORE}),
    )
    cluster_api.start(plane.blocking, flags=["--feature-gates=ReconcilerRateLimiting=false"])
    yield plane
    windlass_planes.stop(GATE_OFF)


@pytest.fixture
async def gate_off(without_taints: ControlPlane, tmp_path: Path) -> AsyncIterator[Ground]:
    """A ground on it, with the simulators of everybody else and a provisioned Cluster."""
    async with new_stage(without_taints, "OpenStack") as stage:
        ground = Ground(stage, tmp_path)
        async with ground.simulated():
            await ground.cluster()
            yield ground


def taints_of(tree: Tree) -> Any:
    spec = tree["spec"]
    return spec.get("template", {"spec": spec})["spec"].get("taints")


async def tainted_set(ground: Ground, name: str) -> str:
    """A new set whose template has taints, and its one Machine, which has them from there."""
    await ground.machine_set(name, MACHINE_API, replicas=0)
    template = {"spec": {"template": {"spec": {"taints": TAINTS}}, "replicas": 1}}
    await ground.stage.patch(mapi.MachineSet, name, template)
    await ground.set_settled(name, MACHINE_API, replicas=1)
    (machine,) = await ground.machines(prefix=f"{name}-")
    return machine


async def both(ground: Ground, name: str, machine: str, authority: str) -> list[dict[str, Tree]]:
    """Set and Machine on both sides, once they are at rest under `authority`."""
    return [await ground.set_settled(name, authority, replicas=1), await ground.settled(machine, authority)]


async def node_has(ground: Ground, node: str, *, taint: bool) -> None:
    await eventually(
        lambda: ground.stage.get(core.Node, node),
        lambda found: found is not None and (TAINTS[0] in found["spec"].get("taints", [])) is taint,
        what=f"Node {node} {'with' if taint else 'without'} the taint",
    )


async def test_taints_go_to_cluster_api_and_back_and_it_puts_them_on_the_node(ground: Ground, actors: Actors) -> None:
    name = ground.name("gpu")
    async with replica(ground.stage, ground.folder, *ON):
        machine = await tainted_set(ground, name)
        for found in await both(ground, name, machine, MACHINE_API):
            assert (taints_of(found["mirror"]), taints_of(found["source"])) == (TAINTS, ALWAYS)

        await ground.hand_over(mapi.Machine, machine, CLUSTER_API)
        await ground.hand_over(mapi.MachineSet, name, CLUSTER_API)
        for found in await both(ground, name, machine, CLUSTER_API):
            assert (taints_of(found["mirror"]), taints_of(found["source"])) == (TAINTS, ALWAYS)
        node = (await ground.settled(machine, CLUSTER_API))["source"]["status"]["nodeRef"]["name"]
        await node_has(ground, node, taint=True)

        # The set does not remove from a machine what Windlass wrote there, so its template alone is not enough.
        await ground.stage.patch(capi.MachineSet, name, {"spec": {"template": {"spec": {"taints": None}}}})
        await ground.stage.patch(capi.Machine, machine, {"spec": {"taints": None}})
        await node_has(ground, node, taint=False)
        await ground.hand_over(mapi.Machine, machine, MACHINE_API)
        await ground.hand_over(mapi.MachineSet, name, MACHINE_API)
        for found in await both(ground, name, machine, MACHINE_API):
            assert (taints_of(found["mirror"]), taints_of(found["source"])) == (None, None)


async def test_mirrors_are_completed_and_authority_moves_once_windlass_knows_that_the_gate_is_on(
    ground: Ground, actors: Actors
) -> None:
    name = ground.name("later")
    async with replica(ground.stage, ground.folder, *ALONE):
        machine = await tainted_set(ground, name)
        before = await both(ground, name, machine, MACHINE_API)
        assert [taints_of(found["source"]) for found in before] == [None, None]
        await ground.hand_over(mapi.Machine, machine, CLUSTER_API)
        await ground.stage.patch(mapi.Machine, machine, {"metadata": {"labels": {"seen": "yes"}}})
        await eventually(
            lambda: ground.stage.get(capi.Machine, machine),
            lambda found: found is not None and found["metadata"]["labels"].get("seen") == "yes",
            what="a change that is mirrored after the request",
        )
        asked = await ground.stage.get(mapi.Machine, machine)
        assert asked is not None
        assert status_of(asked)["authoritativeAPI"] == MACHINE_API

    async with replica(ground.stage, ground.folder, *ON):
        moved = await ground.settled(machine, CLUSTER_API)
        of_set = await ground.set_settled(name, MACHINE_API, replicas=1)
    assert [taints_of(of_set["source"]), taints_of(moved["source"])] == [ALWAYS, ALWAYS]
    assert [found["source"]["metadata"]["uid"] for found in (of_set, moved)] == [
        found["source"]["metadata"]["uid"] for found in before
    ]


async def test_while_the_gate_is_off_all_but_taints_is_mirrored(gate_off: Ground) -> None:
    name = gate_off.name("off")
    async with replica(gate_off.stage, gate_off.folder, *ALONE):
        machine = await tainted_set(gate_off, name)
        for found in await both(gate_off, name, machine, MACHINE_API):
            assert (taints_of(found["mirror"]), taints_of(found["source"])) == (TAINTS, None)
            assert condition(found["mirror"])["status"] == "True"
        events = await gate_off.stage.admin.list(core.Event, namespace=gate_off.stage.namespaces.machine_api)
        told = {
            event.decode().involved_object.name
            for event in events.items
            if "MachineTaintPropagation" in str(event.tree())
        }
        assert told == {name, machine}

    # The gate is said to be on here and is off there: the webhook refuses, and its text is the condition's.
    async with replica(gate_off.stage, gate_off.folder, *ON):
        for kind, one in ((mapi.MachineSet, name), (mapi.Machine, machine)):
            refused = await eventually(
                lambda kind=kind, one=one: gate_off.stage.get(kind, one),  # type: ignore[misc]
                lambda found: found is not None and condition(found).get("status") == "False",
                what=f"the refusal on {one}",
            )
            assert refused is not None
            assert "taints are not allowed to be set when the feature gate MachineTaintPropagation" in str(
                condition(refused)["message"]
            )
            assert taints_of(refused) == TAINTS

    async with replica(gate_off.stage, gate_off.folder, *ALONE):
        await both(gate_off, name, machine, MACHINE_API)
