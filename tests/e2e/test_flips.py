"""A MachineSet and its machines change hands ten times while users go on working: nothing is lost, and all rests.

Users act and hand over in one breath, so what they ask for is under way when authority moves. Only then is it waited
for: that as many machines run as were asked for, all under the authority that was asked for.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import pytest
from msgspec import Struct

from windlass.api import capi, mapi
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API, PAUSED_ANNOTATION

from ..api.machine_sync.examples import Tree
from ..api.machine_sync.replicas import replica
from ..program import ALONE
from .ground import OTHER, Actors, Ground
from .hand_overs import machines_of, made_set
from .history import recorded
from .rest import at_rest

pytestmark = [pytest.mark.plane, pytest.mark.sampled]

TEAM = "example.com/team"
BLUE: Tree = {"labels": {TEAM: "blue"}}
TAINT = {"key": "gpu", "value": "a", "effect": "NoSchedule"}
KINDS: Mapping[str, tuple[Any, Any]] = {
    MACHINE_API: (mapi.Machine, mapi.MachineSet),
    CLUSTER_API: (capi.Machine, capi.MachineSet),
}


class User(Struct):
    """Works on the side that is in charge. `wanted`: as many machines; `kept`: those that nobody deleted."""

    ground: Ground
    name: str
    wanted: int
    kept: set[str]

    async def scales(self, side: str, *, by: int) -> None:
        self.wanted += by
        await self.ground.scale(KINDS[side][1], self.name, self.wanted)

    async def labels(self, side: str) -> None:
        for machine in self.kept:
            await self.ground.stage.patch(KINDS[side][0], machine, {"metadata": BLUE})

    async def taints(self, side: str) -> None:
        taint = TAINT if side == MACHINE_API else {**TAINT, "propagation": "Always"}
        await self.ground.stage.patch(KINDS[side][0], min(self.kept), {"spec": {"taints": [taint]}})

    async def deletes(self, side: str) -> None:
        machine = max(self.kept)
        self.kept.remove(machine)
        await self.ground.stage.delete(KINDS[side][0], machine)

    async def pauses(self, _: str) -> None:
        body = {"metadata": {"annotations": {PAUSED_ANNOTATION: "a user"}}}
        await self.ground.stage.patch(capi.Machine, min(self.kept), body)

    async def hands_over(self, to: str) -> None:
        await self.ground.hand_over(mapi.MachineSet, self.name, to)
        for machine in await self.ground.machines(prefix=f"{self.name}-"):
            await self.ground.hand_over(mapi.Machine, machine, to)


Act = Callable[[User, str], Awaitable[None]]

UP: Act = partial(User.scales, by=1)
DOWN: Act = partial(User.scales, by=-1)
ACTS: list[Act] = [
    *(User.labels, UP, User.deletes, User.pauses, User.taints),
    *(DOWN, User.deletes, UP, DOWN, User.labels),
]
"""One before each hand-over."""


async def test_ten_hand_overs_between_actions_of_users_lose_nothing(ground: Ground, actors: Actors) -> None:
    name, side = ground.name("ms"), MACHINE_API
    async with (
        replica(ground.stage, ground.folder, *ALONE, "--machine-taint-propagation"),
        recorded(ground.stage) as history,
    ):
        user = User(ground, name, 3, await made_set(ground, name, side, replicas=3))
        for act in ACTS:
            await act(user, side)
            side = OTHER[side]
            await user.hands_over(side)
            await ground.set_settled(name, side, replicas=user.wanted)
            there = await machines_of(ground, name, user.wanted)
            # A machine that was made under way has the authority that its set had then.
            for machine in there:
                await ground.hand_over(mapi.Machine, machine, side)
            await ground.all_settled([*there], side)
            lost = user.kept - there
            assert len(lost) <= (1 if act is DOWN else 0), lost
            user.kept = there
        await at_rest(ground)
        assert history.two_authorities() == []
    instances = await ground.instances()
    assert {one.machine for one in instances if one.alive} == user.kept
    assert not [str(one) for one in instances if one.seizures]
    for machine in user.kept:
        sides = await ground.stage.everything(machine)
        for tree in (sides["mirror"], sides["source"]):
            assert tree is not None
            assert tree["metadata"]["labels"][TEAM] == "blue"
