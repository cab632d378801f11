"""A MachineSet that a test deletes, beside one that nobody touches, and what is left of both."""

import logging
import time
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct

from tests.objects import identity
from tests.patience import FLEET
from tests.waiting import eventually
from windlass.api import capi, mapi
from windlass.machine_sync.constants import CLUSTER_API
from windlass.testing.machines.simulators.instances import Instance

from ..api.machine_sync.examples import Tree
from ..api.machine_sync.stage import condition
from .ground import Ground, assert_one_instance
from .rest import writes

OTHERS = 2
"""Machines of the set that nobody touches."""

log = logging.getLogger(__name__)


class Machines(Struct):
    """The Machines of a set in each API, by name, that are not on their way out."""

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


class Case(Struct):
    """The set that a test deletes, and its machines before that."""

    ground: Ground
    name: str
    before: Machines

    async def delete(self, kind: Any, propagation: str) -> None:
        """What the user does."""
        stage = self.ground.stage
        await stage.admin.delete(kind, self.name, namespace=stage.home(kind), propagation=propagation)

    async def forget(self, kind: Any, machine: str) -> None:
        """A user deletes a machine, too: it goes."""
        await self.ground.stage.delete(kind, machine)
        for side in (self.before.here, self.before.there):
            del side[machine]

    async def sets_gone(self) -> None:
        await self.ground.stage.gone((mapi.MachineSet, self.name), (capi.MachineSet, self.name))

    async def now(self) -> Machines:
        return await Machines.seen(self.ground, self.name)

    async def instances(self) -> list[Instance]:
        return [one for one in await self.ground.instances() if one.machine.startswith(f"{self.name}-")]


@asynccontextmanager
async def set_to_delete(ground: Ground, authority: str, count: int = FLEET) -> AsyncIterator[Case]:
    """A MachineSet whose machines all run and are in sync, beside another one, which must be in the end as it was."""
    async with another_set(ground, authority):
        case = await set_with_machines(ground, ground.name("ms"), authority, count)
        begun, written = time.monotonic(), writes(ground)
        yield case
        seconds, written = time.monotonic() - begun, writes(ground) - written
        left, alive = await case.now(), [one for one in await case.instances() if one.alive]
        log.info(
            "of %d machines %d are left in the Machine API, %d in Cluster API, %d run; %.0f s, %d writes by Windlass",
            *(count, len(left.here), len(left.there), len(alive), seconds, written),
        )


async def set_with_machines(ground: Ground, name: str, authority: str, count: int) -> Case:
    await ground.machine_set(name, authority, replicas=count)
    await ground.set_settled(name, authority, replicas=count)
    before = await eventually(
        lambda: Machines.seen(ground, name), lambda found: len(found.uids()) == count, what=f"{count} Machines twice"
    )
    await ground.all_settled([*before.here], authority)
    return Case(ground, name, before)


@asynccontextmanager
async def another_set(ground: Ground, authority: str) -> AsyncIterator[None]:
    """A MachineSet that nobody deletes, and a garbage collector that knows Machines."""
    await collector_at_work(ground, "before")
    case = await set_with_machines(ground, ground.name("other"), authority, OTHERS)
    look = [await standing(ground, case.name, machine) for machine in case.before.here]
    yield
    assert (await case.now()).uids() == case.before.uids()
    assert [await standing(ground, case.name, machine) for machine in case.before.here] == look
    for one in await case.instances():
        assert_one_instance(one, hands=[authority])


async def standing(ground: Ground, name: str, machine: str) -> list[Any]:
    """What of a set and one of its machines must not change because another set is deleted."""
    stage = ground.stage
    kinds: list[tuple[Any, str]] = [(mapi.MachineSet, name), (capi.MachineSet, name)]
    kinds += [(mapi.Machine, machine), (capi.Machine, machine), (stage.infra_kind, machine)]
    fields = ("uid", "generation", "deletionTimestamp", "ownerReferences", "finalizers", "labels", "annotations")
    found = [await stage.get(kind, key) for kind, key in kinds]
    return [tree and [tree["metadata"].get(field) for field in fields] for tree in found]


async def collector_at_work(ground: Ground, when: str) -> None:
    """Return when the garbage collector has looked at what it heard of before the call.

    It hears of Machines half a minute after their kind was made, and of a kind that it has just heard of it may give a
    set free before it has seen what the set owns.
    """
    stage = ground.stage
    name = f"lost-{when}"
    for kind, owner in ((mapi.Machine, mapi.MachineSet), (capi.Machine, capi.MachineSet)):
        gone = {**identity(owner), "name": "never-was", "uid": "00000000-0000-4000-8000-000000000000"}
        spec = {"authoritativeAPI": CLUSTER_API, "providerSpec": {}}
        spec = spec if kind is mapi.Machine else stage.source_spec(name)
        await stage.make(kind, name, spec, ownerReferences=[gone], finalizers=["example.com/seen"])

        async def deleting(kind: Any = kind) -> bool:
            found = await stage.get(kind, name)
            return found is not None and "deletionTimestamp" in found["metadata"]

        await eventually(deleting, bool, what=f"the garbage collector to know {kind.RESOURCE}")


def owners(tree: Tree) -> list[str]:
    return [owner["kind"] for owner in tree["metadata"].get("ownerReferences", ())]


async def given_back(case: Case, *, of_cluster_api: Collection[str] = ()) -> Machines:
    """The Machines, once none belongs to a set any more and all are in sync.

    `of_cluster_api`: those that Cluster API is the authority of. All others belong to the Cluster then.
    """

    def belonging(found: Machines) -> list[str]:
        lost = case.before.uids().items() - found.uids().items()
        assert not lost, f"{len(lost)} of {len(case.before.here)} machines were lost: {lost}"
        here = [f"{name} in the Machine API" for name, tree in found.here.items() if owners(tree)]
        expected = {name: [] if name in of_cluster_api else ["Cluster"] for name in found.there}
        there = [f"{name} in Cluster API" for name, tree in found.there.items() if owners(tree) != expected[name]]
        unsynced = [name for name, tree in found.here.items() if condition(tree).get("status") != "True"]
        return here + there + unsynced

    return await eventually(case.now, lambda found: not belonging(found), what="machines without a set")


def words(value: Any) -> str:
    """How the name of a test says it: of a kind its API group."""
    return str(value.RESOURCE.group if hasattr(value, "RESOURCE") else value)
