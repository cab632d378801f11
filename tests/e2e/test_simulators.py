"""The simulators beside the real Cluster API core manager: machines on AWS come to run, pause, and go again."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.objects import Kind, Tree
from tests.waiting import eventually
from windlass.api import capa, capi, core, mapi
from windlass.kube.conditions import is_true
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API, PAUSED_ANNOTATION

from ..api.machine_sync.stage import CLUSTER
from .ground import Actors, Ground

pytestmark = pytest.mark.plane


@pytest.fixture
def platform() -> str:
    return "AWS"


async def test_machines_on_aws_come_to_run_and_go_again(ground: Ground, actors: Actors) -> None:
    stage, name = ground.stage, ground.name("worker")
    await stage.make(capa.AWSMachineTemplate, name, {"template": {"spec": {"instanceType": "m6i.xlarge", "ami": {}}}})
    labels = {"cluster.x-k8s.io/cluster-name": CLUSTER, "cluster.x-k8s.io/set-name": name}
    reference = {"apiGroup": capa.AWSMachine.RESOURCE.group, "kind": "AWSMachineTemplate", "name": name}
    template = {"metadata": {"labels": labels}, "spec": {**stage.source_spec(name), "infrastructureRef": reference}}
    spec = {"clusterName": CLUSTER, "replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    await stage.make(capi.MachineSet, name, spec)

    machines = await become(ground, capi.Machine, name, every(2, lambda one: one["status"].get("phase") == "Running"))
    assert provider_ids(machines) == provider_ids(await there(ground, core.Node, name))
    assert all(one["status"]["addresses"] for one in machines)

    await ground.scale(capi.MachineSet, name, 0)
    for kind in (capi.Machine, capa.AWSMachine, core.Node):
        await become(ground, kind, name, lambda found: not found)


async def test_a_paused_machine_gets_no_instance_until_it_is_resumed(ground: Ground, actors: Actors) -> None:
    stage, prefix = ground.stage, ground.name("x")
    paused, busy = f"{prefix}-paused", f"{prefix}-busy"
    for name, annotations in ((paused, {PAUSED_ANNOTATION: ""}), (busy, {})):
        await stage.make(capi.Machine, name, {**stage.source_spec(name), "clusterName": "no-cluster"})
        owner = await stage.reference(capi.Machine, name)
        owned: dict[str, Any] = {"ownerReferences": [owner], "annotations": annotations}
        await stage.make(capa.AWSMachine, name, {"instanceType": "m6i.xlarge"}, **owned)
    await become(ground, core.Node, prefix, lambda nodes: names(nodes) == [busy])
    await become(ground, capa.AWSMachine, prefix, lambda found: [*map(is_paused, found)] == [False, True])
    await stage.patch(capa.AWSMachine, paused, {"metadata": {"annotations": {PAUSED_ANNOTATION: None}}})
    await become(ground, core.Node, prefix, lambda nodes: names(nodes) == [busy, paused])


async def test_the_machine_api_says_who_is_in_charge_and_runs_what_is_its_own(ground: Ground, actors: Actors) -> None:
    stage, theirs, ours = ground.stage, ground.name("theirs"), ground.name("ours")
    await ground.machine(theirs, CLUSTER_API)
    await ground.machine(ours, MACHINE_API)
    await become(ground, mapi.Machine, "", every(2, lambda one: "conditions" in one["status"]))
    await become(ground, mapi.Machine, "", lambda found: phases(found) == {ours: "Running", theirs: None})
    (left_alone,) = await become(ground, mapi.Machine, theirs, lambda found: is_paused(found[0]))
    assert left_alone["status"]["authoritativeAPI"] == CLUSTER_API

    left = await stage.admin.delete(mapi.Machine, ours, namespace=stage.home(mapi.Machine))
    assert left is not None, "the simulator's finalizer holds it"
    await become(ground, mapi.Machine, "", lambda found: phases(found) == {theirs: None})


async def test_a_machine_set_of_the_machine_api_has_as_many_running_machines_as_it_says(
    ground: Ground, actors: Actors
) -> None:
    name = ground.name("pool")
    await ground.machine_set(name, MACHINE_API, replicas=3)
    machines = await become(ground, mapi.Machine, name, every(3, lambda one: one["status"].get("phase") == "Running"))
    await become(ground, mapi.MachineSet, name, every(1, lambda one: one["status"].get("readyReplicas") == 3))
    assert provider_ids(machines) == provider_ids(await there(ground, core.Node, name))

    first = names(machines)[0]
    await ground.stage.delete(mapi.Machine, first)
    await become(ground, mapi.Machine, name, lambda found: len(found) == 3 and first not in names(found))
    await ground.scale(mapi.MachineSet, name, 1)
    await become(ground, mapi.Machine, name, lambda found: len(found) == 1)
    await ground.stage.delete(mapi.MachineSet, name)
    for kind in (mapi.Machine, core.Node):
        await become(ground, kind, name, lambda found: not found)
    made = await ground.instances()
    assert {one.machine for one in made} >= {*names(machines)}
    assert not any(one.alive for one in made)


async def there(ground: Ground, kind: Kind, prefix: str) -> list[Tree]:
    """The objects of `kind` whose names begin so."""
    listed = await ground.stage.admin.list(kind, namespace=ground.stage.home(kind))
    return [found.tree() for found in listed.items if found.name.startswith(prefix)]


async def become(ground: Ground, kind: Kind, prefix: str, holds: Callable[[list[Tree]], bool]) -> list[Tree]:
    """The same, once `holds` is true of them."""
    return await eventually(lambda: there(ground, kind, prefix), holds, what=f"{kind.RESOURCE} {prefix}...")


def is_paused(machine: Tree) -> bool:
    return is_true((machine.get("status") or {}).get("conditions") or [], "Paused")


def names(found: list[Tree]) -> list[str]:
    return sorted(one["metadata"]["name"] for one in found)


def provider_ids(found: list[Tree]) -> set[str]:
    return {one["spec"]["providerID"] for one in found}


def phases(machines: list[Tree]) -> dict[str, str | None]:
    return {one["metadata"]["name"]: (one.get("status") or {}).get("phase") for one in machines}


def every(count: int, holds: Callable[[Tree], bool]) -> Callable[[list[Tree]], bool]:
    return lambda found: len(found) == count and all("status" in one and holds(one) for one in found)
