"""Authority moves, machines go and hooks hold with the Machine API's own controllers and webhooks.

Beside them the real Cluster API core manager; only the infrastructure provider and the cloud are played.
"""

from typing import Any

import pytest

from windlass.api import capi, mapi
from windlass.kube.conditions import is_true
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API

from .claims import status_of
from .ground import OTHER, REAL, Actors, Ground, assert_one_instance
from .hand_overs import (
    ON_A_PLATFORM,
    assert_one_authority_at_a_time,
    machines_of,
    made_handed_over_and_back,
    made_set,
    there_and_back,
)
from .history import recorded

pytestmark = [pytest.mark.plane, pytest.mark.sampled]

BOTH_SETS = [mapi.MachineSet, capi.MachineSet]


@pytest.fixture
def machine_api() -> str:
    """The real one."""
    return REAL


@ON_A_PLATFORM
@pytest.mark.parametrize("authority", [MACHINE_API, CLUSTER_API])
async def test_a_machine_changes_hands_and_back_and_goes(ground: Ground, actors: Actors, authority: str) -> None:
    name = ground.name("w-0")
    async with ground.syncing():
        async with recorded(ground.stage) as history:
            await ground.machine(name, authority)
            await there_and_back(ground, name, authority)
        assert_one_authority_at_a_time(history)
        assert_one_instance(await ground.instance(name), hands=[authority, OTHER[authority], authority])
        await ground.stage.delete(mapi.Machine, name)
        await ground.gone(name)
    gone = await ground.instance(name)
    assert_one_instance(gone, hands=[authority, OTHER[authority], authority], alive=False)
    assert gone.entries[-1].side == authority


async def test_a_set_and_its_machines_change_hands_and_back(ground: Ground, actors: Actors) -> None:
    name = ground.name("ms")
    async with ground.syncing(), recorded(ground.stage) as history:
        machines = await made_handed_over_and_back(ground, name, replicas=2)
        await ground.scale(mapi.MachineSet, name, 1)
        await ground.set_settled(name, MACHINE_API, replicas=1)
        (kept,) = await machines_of(ground, name, 1)
        await ground.gone(*(machines - {kept}))
    assert history.two_authorities() == []
    for machine in machines:
        hands = [MACHINE_API, CLUSTER_API, MACHINE_API]
        assert_one_instance(await ground.instance(machine), hands=hands, alive=machine == kept)


@pytest.mark.parametrize("deleted", BOTH_SETS, ids=lambda kind: str(kind.RESOURCE))
async def test_a_set_that_is_deleted_and_orphans_leaves_its_machines(
    ground: Ground, actors: Actors, deleted: type[Any]
) -> None:
    name = ground.name("ms")
    async with ground.syncing():
        machines = await made_set(ground, name, MACHINE_API, replicas=2)
        await orphaning(ground, deleted, name)
        await ground.stage.gone((mapi.MachineSet, name), (capi.MachineSet, name))
        for machine in machines:
            left = await ground.settled(machine, MACHINE_API)
            assert not left["mirror"]["metadata"].get("ownerReferences")
    for machine in machines:
        assert_one_instance(await ground.instance(machine), hands=[MACHINE_API])


async def test_a_set_of_cluster_api_takes_its_machines_along_even_if_it_is_to_orphan(
    ground: Ground, actors: Actors
) -> None:
    """Its manager deletes the machines of its sets, whatever the propagation."""
    name = ground.name("ms")
    async with ground.syncing():
        machines = await made_set(ground, name, CLUSTER_API, replicas=2)
        await orphaning(ground, capi.MachineSet, name)
        await ground.stage.gone((mapi.MachineSet, name), (capi.MachineSet, name))
        await ground.gone(*machines)
    for machine in machines:
        assert_one_instance(await ground.instance(machine), hands=[CLUSTER_API], alive=False)


async def test_the_mirror_of_a_set_of_cluster_api_that_is_to_orphan_leaves_all_machines(
    ground: Ground, actors: Actors
) -> None:
    name = ground.name("ms")
    async with ground.syncing():
        machines = await made_set(ground, name, CLUSTER_API, replicas=2)
        before = [(await ground.machines(kind, prefix=f"{name}-")).keys() for kind in (mapi.Machine, capi.Machine)]
        await orphaning(ground, mapi.MachineSet, name)
        await ground.stage.gone((mapi.MachineSet, name))
        after = [(await ground.machines(kind, prefix=f"{name}-")).keys() for kind in (mapi.Machine, capi.Machine)]
    assert after == before == [machines, machines]
    for machine in machines:
        assert_one_instance(await ground.instance(machine), hands=[CLUSTER_API])


async def test_a_machine_of_cluster_api_outlives_its_mirror_that_a_set_adopts_and_deletes(
    ground: Ground, actors: Actors
) -> None:
    """The set's selector matches the mirror, which nobody controls; scaled down, it has one too many."""
    name, alone, stage = ground.name("ms"), ground.name("alone"), ground.stage
    async with ground.syncing():
        await ground.machine(alone, CLUSTER_API, machine_set=name)
        there = await ground.settled(alone, CLUSTER_API)
        await ground.machine_set(name, MACHINE_API, replicas=1)
        await stage.mirror_that(alone, lambda mirror: owners(mirror) == [("MachineSet", name)])
        await ground.set_settled(name, MACHINE_API, replicas=1)
        assert (await ground.machines()).keys() == {alone}, "it counts as the set's"
        await ground.scale(mapi.MachineSet, name, 0)
        await stage.gone((mapi.Machine, alone))
        await stage.told(alone, "MirrorReleased")
        await ground.set_settled(name, MACHINE_API, replicas=0)
        left = await stage.everything(alone)
    for side in ("source", "infra"):
        found = left[side]
        assert found is not None
        assert found["metadata"]["uid"] == there[side]["metadata"]["uid"]
        assert "deletionTimestamp" not in found["metadata"]
    assert left["mirror"] is None, "no other is made for the set to adopt"
    assert_one_instance(await ground.instance(alone), hands=[CLUSTER_API])


def owners(machine: Any) -> list[tuple[str, str]]:
    return [(owner["kind"], owner["name"]) for owner in machine["metadata"].get("ownerReferences", [])]


async def orphaning(ground: Ground, kind: type[Any], name: str) -> None:
    """`kubectl delete --cascade=orphan`."""
    await ground.stage.admin.delete(kind, name, namespace=ground.stage.home(kind), propagation="Orphan")


@pytest.mark.parametrize("kind", [mapi.Machine, capi.Machine], ids=lambda kind: str(kind.RESOURCE))
async def test_hooks_hold_a_deletion_from_either_side(ground: Ground, actors: Actors, kind: type[Any]) -> None:
    name, stage = ground.name("w-0"), ground.stage
    hooks: dict[str, Any] = {
        "preDrain": [{"name": "backup", "owner": "tests"}],
        "preTerminate": [{"name": "detach", "owner": "tests"}],
    }
    async with ground.syncing():
        await ground.machine(name, MACHINE_API)
        await ground.settled(name, MACHINE_API)
        await stage.patch(mapi.Machine, name, {"spec": {"lifecycleHooks": hooks}})
        await ground.settled(name, MACHINE_API)
        await stage.delete(kind, name)
        await stage.mirror_that(name, lambda machine: held(machine, drained=False))
        await stage.patch(mapi.Machine, name, {"spec": {"lifecycleHooks": {"preDrain": None}}})
        await stage.mirror_that(name, lambda machine: held(machine, drained=True))
        assert (await ground.instance(name)).alive
        await stage.patch(mapi.Machine, name, {"spec": {"lifecycleHooks": {"preTerminate": None}}})
        await ground.gone(name)
    assert_one_instance(await ground.instance(name), hands=[MACHINE_API], alive=False)


def held(machine: Any, *, drained: bool) -> bool:
    """Whether the Machine API says that a hook holds the deletion, before it drains or after."""
    conditions = status_of(machine).get("conditions") or []
    by = "Terminable" if drained else "Drainable"
    reasons = {one["type"]: (one["status"], one.get("reason")) for one in conditions}
    return is_true(conditions, "Drained") == drained and reasons.get(by) == ("False", "HookPresent")
