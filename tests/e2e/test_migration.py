"""Authority over a Machine is moved to and fro, on real parts: its instance notices nothing, and everybody says so.

After each hop both sides say who stands still and which generation is mirrored; over all of it there was never a moment
with two authorities, and one instance.
"""

from collections.abc import Sequence
from itertools import pairwise

import pytest

from tests.waiting import eventually
from windlass.api import capi, mapi
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API, MIGRATING

from ..api.machine_sync.examples import Tree
from ..api.machine_sync.stage import condition
from .claims import is_paused
from .ground import INFRA_SPECS, OTHER, Actors, Ground, assert_one_instance
from .hand_overs import ON_A_PLATFORM, assert_one_authority_at_a_time, there_and_back
from .history import recorded

pytestmark = [pytest.mark.plane, pytest.mark.sampled]


def assert_right_after_each_hop(states: Sequence[Tree]) -> None:
    """What the Machine of the Machine API said in the very write that moved authority."""
    pairs = list(pairwise(states))
    hops = [(before, after) for before, after in pairs if authority_of(before) == MIGRATING != authority_of(after)]
    assert len(hops) == 2, [authority_of(state) for state in states]
    for before, after in hops:
        said = condition(after)
        assert (said["status"], said["severity"], said["reason"]) == ("Unknown", "Info", "AuthoritativeAPIChanged")
        assert said["message"] == "Waiting for resync after change of AuthoritativeAPI"
        assert after["status"].get("synchronizedGeneration", 0) == 0
        assert after["status"]["synchronizedAPI"] == authority_of(after) != before["status"]["synchronizedAPI"]
        assert is_paused(after), "the Machine API stands still until it has seen that it is in charge"
    entered = [after for before, after in pairs if authority_of(before) != MIGRATING == authority_of(after)]
    assert all(condition(state)["status"] == "True" for state in entered), "nothing is moved that is not in sync"


def authority_of(machine: Tree) -> str:
    return str((machine.get("status") or {}).get("authoritativeAPI", ""))


@ON_A_PLATFORM
async def test_from_the_machine_api_to_cluster_api_and_back_without_a_twin(ground: Ground, actors: Actors) -> None:
    name = ground.name("w-0")
    async with ground.syncing():
        async with recorded(ground.stage) as history:
            await ground.machine(name, MACHINE_API)
            await there_and_back(ground, name, MACHINE_API)
        assert_right_after_each_hop(history.of("mirror", name))
        assert_one_authority_at_a_time(history)
        assert_one_instance(await ground.instance(name), hands=[MACHINE_API, CLUSTER_API, MACHINE_API])

        await ground.stage.delete(mapi.Machine, name)
        await ground.gone(name)
    gone = await ground.instance(name)
    assert_one_instance(gone, hands=[MACHINE_API, CLUSTER_API, MACHINE_API], alive=False)
    assert gone.entries[-1].side == MACHINE_API


@ON_A_PLATFORM
async def test_from_cluster_api_to_the_machine_api_and_back_without_a_twin(ground: Ground, actors: Actors) -> None:
    name = ground.name("w-0")
    async with ground.syncing():
        async with recorded(ground.stage) as history:
            await ground.machine(name, CLUSTER_API)
            await there_and_back(ground, name, CLUSTER_API)
        assert_right_after_each_hop(history.of("mirror", name))
        assert_one_authority_at_a_time(history)
        assert_one_instance(await ground.instance(name), hands=[CLUSTER_API, MACHINE_API, CLUSTER_API])

        await ground.stage.delete(capi.Machine, name)
        await ground.gone(name)
    gone = await ground.instance(name)
    assert_one_instance(gone, hands=[CLUSTER_API, MACHINE_API, CLUSTER_API], alive=False)
    assert gone.entries[-1].side == CLUSTER_API


@ON_A_PLATFORM
async def test_from_cluster_api_to_the_machine_api_and_back_with_a_twin_that_runs(
    ground: Ground, actors: Actors
) -> None:
    name = ground.name("w-0")
    await ground.cluster_api_machine(name)
    await eventually(lambda: ground.stage.get(capi.Machine, name), runs, what="a Machine of Cluster API")
    uid = await uid_of(ground, name)
    async with ground.syncing():
        async with recorded(ground.stage) as history:
            await ground.machine(name, CLUSTER_API)
            await there_and_back(ground, name, CLUSTER_API)
        assert_right_after_each_hop(history.of("mirror", name))
        assert_one_authority_at_a_time(history)
        assert_one_instance(await ground.instance(name), hands=[CLUSTER_API, MACHINE_API, CLUSTER_API])
        assert await uid_of(ground, name) == uid, "the twin is the one that was there"

        await ground.stage.delete(mapi.Machine, name)
        await ground.gone(name)
    assert not (await ground.instance(name)).alive


@ON_A_PLATFORM
async def test_from_the_machine_api_to_cluster_api_and_back_with_a_paused_twin(ground: Ground, actors: Actors) -> None:
    name = ground.name("w-0")
    await ground.cluster_api_machine(name, paused=True)
    uid = await uid_of(ground, name)
    async with ground.syncing():
        async with recorded(ground.stage) as history:
            await ground.machine(name, MACHINE_API)
            await there_and_back(ground, name, MACHINE_API)
        assert_right_after_each_hop(history.of("mirror", name))
        assert_one_authority_at_a_time(history)
        assert_one_instance(await ground.instance(name), hands=[MACHINE_API, CLUSTER_API, MACHINE_API])
        assert await uid_of(ground, name) == uid, "the twin is the one that was there"

        await ground.stage.delete(capi.Machine, name)
        await ground.gone(name)
    assert not (await ground.instance(name)).alive


@pytest.mark.parametrize("platform", ["AWS"])
async def test_what_the_machine_api_cannot_say_costs_the_infra_machine_but_not_the_instance(
    ground: Ground, actors: Actors
) -> None:
    name = ground.name("w-0")
    addresses = {"publicIpv4Pool": "amazon", "publicIpv4PoolFallbackOrder": "amazon-pool"}
    await ground.cluster_api_machine(name, infra={**INFRA_SPECS["AWS"], "elasticIpPool": addresses})
    await eventually(lambda: ground.stage.get(capi.Machine, name), runs, what="a Machine of Cluster API")
    async with ground.syncing():
        await ground.machine(name, CLUSTER_API)
        before = await ground.settled(name, CLUSTER_API)
        await ground.hand_over(mapi.Machine, name, MACHINE_API)
        there = await ground.settled(name, MACHINE_API)
        told = await ground.stage.told(name, "RecreatingInfraMachine")
        assert there["infra"]["metadata"]["uid"] != before["infra"]["metadata"]["uid"]
        assert "elasticIpPool" in told["message"]
        await ground.hand_over(mapi.Machine, name, CLUSTER_API)
        await ground.settled(name, CLUSTER_API)
    assert_one_instance(await ground.instance(name), hands=[CLUSTER_API, MACHINE_API, CLUSTER_API])


# On OpenStack nobody has to say that Cluster API stands still but its core manager, which is not held up here.
@pytest.mark.parametrize(
    ("platform", "authority"), [("AWS", MACHINE_API), ("AWS", CLUSTER_API), ("OpenStack", MACHINE_API)]
)
async def test_a_move_that_is_taken_back_before_the_old_side_has_paused_changes_nothing(
    ground: Ground, actors: Actors, authority: str
) -> None:
    name = ground.name("w-0")
    async with ground.syncing():
        await ground.machine(name, authority)
        before = await ground.settled(name, authority)
        await actors.kill()
        await ground.hand_over(mapi.Machine, name, OTHER[authority])
        await ground.stage.mirror_that(name, lambda tree: authority_of(tree) == MIGRATING)
        await ground.hand_over(mapi.Machine, name, authority)
        await ground.stage.mirror_that(name, lambda tree: authority_of(tree) == authority)
        await actors.start()
        after = await ground.settled(name, authority)
    assert after["infra"]["metadata"]["uid"] == before["infra"]["metadata"]["uid"]
    instance = await ground.instance(name)
    assert set(instance.hands) == {authority}
    assert instance.alive
    assert not instance.seizures


def runs(machine: Tree | None) -> bool:
    return ((machine or {}).get("status") or {}).get("phase") == "Running"


async def uid_of(ground: Ground, name: str) -> str:
    found = await ground.stage.get(capi.Machine, name)
    assert found is not None
    return str(found["metadata"]["uid"])
