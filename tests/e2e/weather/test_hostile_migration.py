"""A fleet of machines changes hands and changes back while everything goes wrong that may: no instance notices.

The API server is killed, whoever leads is killed, and a second writer spoils labels, annotations and status of every
object all the time. What he does not do is what no controller could bear: forge that somebody stands still.
"""

import asyncio
from contextlib import AsyncExitStack
from functools import partial
from random import Random
from typing import Any

import pytest

from tests.explore import in_turn, seeds, usually
from tests.waiting import eventually, patiently
from windlass.api import capi, core, mapi
from windlass.kube.errors import ApiError, KubeError
from windlass.kube.verbs import PatchType
from windlass.machine_sync.constants import (
    AUTHORITY_ANNOTATION,
    CLUSTER_API,
    MACHINE_API,
    MIRRORED_ANNOTATIONS_ANNOTATION,
    MIRRORED_LABELS_ANNOTATION,
)
from windlass.testing import ControlPlane
from windlass.testing.machines.simulators.instances import Instance

from ...api.machine_sync.examples import Tree
from ...api.machine_sync.replicas import replica
from ..ground import Ground
from ..history import recorded
from .leading import HASTY, leader

pytestmark = [pytest.mark.plane, pytest.mark.sampled]

MOMENT = "2026-05-01T12:00:00Z"


class Spoiler:
    """Writes to every machine, on both sides, and to its infra machine. Always the same for a seed."""

    def __init__(self, ground: Ground, names: list[str], *, seed: int) -> None:
        self.strikes = 0
        self._stage = ground.stage
        self._names = names
        self._random = Random(seed)

    async def spoil(self) -> None:
        """Go on until cancelled, twenty times a second: what comes back must have a chance to."""
        while True:
            for name in self._random.sample(self._names, k=len(self._names)):
                await self._strike(name)
                await asyncio.sleep(0.05)

    async def _strike(self, name: str) -> None:
        stage = self._stage
        kind: Any = self._random.choice((mapi.Machine, capi.Machine, stage.infra_kind))
        body, part = self._random.choice(self._deeds(kind))
        try:
            await stage.admin.patch(
                kind, name, body, type=PatchType.MERGE, namespace=stage.home(kind), subresource=part
            )
        except ApiError:
            return  # a rule of the server, or it is starting: the next one
        except KubeError:
            await asyncio.sleep(0.1)
            return
        self.strikes += 1

    def _deeds(self, kind: Any) -> list[tuple[Tree, str]]:
        number = str(self.strikes)
        deeds: list[tuple[Tree, str]] = [
            ({"metadata": {"labels": {"spoiler": number}}}, ""),
            ({"metadata": {"labels": None}}, ""),
            ({"metadata": {"annotations": {"example.com/spoiler": number}}}, ""),
        ]
        if kind is mapi.Machine:
            lie = {"type": "Synchronized", "status": "False", "reason": "Spoiled", "lastTransitionTime": MOMENT}
            boast = {"type": "Paused", "status": "False", "reason": "Spoiled", "lastTransitionTime": MOMENT}
            return [
                *deeds,
                ({"status": {"conditions": [lie]}}, "status"),
                ({"status": {"conditions": [boast]}}, "status"),
                ({"status": {"phase": "Failed", "addresses": []}}, "status"),
            ]
        forgotten = {MIRRORED_LABELS_ANNOTATION: None, MIRRORED_ANNOTATIONS_ANNOTATION: None}
        return [
            *deeds,
            ({"metadata": {"annotations": forgotten}}, ""),
            ({"metadata": {"annotations": {AUTHORITY_ANNOTATION: number}}}, ""),
            ({"status": {"conditions": [], "addresses": []}}, "status"),
            ({"status": {"phase": "Failed"}} if kind is capi.Machine else {"status": {"ready": False}}, "status"),
        ]


async def moved(ground: Ground, names: list[str], to: str, *, least: int) -> None:
    """Return when at least so many are under the authority of `to`."""

    async def look() -> int:
        try:
            machines = await ground.machines()
        except KubeError:
            return 0
        return sum((machines[name].get("status") or {}).get("authoritativeAPI") == to for name in names)

    await eventually(look, lambda count: count >= least, what=f"{least} machines under {to}")


@pytest.mark.parametrize("seed", seeds(7))
@pytest.mark.parametrize(
    ("platform", "count"), in_turn(("AWS", usually(12, exploring=50)), ("OpenStack", usually(8, exploring=20)))
)
async def test_a_fleet_changes_hands_and_back_in_the_worst_of_weather(
    migration_plane: ControlPlane, ground: Ground, count: int, seed: int
) -> None:
    names = [ground.name(f"w-{number}") for number in range(count)]
    spoiler = Spoiler(ground, names, seed=seed)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(ground.simulated())
        await ground.cluster()
        first = await stack.enter_async_context(replica(ground.stage, ground.folder, *HASTY))
        leads = await leader(ground.stage)
        second = await stack.enter_async_context(replica(ground.stage, ground.folder, *HASTY))
        history = await stack.enter_async_context(recorded(ground.stage))
        await asyncio.gather(*(ground.machine(name, MACHINE_API) for name in names))
        before = await ground.all_settled(names, MACHINE_API)
        nodes = await uids(ground, core.Node)

        spoiling = asyncio.create_task(spoiler.spoil())
        for target, leading in ((CLUSTER_API, first), (MACHINE_API, second)):
            for name in names[: count // 2]:
                await ground.hand_over(mapi.Machine, name, target)
            await moved(ground, names, target, least=3)
            await migration_plane.kill_apiserver()
            await migration_plane.restart_apiserver()
            for name in names[count // 2 :]:
                await patiently(partial(ground.hand_over, mapi.Machine, name, target))
            await moved(ground, names, target, least=count // 2)
            await leading.kill()
            leads = await leader(ground.stage, other_than=leads)
            if leading is first:
                # Its successor is to have one as well, now that nobody else can be the successor.
                await stack.enter_async_context(replica(ground.stage, ground.folder, *HASTY))
            await moved(ground, names, target, least=count)
            await ground.held(names, target)
        spoiling.cancel()
        await asyncio.wait([spoiling])
        assert spoiler.strikes > count

        after = await ground.all_settled(names, MACHINE_API)
    assert history.two_authorities() == []
    for name in names:
        assert_kept(await ground.instance(name))
        for side, tree in after[name].items():
            assert tree["metadata"]["uid"] == before[name][side]["metadata"]["uid"], f"{side} {name} was recreated"
    assert await uids(ground, core.Node) == nodes
    written = ground.stage.plane.audit.events(user=ground.stage.user)
    assert [event["objectRef"] for event in written if event["verb"] == "delete"] == []


def assert_kept(instance: Instance) -> None:
    """It is, it has been with both, never with two at once, and is back.

    How often it went to and fro is the spoiler's affair: a move that he made impossible goes back and begins again.
    """
    history = "\n".join(map(str, instance.entries))
    assert instance.alive, history
    assert not instance.seizures, history
    assert CLUSTER_API in instance.hands, history
    assert (instance.hands[0], instance.hands[-1], instance.holder) == (MACHINE_API,) * 3, history


async def uids(ground: Ground, kind: Any) -> dict[str, str]:
    listed = await ground.stage.admin.list(kind)
    return {item.name: item.uid for item in listed.items if item.name.startswith(ground.prefix)}
