"""A MachineSet is deleted half of whose machines are under the other authority than the set itself.

Cluster API's manager and the garbage collector are real. What becomes of each half:

| authority of the set | deleted | Background, Foreground | Orphan |
|---|---|---|---|
| MachineAPI | the set, or its mirror | all machines go | all stay, on both sides |
| ClusterAPI | its mirror | those of the Machine API go, the others stay in Cluster API | all stay, on both sides |

In the last row the set of Cluster API makes a new machine for each that it no longer owns.
"""

from typing import Any

import pytest

from tests.patience import FLEET
from tests.waiting import eventually
from windlass.api import capi, mapi
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API

from .ground import OTHER, Actors, Ground, assert_one_instance
from .set_to_delete import Case, collector_at_work, given_back, set_to_delete, words

pytestmark = [pytest.mark.plane, pytest.mark.sampled]


async def half_handed_over(case: Case, authority: str) -> set[str]:
    """The machines that are under the other authority now."""
    ground, half = case.ground, sorted(case.before.here)[: FLEET // 2]
    for machine in half:
        await ground.hand_over(mapi.Machine, machine, OTHER[authority])
    await ground.all_settled(half, OTHER[authority])
    await ground.set_settled(case.name, authority, replicas=FLEET)
    return set(half)


async def assert_instances(case: Case, authority: str, *, moved: set[str], alive: set[str]) -> None:
    """Each of the machines has the instance that it had, or had it until the end."""
    instances = {one.machine: one for one in await case.instances()}
    for machine in case.before.here:
        hands = [authority, OTHER[authority]] if machine in moved else [authority]
        assert_one_instance(instances[machine], hands=hands, alive=machine in alive)


@pytest.mark.parametrize("deleted", [mapi.MachineSet, capi.MachineSet], ids=words)
async def test_orphan_under_the_machine_api_costs_no_machine_of_either(
    ground: Ground, actors: Actors, deleted: Any
) -> None:
    async with ground.syncing(), set_to_delete(ground, MACHINE_API) as case:
        moved = await half_handed_over(case, MACHINE_API)
        await case.delete(deleted, "Orphan")
        await case.sets_gone()
        await given_back(case, of_cluster_api=moved)
        await collector_at_work(ground, "after")
        assert (await given_back(case, of_cluster_api=moved)).uids() == case.before.uids()
        await ground.all_settled([*moved], CLUSTER_API)
        await ground.all_settled([*case.before.here.keys() - moved], MACHINE_API)
    assert len(await case.instances()) == FLEET
    await assert_instances(case, MACHINE_API, moved=moved, alive={*case.before.here})


@pytest.mark.parametrize("deleted", [mapi.MachineSet, capi.MachineSet], ids=words)
async def test_foreground_under_the_machine_api_takes_all_machines_along(
    ground: Ground, actors: Actors, deleted: Any
) -> None:
    async with ground.syncing(), set_to_delete(ground, MACHINE_API) as case:
        moved = await half_handed_over(case, MACHINE_API)
        await case.delete(deleted, "Foreground")
        await ground.gone(*case.before.here)
        await case.sets_gone()
    # The collector may have deleted machines of Cluster API before the deletion reached the set of the Machine API,
    # which replaces them; the replacements go with it.
    assert not [instance for instance in await case.instances() if instance.alive]
    await assert_instances(case, MACHINE_API, moved=moved, alive=set())


@pytest.mark.parametrize("propagation", ["Background", "Foreground", "Orphan"])
async def test_deleting_the_mirror_of_a_set_of_cluster_api_costs_cluster_api_no_machine(
    ground: Ground, actors: Actors, propagation: str
) -> None:
    async with ground.syncing(), set_to_delete(ground, CLUSTER_API) as case:
        before = case.before
        moved = await half_handed_over(case, CLUSTER_API)
        await case.delete(mapi.MachineSet, propagation)
        await ground.stage.gone((mapi.MachineSet, case.name))
        if propagation != "Orphan":
            await ground.gone(*moved)
            await eventually(case.now, lambda found: not found.here, what="no mirrors of its machines")
        await collector_at_work(ground, "after")
        stay = {*before.here} if propagation == "Orphan" else before.here.keys() - moved
        after = await eventually(
            case.now, lambda found: len(found.there) == len(stay) + len(moved), what="new machines"
        )
    here = {machine: tree["metadata"]["uid"] for machine, tree in before.here.items()}
    there = {machine: tree["metadata"]["uid"] for machine, tree in before.there.items() if machine in stay}
    assert {machine: tree["metadata"]["uid"] for machine, tree in after.here.items()} == (
        here if propagation == "Orphan" else {}
    )
    assert {machine: after.there[machine]["metadata"]["uid"] for machine in stay} == there
    await assert_instances(case, CLUSTER_API, moved=moved, alive=set(stay))
