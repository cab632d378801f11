"""Cluster API is the authority of a MachineSet and the Machine API of one of its machines, with the real core manager.

Its MachineSet controller writes each change of the template to all machines of the set, paused or not. None of it is
fought over: a few writes for each change, then silence.

    WINDLASS_QUIET=60 .venv/bin/pytest --log-cli-level=INFO tests/e2e/test_mixed_sets.py

waits for a minute of silence after each change, and says how many writes there were before it.
"""

import logging
from collections.abc import Mapping
from typing import Any

import pytest

from tests.explore import in_turn
from tests.patience import QUIET
from tests.waiting import eventually
from windlass.api import capi, mapi
from windlass.api.meta import KubernetesObject
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API

from ..api.machine_sync.examples import Tree
from ..api.machine_sync.stage import CLUSTER
from .ground import Actors, Ground, assert_one_instance
from .history import History, recorded
from .rest import unchanged

pytestmark = [pytest.mark.plane, pytest.mark.sampled]

TIER = "example.com/tier"
MOST_WRITES = 6
"""To the three objects of a machine, for one change of its set."""

log = logging.getLogger(__name__)

ADMITTED_BY_POLICIES: Mapping[str, Tree] = {
    "a label that the machine has, too": {"metadata": {"labels": {TIER: "gold"}}},
    "an annotation that the machine has, too": {"metadata": {"annotations": {TIER: "gold"}}},
    "minReadySeconds": {"spec": {"minReadySeconds": 7}},
    "another time-out of deletion": {"spec": {"deletion": {"nodeDeletionTimeoutSeconds": 20}}},
    "another Secret to boot from": {"spec": {"bootstrap": {"dataSecretName": "other"}}},
    "none of these labels and annotations": {"metadata": {"labels": {TIER: None}, "annotations": {TIER: None}}},
}
"""By what they are: changes of the template of a MachineSet of Cluster API."""
CHANGES: Mapping[str, Tree] = {
    **ADMITTED_BY_POLICIES,
    "time-outs of draining": {
        "spec": {"deletion": {"nodeDrainTimeoutSeconds": 30, "nodeVolumeDetachTimeoutSeconds": 40}}
    },
    "readiness gates": {"spec": {"readinessGates": [{"conditionType": "Checked"}]}},
    "taints": {"spec": {"taints": [{"key": "k", "effect": "NoSchedule", "propagation": "Always"}]}},
}


async def mixed(ground: Ground) -> tuple[str, str]:
    """The names of such a set and of its one machine, which has a label and an annotation that are its own."""
    name = ground.name("ms")
    await ground.machine_set(name, MACHINE_API, replicas=1)
    await ground.set_settled(name, MACHINE_API, replicas=1)
    (machine,) = await ground.machines(prefix=f"{name}-")
    await ground.stage.patch(
        mapi.Machine, machine, {"metadata": {"labels": {TIER: "basic"}, "annotations": {TIER: "basic"}}}
    )
    await ground.hand_over(mapi.MachineSet, name, CLUSTER_API)
    await ground.set_settled(name, CLUSTER_API, replicas=1)
    await ground.settled(machine, MACHINE_API)
    return name, machine


async def assert_not_fought_over(ground: Ground, changes: Mapping[str, Tree], history: History) -> None:
    name, machine = await mixed(ground)
    await act_in_one_breath(ground, name, machine)
    await quiet(history, machine, name)
    for what, change in changes.items():
        before, before_of_set = len(states(history, machine)), len(states(history, name))
        await ground.stage.patch(capi.MachineSet, name, {"spec": {"template": change}})
        await eventually(
            lambda: ground.stage.get(capi.Machine, machine),
            lambda found, change=change: found is not None and has(found, change),  # type: ignore[misc]
            what=f"{what} on {machine}",
        )
        await quiet(history, machine, name)
        made, of_set = states(history, machine)[before:], states(history, name)[before_of_set:]
        log.info(
            "%s: %d writes to the machine, %d to its set, then %g s with none", what, len(made), len(of_set), QUIET
        )
        assert len(made) <= MOST_WRITES, f"{what}: {made}"
        found = await ground.stage.get(capi.Machine, machine)
        assert found is not None
        assert has(found, change), f"{what} was taken away again"
    await ground.settled(machine, MACHINE_API)


async def act_in_one_breath(ground: Ground, name: str, machine: str) -> None:
    """Users scale the set up and down and change its template and the machine, which stays."""
    stage, kind = ground.stage, capi.MachineSet
    await ground.scale(kind, name, 2)
    await stage.patch(kind, name, {"spec": {"template": {"metadata": {"labels": {TIER: "iron"}}}}})
    await stage.patch(mapi.Machine, machine, {"metadata": {"labels": {"example.com/more": ""}}})
    await ground.set_settled(name, CLUSTER_API, replicas=2)
    (new,) = {*await ground.machines(capi.Machine, prefix=f"{name}-")} - {machine}
    await ground.mark_for_deletion(new)
    await ground.scale(kind, name, 1)
    await ground.gone(new)
    await ground.set_settled(name, CLUSTER_API, replicas=1)
    assert [*await ground.machines(prefix=f"{name}-")] == [machine]


def states(history: History, *names: str) -> list[tuple[str, int]]:
    """What was written to the objects of these names."""
    return [(state.side, state.version) for state in history.ordered if state.name in names]


def has(machine: Tree, change: Tree) -> bool:
    """Whether a Machine has what a template says. What a template drops, it gets from the Machine API again."""
    if None in (change.get("metadata") or {}).get("labels", {}).values():
        meta = machine["metadata"]
        return bool(meta["labels"].get(TIER) == "basic" == meta["annotations"].get(TIER))
    return all(_within(machine[part], fields) for part, fields in change.items())


def _within(found: Any, wanted: Any) -> bool:
    if not isinstance(wanted, dict):
        return bool(found == wanted)
    return isinstance(found, dict) and all(_within(found.get(key), value) for key, value in wanted.items())


async def quiet(history: History, *names: str) -> None:
    """Wait until nothing is written to the objects of these names."""
    await unchanged(lambda: len(states(history, *names)), what=f"silence about {names}")


@pytest.mark.parametrize("platform", in_turn("AWS", "GCP", "OpenStack"))
async def test_what_the_set_writes_to_a_mirror_is_left_to_it(ground: Ground, actors: Actors) -> None:
    async with ground.syncing(), recorded(ground.stage) as history:
        await assert_not_fought_over(ground, CHANGES, history)
    assert history.two_authorities() == []


async def test_with_policies_in_force_it_is_the_same(policed: Ground) -> None:
    async with policed.syncing(), recorded(policed.stage) as history:
        await assert_not_fought_over(policed, ADMITTED_BY_POLICIES, history)
    assert history.two_authorities() == []


async def test_a_machine_that_no_set_owns_is_not_adopted_and_no_machine_is_one_too_many(
    ground: Ground, actors: Actors
) -> None:
    name, alone = ground.name("ms"), ground.name("alone")
    kind: type[KubernetesObject] = capi.MachineSet
    async with ground.syncing():
        await ground.machine_set(name, CLUSTER_API, replicas=1)
        await ground.set_settled(name, CLUSTER_API, replicas=1)
        await ground.machine(alone, MACHINE_API, machine_set=name)
        found = await ground.settled(alone, MACHINE_API)
        # The set has looked at all machines that its selector matches when it has scaled.
        await ground.scale(kind, name, 2)
        await ground.set_settled(name, CLUSTER_API, replicas=2)
        await ground.scale(kind, name, 1)
        await ground.set_settled(name, CLUSTER_API, replicas=1)
        assert len(await ground.machines(prefix=f"{name}-")) == 1
        again = await ground.settled(alone, MACHINE_API)
    owners = again["source"]["metadata"]["ownerReferences"]
    assert [(owner["kind"], owner["name"], owner["controller"]) for owner in owners] == [("Cluster", CLUSTER, True)]
    assert again["source"]["metadata"]["uid"] == found["source"]["metadata"]["uid"]
    assert_one_instance(await ground.instance(alone), hands=[MACHINE_API])
