"""A MachineSet is deleted with each propagation, on either side, under either authority: what was asked for happens.

Cluster API's manager and the garbage collector are real. What was asked for:

| authority | deleted | Background, Foreground | Orphan |
|---|---|---|---|
| MachineAPI | the set | everything goes | the sets go, all machines stay on both sides and belong to no set |
| MachineAPI | its mirror | the same | the same |
| ClusterAPI | the set | everything goes | everything goes: Cluster API deletes the machines of its set in any case |
| ClusterAPI | its mirror | the mirrors go; set and machines stay in Cluster API | set and machines stay on both sides |

Beside it stands a set that nobody deletes; nothing of it is touched.

One case is larger, and with `make explore` all are large. A collector that is wrong about one machine in hundreds shows
there: before the mirror of a set was deleted with Orphan, one of 250 machines was lost now and then. This is only that,
and says what was lost and what it took:

    WINDLASS_FLEET=250 .venv/bin/pytest --log-cli-level=INFO tests/e2e/test_set_deletion.py
"""

from contextlib import suppress
from typing import Any

import pytest

from tests.explore import usually
from tests.patience import FLEET
from tests.waiting import eventually
from windlass.api import capi, mapi
from windlass.kube.errors import NotFound
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API

from .ground import Actors, Ground, assert_one_instance
from .rest import at_rest
from .set_to_delete import Machines, collector_at_work, given_back, owners, set_to_delete, set_with_machines, words

pytestmark = [pytest.mark.plane, pytest.mark.sampled]

MANY = usually(40, exploring=250)
TEAM = "example.com/team"
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


@pytest.mark.parametrize(
    ("deleted", "count"),
    [(mapi.MachineSet, FLEET), (capi.MachineSet, FLEET), *([(mapi.MachineSet, MANY)] if FLEET < MANY else ())],
    ids=words,
)
async def test_orphan_under_the_machine_api_costs_no_machine(
    ground: Ground, actors: Actors, deleted: Any, count: int
) -> None:
    """Users do not wait meanwhile: they scale what is being deleted, label machines, and delete one."""
    async with ground.syncing(), set_to_delete(ground, MACHINE_API, count) as case:
        unwanted, *others = sorted(case.before.here)
        blue = {*others[:3]}
        await case.delete(deleted, "Orphan")
        with suppress(NotFound):
            await ground.scale(deleted, case.name, 0)
        for machine in blue:
            await ground.stage.patch(mapi.Machine, machine, {"metadata": {"labels": {TEAM: "blue"}}})
        await case.sets_gone()
        await case.forget(mapi.Machine if deleted is mapi.MachineSet else capi.Machine, unwanted)
        await given_back(case)
        await ground.gone(unwanted)
        await ground.all_settled(others, MACHINE_API)
        await collector_at_work(ground, "after")
        after = await eventually(lambda: given_back(case), lambda found: labelled(found) == blue, what="their labels")
        assert after.uids() == case.before.uids()
        await at_rest(ground)
    instances = await case.instances()
    assert len(instances) == count
    for one in instances:
        assert_one_instance(one, hands=[MACHINE_API], alive=one.machine != unwanted)


def labelled(found: Machines) -> set[str]:
    """The machines that have the label on both sides."""
    return {
        name
        for name, tree in found.here.items()
        if all(TEAM in each["metadata"]["labels"] for each in (tree, found.there[name]))
    }


@pytest.mark.parametrize(("authority", "deleted", "propagation"), EVERYTHING, ids=words)
async def test_everything_goes_with_the_set(
    ground: Ground, actors: Actors, authority: str, deleted: Any, propagation: str
) -> None:
    async with ground.syncing(), set_to_delete(ground, authority) as case:
        kind: Any = mapi.MachineSet if authority == MACHINE_API else capi.MachineSet
        async with ground.stage.watching(kind, case.name) as history:
            await case.delete(deleted, propagation)
            await ground.gone(*case.before.here)
            await case.sets_gone()
        assert await case.now() == Machines({}, {}), "machines that were not there before"
    chosen = {one for tree in history.trees for one in tree["metadata"].get("finalizers", ())} & {*CHOSEN.values()}
    assert chosen == ({CHOSEN[propagation]} if propagation in CHOSEN else set())
    instances = await case.instances()
    assert len(instances) == FLEET
    for one in instances:
        assert_one_instance(one, hands=[authority], alive=False)


@pytest.mark.parametrize("propagation", ["Background", "Foreground", "Orphan"])
async def test_deleting_the_mirror_of_a_set_of_cluster_api_costs_no_machine(
    ground: Ground, actors: Actors, propagation: str
) -> None:
    async with ground.syncing(), set_to_delete(ground, CLUSTER_API) as case:
        before = case.before
        await case.delete(mapi.MachineSet, propagation)
        await ground.stage.gone((mapi.MachineSet, case.name))
        if propagation != "Orphan":
            await eventually(case.now, lambda found: not found.here, what="no mirrors of its machines")
        await collector_at_work(ground, "after")
        after = await case.now()
        left = await ground.stage.get(capi.MachineSet, case.name)
    assert left is not None
    assert left["status"]["readyReplicas"] == FLEET
    assert after.uids() == (before.uids() if propagation == "Orphan" else {})
    uids = {machine: tree["metadata"]["uid"] for machine, tree in before.there.items()}
    assert {machine: tree["metadata"]["uid"] for machine, tree in after.there.items()} == uids
    assert {tuple(owners(tree)) for tree in after.there.values()} == {("MachineSet",)}
    instances = await case.instances()
    assert len(instances) == FLEET
    for one in instances:
        assert_one_instance(one, hands=[CLUSTER_API])


async def test_mirrors_that_the_collector_deletes_are_made_again(ground: Ground, actors: Actors) -> None:
    """The set that they belong to is gone by force, while nobody of ours looked."""
    async with ground.syncing():
        await collector_at_work(ground, "before")
        case = await set_with_machines(ground, ground.name("ms"), MACHINE_API, FLEET)
    await case.delete(capi.MachineSet, "Background")
    await ground.stage.patch(capi.MachineSet, case.name, {"metadata": {"finalizers": None}})
    await ground.stage.gone((capi.MachineSet, case.name))
    await eventually(case.now, lambda found: not found.there, what="all mirrors deleted by the collector")
    async with ground.syncing():
        await ground.set_settled(case.name, MACHINE_API, replicas=FLEET)
        await ground.all_settled([*case.before.here], MACHINE_API)
        after = await case.now()
    assert {machine: ours for machine, (ours, _) in after.uids().items()} == {
        machine: ours for machine, (ours, _) in case.before.uids().items()
    }
    for one in await case.instances():
        assert_one_instance(one, hands=[MACHINE_API])
