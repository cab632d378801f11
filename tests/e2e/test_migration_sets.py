"""MachineSets on both sides, with the real Cluster API core manager: scaled here and there, and handed over.

A set takes nothing with it when its authority moves: machines that it has keep theirs, those that it gets follow it.
"""

import pytest

from tests.waiting import eventually
from windlass.api import capi, mapi
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API

from .claims import is_paused, status_of
from .ground import Actors, Ground, assert_one_instance
from .hand_overs import ON_A_PLATFORM, machines_of, made_handed_over_and_back, made_set
from .history import recorded

pytestmark = [pytest.mark.plane, pytest.mark.sampled]


async def machines_of_both(ground: Ground, name: str) -> set[str]:
    """The Machines of a set once there are two, one under each authority."""

    async def look() -> dict[str, str]:
        found = await ground.machines(prefix=f"{name}-")
        return {machine: status_of(tree).get("authoritativeAPI", "") for machine, tree in found.items()}

    found = await eventually(
        look, lambda found: sorted(found.values()) == [CLUSTER_API, MACHINE_API], what="a Machine under each authority"
    )
    return set(found)


@ON_A_PLATFORM
async def test_a_set_that_is_handed_over_makes_machines_there_and_keeps_those_it_had(
    ground: Ground, actors: Actors
) -> None:
    name = ground.name("ms")
    async with ground.syncing(), recorded(ground.stage) as history:
        (old,) = await made_set(ground, name, MACHINE_API, replicas=1)
        await ground.settled(old, MACHINE_API)

        await ground.hand_over(mapi.MachineSet, name, CLUSTER_API)
        await ground.set_settled(name, CLUSTER_API, replicas=1)
        await ground.settled(old, MACHINE_API)

        await ground.scale(capi.MachineSet, name, 2)
        (new,) = await machines_of(ground, name, 2) - {old}
        await ground.set_settled(name, CLUSTER_API, replicas=2)
        mirror = (await ground.settled(new, CLUSTER_API))["mirror"]
        assert is_paused(mirror)
        assert [owner["name"] for owner in mirror["metadata"]["ownerReferences"]] == [name]
        await ground.settled(old, MACHINE_API)

        await ground.mark_for_deletion(new)
        await ground.scale(capi.MachineSet, name, 1)
        await ground.gone(new)
        await ground.set_settled(name, CLUSTER_API, replicas=1)
        await ground.settled(old, MACHINE_API)

        await ground.hand_over(mapi.MachineSet, name, MACHINE_API)
        await ground.set_settled(name, MACHINE_API, replicas=1)
        await ground.settled(old, MACHINE_API)

        await ground.stage.delete(mapi.MachineSet, name)
        await ground.gone(old)
        await ground.stage.gone((mapi.MachineSet, name), (capi.MachineSet, name))
    assert history.two_authorities() == []
    assert_one_instance(await ground.instance(old), hands=[MACHINE_API], alive=False)
    assert_one_instance(await ground.instance(new), hands=[CLUSTER_API], alive=False)


@ON_A_PLATFORM
async def test_a_set_of_the_machine_api_may_make_machines_that_belong_to_cluster_api(
    ground: Ground, actors: Actors
) -> None:
    name = ground.name("ms")
    async with ground.syncing(), recorded(ground.stage) as history:
        await ground.machine_set(name, MACHINE_API, replicas=1, machines=CLUSTER_API)
        (machine,) = await machines_of(ground, name, 1)
        await ground.settled(machine, CLUSTER_API)
        await ground.set_settled(name, MACHINE_API, replicas=1)
    assert history.two_authorities() == []
    assert_one_instance(await ground.instance(machine), hands=[CLUSTER_API])


@ON_A_PLATFORM
@pytest.mark.parametrize("authority", [MACHINE_API, CLUSTER_API])
async def test_a_set_is_scaled_up_and_down_on_either_side(ground: Ground, actors: Actors, authority: str) -> None:
    name = ground.name("ms")
    kind = mapi.MachineSet if authority == MACHINE_API else capi.MachineSet
    async with ground.syncing(), recorded(ground.stage) as history:
        await ground.machine_set(name, authority, replicas=1)
        await ground.set_settled(name, authority, replicas=1)
        await ground.scale(kind, name, 3)
        await ground.set_settled(name, authority, replicas=3)
        three = await machines_of(ground, name, 3)
        for machine in three:
            await ground.settled(machine, authority)
        await ground.scale(kind, name, 1)
        await ground.set_settled(name, authority, replicas=1)
        one = await machines_of(ground, name, 1)
        assert one < three
        await ground.gone(*(three - one))
    assert history.two_authorities() == []
    for machine in three:
        assert_one_instance(await ground.instance(machine), hands=[authority], alive=machine in one)


async def test_a_set_that_is_deleted_takes_its_machines_along_whichever_api_they_belong_to(
    ground: Ground, actors: Actors
) -> None:
    name = ground.name("ms")
    async with ground.syncing():
        await ground.machine_set(name, MACHINE_API, replicas=1, machines=CLUSTER_API)
        await ground.set_settled(name, MACHINE_API, replicas=1)
        template = {"spec": {"template": {"spec": {"authoritativeAPI": MACHINE_API}}}}
        await ground.stage.patch(mapi.MachineSet, name, template)
        await ground.scale(mapi.MachineSet, name, 2)
        await ground.set_settled(name, MACHINE_API, replicas=2)
        machines = await machines_of_both(ground, name)
        await ground.stage.delete(mapi.MachineSet, name)
        await ground.gone(*machines)
        await ground.stage.gone((mapi.MachineSet, name), (capi.MachineSet, name))
    assert not any(one.alive for one in await ground.instances())


async def test_a_set_of_cluster_api_that_is_deleted_takes_its_machines_along_whichever_api_they_belong_to(
    ground: Ground, actors: Actors
) -> None:
    name = ground.name("ms")
    async with ground.syncing():
        await ground.machine_set(name, MACHINE_API, replicas=1)
        await ground.set_settled(name, MACHINE_API, replicas=1)
        await ground.hand_over(mapi.MachineSet, name, CLUSTER_API)
        await ground.set_settled(name, CLUSTER_API, replicas=1)
        await ground.scale(capi.MachineSet, name, 2)
        await ground.set_settled(name, CLUSTER_API, replicas=2)
        machines = await machines_of_both(ground, name)
        await ground.stage.delete(capi.MachineSet, name)
        await ground.gone(*machines)
        await ground.stage.gone((mapi.MachineSet, name), (capi.MachineSet, name))
    assert not any(one.alive for one in await ground.instances())


async def test_deleting_the_mirror_of_a_set_costs_cluster_api_neither_set_nor_machine(
    ground: Ground, actors: Actors
) -> None:
    name = ground.name("ms")
    async with ground.syncing():
        machines = await made_set(ground, name, CLUSTER_API, replicas=2)
        await ground.stage.delete(mapi.MachineSet, name)
        await ground.stage.gone((mapi.MachineSet, name))
        await ground.stage.gone(*((mapi.Machine, machine) for machine in machines))
        assert set(await ground.machines(capi.Machine, prefix=f"{name}-")) == machines
        left = await ground.stage.get(capi.MachineSet, name)
    assert left is not None
    assert left["status"]["readyReplicas"] == 2
    for machine in machines:
        assert_one_instance(await ground.instance(machine), hands=[CLUSTER_API])


async def test_a_set_and_its_machines_are_handed_over_and_back_and_no_instance_notices(
    ground: Ground, actors: Actors
) -> None:
    name = ground.name("ms")
    async with ground.syncing(), recorded(ground.stage) as history:
        machines = await made_handed_over_and_back(ground, name, replicas=3)
        assert await machines_of(ground, name, 3) == machines
    assert history.two_authorities() == []
    for machine in machines:
        assert_one_instance(await ground.instance(machine), hands=[MACHINE_API, CLUSTER_API, MACHINE_API])
