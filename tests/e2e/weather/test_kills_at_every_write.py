"""SIGKILL at every write of Machine sync: one story per family, all of which come to the undisturbed end.

At that end nothing is missing for the side that is in charge (`ground.shortcoming`): nothing is paused there, our
finalizer is on each object once, and there is one infra machine and one instance for each machine.
"""

from collections.abc import Mapping
from functools import partial

import pytest

from tests.waiting import eventually
from windlass.api import capi, mapi
from windlass.api.meta import KubernetesObject
from windlass.kube.conditions import find
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API

from ...api.machine_sync.examples import Tree
from ..ground import OTHER, PROVIDER_SPECS, Actors, Ground, assert_one_instance
from .stories import Story, Told, killed_at_every_write, nothing

pytestmark = [pytest.mark.plane, pytest.mark.sampled]

TEAM = "example.com/team"


def bigger(ground: Ground) -> Tree:
    """A provider spec that makes another instance, and so another infra machine or template."""
    example = ground.stage.example
    return {"providerSpec": {"value": {**PROVIDER_SPECS[example.name], example.size: "huge"}}}


async def test_mirrors_of_machines_are_made_and_infra_machines_recreated(ground: Ground, actors: Actors) -> None:
    made = Story(
        title="made",
        lives=6,
        before=nothing,
        happens=lambda name: ground.machine(name, MACHINE_API),
        end=lambda name: ground.settled(name, MACHINE_API),
    )
    resized = Story(
        title="resized",
        lives=6,
        before=lambda name: machine(ground, name, MACHINE_API),
        happens=lambda name: ground.stage.patch(mapi.Machine, name, {"spec": bigger(ground)}),
        end=lambda name: ground.settled(name, MACHINE_API),
    )
    told = await killed_at_every_write(ground, made, resized)
    assert "delete openstackmachines of infrastructure.cluster.x-k8s.io" in told[1].writes
    await assert_one_instance_each(ground, told, hands=[[MACHINE_API], [MACHINE_API]])


async def test_machines_and_sets_of_the_machine_api_are_deleted(ground: Ground, actors: Actors) -> None:
    async def machine_is_gone(name: str) -> dict[str, Tree]:
        await ground.gone(name)
        return {}

    async def set_is_gone(name: str) -> dict[str, Tree]:
        await ground.stage.gone((mapi.MachineSet, name), (capi.MachineSet, name))
        for kind in (mapi.Machine, capi.Machine, ground.stage.infra_kind, ground.stage.example.platform.infra_template):
            left = partial(objects, ground, kind, of=name)
            await eventually(left, lambda found: not found, what=f"nothing left of {name}")
        return {}

    deleted = Story(
        title="deleted",
        lives=6,
        before=lambda name: machine(ground, name, MACHINE_API),
        happens=lambda name: ground.stage.delete(mapi.Machine, name),
        end=machine_is_gone,
    )
    set_deleted = Story(
        title="set-deleted",
        lives=5,
        before=lambda name: machine_set(ground, name, MACHINE_API, replicas=1),
        happens=lambda name: ground.stage.delete(mapi.MachineSet, name),
        end=set_is_gone,
    )
    await killed_at_every_write(ground, deleted, set_deleted)
    assert [str(one) for one in await ground.instances() if one.alive or one.seizures] == []


async def test_templates_are_swapped_in_both_directions(ground: Ground, actors: Actors) -> None:
    async def swap(name: str) -> None:
        await ground.stage.patch(mapi.MachineSet, name, {"spec": {"template": {"spec": bigger(ground)}}})

    async def swap_in_cluster_api(name: str) -> None:
        stage, kind = ground.stage, ground.stage.example.platform.infra_template
        spec = {**stage.example.infra_spec, stage.example.size: "huge"}
        await stage.make(kind, f"{name}-huge", {"template": {"spec": spec}})
        reference = {"spec": {"infrastructureRef": {"name": f"{name}-huge"}}}
        await stage.patch(capi.MachineSet, name, {"spec": {"template": reference}})

    here = Story(
        title="here",
        lives=6,
        before=lambda name: machine_set(ground, name, MACHINE_API, replicas=1),
        happens=swap,
        end=lambda name: set_and_template(ground, name, MACHINE_API, replicas=1),
    )
    there = Story(
        title="there",
        lives=3,
        before=lambda name: machine_set(ground, name, CLUSTER_API, replicas=0),
        happens=swap_in_cluster_api,
        end=lambda name: ground.set_settled(name, CLUSTER_API, replicas=0),
    )
    told = await killed_at_every_write(ground, here, there)
    assert "delete openstackmachinetemplates of infrastructure.cluster.x-k8s.io" in told[0].writes
    for name in told[1].names:
        mirror = await ground.stage.get(mapi.MachineSet, name)
        assert mirror is not None
        assert ground.stage.example.provider_size(mirror["spec"]["template"]) == "huge"
    await assert_one_machine_each(ground, told[0])


@pytest.mark.parametrize("platform", ["AWS"])
async def test_authority_over_machines_moves_both_ways(ground: Ground, actors: Actors) -> None:
    told = await killed_at_every_write(ground, *(moved(ground, authority) for authority in (MACHINE_API, CLUSTER_API)))
    await assert_one_instance_each(ground, told, hands=[[MACHINE_API, CLUSTER_API], [CLUSTER_API, MACHINE_API]])


@pytest.mark.parametrize("platform", ["AWS"])
async def test_users_take_a_move_back_or_delete_the_machine_while_nobody_leads(ground: Ground, actors: Actors) -> None:
    async def gone(name: str) -> dict[str, Tree]:
        await ground.gone(name)
        return {}

    back = [taken_back(ground, authority) for authority in (MACHINE_API, CLUSTER_API)]
    deleted = Story(
        title="deleted",
        lives=8,
        before=lambda name: machine(ground, name, MACHINE_API),
        happens=lambda name: ground.hand_over(mapi.Machine, name, CLUSTER_API),
        over=lambda name: ground.settled(name, CLUSTER_API),
        meanwhile=lambda name: ground.stage.delete(mapi.Machine, name),
        end=gone,
    )
    told = await killed_at_every_write(ground, *back, deleted)
    for one, authority in zip(told[:2], (MACHINE_API, CLUSTER_API), strict=True):
        for name in one.names:
            instance = await ground.instance(name)
            assert (instance.alive, instance.holder, instance.seizures) == (True, authority, ())
    for name in told[2].names:
        instance = await ground.instance(name)
        assert (instance.alive, instance.seizures) == (False, ())


def taken_back(ground: Ground, authority: str) -> Story:
    """It moves, and before the successor comes it is to stay where it was, with a label more."""

    async def change_of_mind(name: str) -> None:
        owner: type[KubernetesObject] = mapi.Machine if authority == MACHINE_API else capi.Machine
        await ground.stage.patch(owner, name, {"metadata": {"labels": {TEAM: "blue"}}})
        await ground.hand_over(mapi.Machine, name, authority)

    async def stays_with_the_label(name: str) -> Mapping[str, Tree]:
        await eventually(lambda: ground.stage.everything(name), labelled, what=f"label {TEAM} on {name}")
        return await ground.settled(name, authority)

    return Story(
        title=f"back-to-{authority.lower()}",
        lives=8,
        before=lambda name: machine(ground, name, authority),
        happens=lambda name: ground.hand_over(mapi.Machine, name, OTHER[authority]),
        over=lambda name: ground.settled(name, OTHER[authority]),
        meanwhile=change_of_mind,
        end=stays_with_the_label,
    )


def labelled(sides: Mapping[str, Tree | None]) -> bool:
    """On both sides. What infra machines are labelled with is a matter of their own."""
    machines = [sides[side] for side in ("mirror", "source")]
    return all(tree is not None and tree["metadata"]["labels"].get(TEAM) == "blue" for tree in machines)


def moved(ground: Ground, authority: str) -> Story:
    return Story(
        title=f"from-{authority.lower()}",
        lives=8,
        before=lambda name: machine(ground, name, authority),
        happens=lambda name: ground.hand_over(mapi.Machine, name, OTHER[authority]),
        end=lambda name: ground.settled(name, OTHER[authority]),
    )


async def test_authority_over_sets_moves_both_ways(ground: Ground, actors: Actors) -> None:
    await killed_at_every_write(ground, *(set_moved(ground, authority) for authority in (MACHINE_API, CLUSTER_API)))


def set_moved(ground: Ground, authority: str) -> Story:
    return Story(
        title=f"from-{authority.lower()}",
        lives=8,
        before=lambda name: machine_set(ground, name, authority, replicas=0),
        happens=lambda name: ground.hand_over(mapi.MachineSet, name, OTHER[authority]),
        end=lambda name: set_and_template(ground, name, OTHER[authority], replicas=0),
    )


async def machine(ground: Ground, name: str, authority: str) -> None:
    """A Machine that runs under `authority` and is in sync."""
    await ground.machine(name, authority)
    await ground.settled(name, authority)


async def machine_set(ground: Ground, name: str, authority: str, *, replicas: int) -> None:
    """A MachineSet under `authority` that is in sync, with machines that run, and that its controllers have seen."""
    await ground.machine_set(name, authority, replicas=replicas)
    if authority == CLUSTER_API:
        source = partial(ground.stage.get, capi.MachineSet, name)
        await eventually(source, has_been_seen, what=f"{name} seen by Cluster API core")
    await ground.set_settled(name, authority, replicas=replicas)


def has_been_seen(source: Tree | None) -> bool:
    """Cluster API core has gone through the MachineSet once, whose selector it completes."""
    if source is None or "cluster.x-k8s.io/cluster-name" not in source["spec"]["selector"]["matchLabels"]:
        return False
    return find((source.get("status") or {}).get("conditions") or [], "Remediating") is not None


async def set_and_template(ground: Ground, name: str, authority: str, *, replicas: int) -> dict[str, Tree]:
    """Both sets once settled under `authority`, and the one template that is left."""
    kind = ground.stage.example.platform.infra_template
    sides = await ground.set_settled(name, authority, replicas=replicas)
    used = sides["source"]["spec"]["template"]["spec"]["infrastructureRef"]["name"]
    await eventually(
        partial(objects, ground, kind, of=name), lambda found: found == [used], what=f"{used} as the one template"
    )
    template = await ground.stage.get(kind, used)
    assert template is not None
    return {**sides, "template": template}


async def objects(ground: Ground, kind: type[KubernetesObject], *, of: str = "") -> list[str]:
    """The names of all there are of a kind, also of those that are being deleted; or those of one set."""
    listed = await ground.stage.admin.list(kind, namespace=ground.stage.home(kind))
    return sorted(item.name for item in listed.items if not of or item.name.rpartition("-")[0] == of)


async def assert_one_instance_each(ground: Ground, told: list[Told], *, hands: list[list[str]]) -> None:
    """No machine has a second infra machine, nor a second instance, which went through these hands in each story."""
    assert await objects(ground, ground.stage.infra_kind) == sorted(name for one in told for name in one.names)
    for one, through in zip(told, hands, strict=True):
        for name in one.names:
            assert_one_instance(await ground.instance(name), hands=through)


async def assert_one_machine_each(ground: Ground, told: Told) -> None:
    """No set has a second machine, nor its machine a second instance; other sets have none."""
    names = sorted(told.names)
    for kind in (mapi.Machine, capi.Machine, ground.stage.infra_kind):
        assert [name.rpartition("-")[0] for name in await objects(ground, kind)] == names
    instances = await ground.instances()
    assert len(instances) == len(names)
    assert [str(one) for one in instances if one.seizures or not one.alive] == []
