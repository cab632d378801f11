"""A second writer who touches every object while it is being synchronized: the two never quarrel, and it ends in sync.

What the second writer changes that is ours comes back; what is not ours stays; each of its writes costs a few of ours.
"""

import asyncio
from collections import Counter
from random import Random

import pytest

from windlass.api import capi, mapi
from windlass.kube.errors import ApiError
from windlass.kube.verbs import PatchType
from windlass.machine_sync.constants import SYNC_FINALIZER

from ...api.machine_sync.examples import Tree
from ...api.machine_sync.stage import Stage, finalizers, held_by_us

pytestmark = [pytest.mark.plane, pytest.mark.sampled]

NAMES = [f"w-{number}" for number in range(4)]
WRITES = ("create", "update", "patch", "delete")


class Vandal:
    """Writes to everything, without looking at what it destroys. Always the same for a seed."""

    def __init__(self, stage: Stage, *, seed: int) -> None:
        self.stage = stage
        self.writes = 0
        self._random = Random(seed)

    async def strike(self, name: str, number: int) -> None:
        kinds = (mapi.Machine, capi.Machine, self.stage.infra_kind)
        kind = self._random.choice(kinds)
        body, part = self._random.choice(self._deeds(number, kind is mapi.Machine))
        try:
            await self.stage.admin.patch(
                kind, name, body, type=PatchType.MERGE, namespace=self.stage.home(kind), subresource=part
            )
        except ApiError:
            return  # not there, or a rule of the server: the next one
        self.writes += 1

    @staticmethod
    def _deeds(number: int, mirror: bool) -> list[tuple[Tree, str]]:
        deeds: list[tuple[Tree, str]] = [
            ({"metadata": {"labels": {"vandal": str(number)}}}, ""),
            ({"metadata": {"annotations": {"vandal": str(number)}}}, ""),
            ({"metadata": {"finalizers": ["vandal.example.com/held"]}}, ""),
            ({"metadata": {"labels": None}}, ""),
        ]
        if mirror:
            paused = {"type": "Paused", "status": str(number % 2 == 0), "reason": "Vandal", "message": str(number)}
            lie = {"type": "Synchronized", "status": "False", "reason": "Vandal", "message": "it is not"}
            moment = {"lastTransitionTime": "2026-05-01T12:00:00Z"}
            deeds += [
                ({"status": {"conditions": [{**paused, **moment}]}}, "status"),
                ({"status": {"conditions": [{**lie, **moment}]}}, "status"),
                ({"status": {"phase": "Failed", "addresses": []}}, "status"),
                ({"spec": {"providerSpec": {"value": {"flavor": f"vandal-{number}"}}}}, ""),
                ({"metadata": {"ownerReferences": []}}, ""),
            ]
        return deeds


@pytest.mark.parametrize("seed", [1, 2])
async def test_a_second_writer_on_every_object_neither_wins_nor_starts_a_quarrel(stage: Stage, seed: int) -> None:
    vandal = Vandal(stage, seed=seed)
    async with stage.syncing():
        await asyncio.gather(*map(stage.machine, NAMES))
        for number in range(60):
            await asyncio.gather(*(vandal.strike(name, number) for name in NAMES))
        for name in NAMES:
            await stage.mirror_that(name, lambda tree: stage.example.provider_size(tree) == "m1.large")
            await stage.in_sync(name)
        await stage.all_seen()
        before = [await stage.everything(name) for name in NAMES]
        await stage.all_seen()
        assert [await stage.everything(name) for name in NAMES] == before, "at rest"
    assert all(held_by_us(tree) for machine in before for tree in machine.values())
    assert all(finalizers(tree).count(SYNC_FINALIZER) == 1 for machine in before for tree in machine.values())
    writes = Counter(
        event["verb"]
        for event in stage.plane.audit.events(user=stage.user)
        if event["verb"] in WRITES and event["objectRef"].get("name", "").startswith("w-")
    )
    # Of a write of the vandal three things of ours may follow: finalizers, content, status.
    assert writes.total() < 3 * vandal.writes + 10 * len(NAMES)
