"""A MachineSet is deleted with each propagation, on either side, under either authority: what was asked for happens.

Cluster API's manager and the garbage collector are real. What was asked for:

| authority | deleted | Background, Foreground | Orphan |
|---|---|---|---|
| MachineAPI | the set | everything goes | the sets go, all machines stay on both sides and belong to no set |
| MachineAPI | its mirror | the same | the same |
| ClusterAPI | the set | everything goes | everything goes: Cluster API deletes the machines of its set in any case |
| ClusterAPI | its mirror | the mirrors go; set and machines stay in Cluster API | set and machines stay on both sides |

One case is large. A collector that is wrong about one machine in hundreds shows there: before the mirror of a set was
deleted with Orphan, one of 250 machines was lost now and then. The others show what happens, not how often; a
large one of each would take the rest of the tests' time.
"""

from typing import Any

import pytest
from msgspec import Struct

from windlass.api import capi, mapi
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API

from ..api.machine_sync.examples import Tree
from ..api.machine_sync.stage import condition, eventually, identity
from .ground import Actors, Ground, assert_one_instance

pytestmark = [pytest.mark.plane, pytest.mark.xdist_group("migration")]

MANY = 250
FEW = 4
CHOSEN = {"Orphan": "orphan", "Foreground": "foregroundDeletion"}
"""The finalizer by which each propagation shows; Background does not."""

EVERYTHING = [
    (MACHINE_API, mapi.MachineSet, "Background"),
    (MACHINE_API, mapi.MachineSet, "Foreground"),
    (MACHINE_API, capi.MachineSet, "Background"),
    (MACHINE_API, capi.MachineSet, "Foreground"),
    (CLUSTER_API, capi.MachineSet, "Background"),
    (CLUSTER_API, capi.MachineSet, "Foreground"),
    (CLUSTER_API, capi.MachineSet, "Orphan"),
]
"""Authority, what is deleted, and how, where nothing stays."""


class Machines(Struct):
    """The Machines of a set in each API, by name."""

    here: dict[str, Tree]
    there: dict[str, Tree]

    @classmethod
    async def seen(cls, ground: Ground, name: str) -> "Machines":
        kinds: tuple[Any, Any] = (mapi.Machine, capi.Machine)
        here, there = [await ground.machines(kind, prefix=f"{name}-") for kind in kinds]
        return cls(here, there)

    def uids(self) -> dict[str, tuple[str, str]]:
        return {
            name: (tree["metadata"]["uid"], self.there[name]["metadata"]["uid"])
            for name, tree in self.here.items()
            if name in self.there
        }


async def collector_at_work(ground: Ground) -> None:
    """Return when the garbage collector knows Machines of both APIs, of which it hears half a minute late.

    Of a kind that it has just heard of it may give a set free before it has seen what the set owns.
    """
    stage = ground.stage
    for kind, owner in ((mapi.Machine, mapi.MachineSet), (capi.Machine, capi.MachineSet)):
        gone = {**identity(owner), "name": "never-was", "uid": "00000000-0000-4000-8000-000000000000"}
        spec = {"authoritativeAPI": CLUSTER_API, "providerSpec": {}}
        spec = spec if kind is mapi.Machine else stage.source_spec("lost")
        await stage.make(kind, "lost", spec, ownerReferences=[gone], finalizers=["example.com/seen"])

        async def deleting(kind: Any = kind) -> bool:
            found = await stage.get(kind, "lost")
            return found is not None and "deletionTimestamp" in found["metadata"]

        await eventually(deleting, bool, what=f"the garbage collector to know {kind.RESOURCE}")


async def set_with_machines(ground: Ground, authority: str, count: int) -> tuple[str, Machines]:
    """A MachineSet whose machines all run and are in sync, and a garbage collector that has seen them."""
    await collector_at_work(ground)
    name = ground.name("ms")
    await ground.machine_set(name, authority, replicas=count)
    await ground.set_settled(name, authority, replicas=count)
    machines = await Machines.seen(ground, name)
    await ground.all_settled([*machines.here], authority)
    return name, machines


async def deleted_with(ground: Ground, kind: Any, name: str, propagation: str) -> None:
    await ground.stage.admin.delete(kind, name, namespace=ground.stage.home(kind), propagation=propagation)


def owners(tree: Tree) -> list[str]:
    return [owner["kind"] for owner in tree["metadata"].get("ownerReferences", ())]


async def given_back(ground: Ground, name: str, before: Machines) -> Machines:
    """The Machines, once none belongs to a set any more and all are in sync."""

    def belonging(found: Machines) -> list[str]:
        assert found.uids().keys() == before.uids().keys(), "machines were lost"
        here = [f"{name} in the Machine API" for name, tree in found.here.items() if owners(tree)]
        there = [f"{name} in Cluster API" for name, tree in found.there.items() if owners(tree) != ["Cluster"]]
        unsynced = [name for name, tree in found.here.items() if condition(tree).get("status") != "True"]
        return here + there + unsynced

    return await eventually(
        lambda: Machines.seen(ground, name), lambda found: not belonging(found), what="machines without a set"
    )


@pytest.mark.parametrize(
    ("deleted", "count"), [(mapi.MachineSet, FEW), (capi.MachineSet, FEW), (mapi.MachineSet, MANY)]
)
async def test_orphan_under_the_machine_api_costs_no_machine(
    ground: Ground, actors: Actors, deleted: Any, count: int
) -> None:
    async with ground.syncing():
        name, before = await set_with_machines(ground, MACHINE_API, count)
        await deleted_with(ground, deleted, name, "Orphan")
        await ground.stage.gone((mapi.MachineSet, name), (capi.MachineSet, name))
        after = await given_back(ground, name, before)
        assert after.uids() == before.uids()
        await ground.all_settled([*before.here], MACHINE_API)
    instances = {one.machine: one for one in await ground.instances()}
    assert len(instances) == count
    for machine in before.here:
        assert_one_instance(instances[machine], hands=[MACHINE_API])


@pytest.mark.parametrize(("authority", "deleted", "propagation"), EVERYTHING)
async def test_everything_goes_with_the_set(
    ground: Ground, actors: Actors, authority: str, deleted: Any, propagation: str
) -> None:
    async with ground.syncing():
        name, before = await set_with_machines(ground, authority, FEW)
        kind: Any = mapi.MachineSet if authority == MACHINE_API else capi.MachineSet
        async with ground.stage.watching(kind, name) as history:
            await deleted_with(ground, deleted, name, propagation)
            await ground.gone(*before.here)
            await ground.stage.gone((mapi.MachineSet, name), (capi.MachineSet, name))
    chosen = {one for tree in history.trees for one in tree["metadata"].get("finalizers", ())} & {*CHOSEN.values()}
    assert chosen == ({CHOSEN[propagation]} if propagation in CHOSEN else set())
    for one in await ground.instances():
        assert_one_instance(one, hands=[authority], alive=False)


@pytest.mark.parametrize("propagation", ["Background", "Foreground", "Orphan"])
async def test_deleting_the_mirror_of_a_set_of_cluster_api_costs_no_machine(
    ground: Ground, actors: Actors, propagation: str
) -> None:
    async with ground.syncing():
        name, before = await set_with_machines(ground, CLUSTER_API, FEW)
        await deleted_with(ground, mapi.MachineSet, name, propagation)
        await ground.stage.gone((mapi.MachineSet, name))
        if propagation != "Orphan":
            await ground.stage.gone(*((mapi.Machine, machine) for machine in before.here))
        after = await Machines.seen(ground, name)
        left = await ground.stage.get(capi.MachineSet, name)
    assert left is not None
    assert left["status"]["readyReplicas"] == FEW
    assert after.uids().keys() == (before.uids().keys() if propagation == "Orphan" else set())
    assert {machine: owners(tree) for machine, tree in after.there.items()} == {
        key: ["MachineSet"] for key in before.there
    }
    for one in await ground.instances():
        assert_one_instance(one, hands=[CLUSTER_API])


async def test_mirrors_that_the_collector_deletes_are_made_again(ground: Ground, actors: Actors) -> None:
    """The set that they belong to is gone by force, while nobody of ours looked."""
    async with ground.syncing():
        name, before = await set_with_machines(ground, MACHINE_API, FEW)
    await deleted_with(ground, capi.MachineSet, name, "Background")
    await ground.stage.patch(capi.MachineSet, name, {"metadata": {"finalizers": None}})
    await ground.stage.gone((capi.MachineSet, name))

    async def staying() -> dict[str, Tree]:
        return await ground.machines(capi.Machine, prefix=f"{name}-")

    await eventually(staying, lambda found: not found, what="all mirrors deleted by the collector")
    async with ground.syncing():
        await ground.set_settled(name, MACHINE_API, replicas=FEW)
        await ground.all_settled([*before.here], MACHINE_API)
        after = await Machines.seen(ground, name)
    assert {machine: ours for machine, (ours, _) in after.uids().items()} == {
        machine: ours for machine, (ours, _) in before.uids().items()
    }
    for one in await ground.instances():
        assert_one_instance(one, hands=[MACHINE_API])
