"""Bad days of the API server while machines are being mirrored: killed, amnesic, unreachable, overloaded."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from tests.waiting import eventually, patiently
from windlass.api import capi, mapi
from windlass.api.core import Event
from windlass.kube.errors import NotFound
from windlass.testing import ControlPlane
from windlass.testing.blackhole import BlackHole

from ...api.machine_sync.stage import SET, Stage, condition, held_by_us
from .front import Front

pytestmark = [pytest.mark.plane, pytest.mark.sampled]

INACTIVITY = 3.0


async def machines(stage: Stage, count: int, *, prefix: str = "w") -> list[str]:
    names = [f"{prefix}-{number}" for number in range(count)]
    await asyncio.gather(*map(stage.machine, names))
    return names


async def all_in_sync(stage: Stage, names: list[str], *, size: str = "m1.large") -> None:
    """Every one of `names`, and nothing else, is mirrored as it is now."""

    async def look() -> dict[str, str]:
        listed = await stage.admin.list(mapi.Machine, namespace=stage.namespaces.machine_api)
        return {item.name: _said(item.tree()) for item in listed.items}

    wanted = dict.fromkeys(names, f"True {size} ClusterAPI")
    await eventually(look, lambda found: found == wanted, what="everything in sync")


def _said(mirror: dict[str, Any]) -> str:
    size = mirror["spec"]["providerSpec"]["value"]["flavor"]
    status = mirror.get("status") or {}
    return f"{condition(mirror).get('status')} {size} {status.get('authoritativeAPI')}"


async def test_an_api_server_killed_in_the_middle_loses_nothing_and_invents_nothing(
    weather_plane: ControlPlane, stage: Stage
) -> None:
    names = await machines(stage, 22)
    broken = [f"b-{number}" for number in range(3)]
    for name in broken:
        await stage.machine(name, spec={"version": "v1.30.0"})
    async with stage.watching(mapi.Machine) as seen, stage.syncing():
        await eventually(seen.latest, bool, what="a first mirror")
        await weather_plane.kill_apiserver()
        await weather_plane.restart_apiserver()
        await patiently(lambda: stage.resize(names[0], "huge"))
        for name in names[1:]:
            await stage.resize(name, "huge")
        await all_in_sync(stage, names, size="huge")
        for name in broken:
            await stage.told(name, "SynchronizationWarning")
        listed = await stage.admin.list(Event, namespace=stage.namespaces.cluster_api)
        events = [event.decode() for event in listed.items]
        # A server that has just started refuses everything until it has read who may do what; that is told as it is.
        told = Counter(event.involved_object.name for event in events if "forbidden" not in event.message)
        assert told == Counter(broken), "each is told of once"
    uids = {tree["metadata"]["name"]: set[str]() for tree in seen.trees}
    for tree in seen.trees:
        uids[tree["metadata"]["name"]].add(tree["metadata"]["uid"])
    assert all(len(each) == 1 for each in uids.values()), "no mirror was made twice"
    assert seen.gone == []


async def test_history_that_is_lost_leads_to_a_list_and_not_to_a_stale_mirror(
    weather_plane: ControlPlane, stage: Stage
) -> None:
    names = await machines(stage, 6)
    async with BlackHole.before(weather_plane.url) as network, stage.syncing(server=network.url):
        await all_in_sync(stage, names)
        network.refuse()
        network.cut()
        for name in names:
            await stage.resize(name, "huge")
        gone = names.pop()
        for kind in (mapi.Machine, stage.infra_kind, capi.Machine):
            await stage.patch(kind, gone, {"metadata": {"finalizers": None}})
            await stage.delete(kind, gone)
        names += await machines(stage, 2, prefix="late")
        for name in names[-2:]:
            await stage.resize(name, "huge")
        await weather_plane.forget_history()
        network.heal()
        await patiently(lambda: stage.get(mapi.Machine, gone))
        await all_in_sync(stage, names, size="huge")


async def test_a_watch_that_dies_in_silence_delays_but_loses_nothing(weather_plane: ControlPlane, stage: Stage) -> None:
    names = await machines(stage, 4)
    async with (
        BlackHole.before(weather_plane.url) as network,
        stage.syncing(server=network.url, inactivity=INACTIVITY),
    ):
        await all_in_sync(stage, names)
        # All that is open is dead from here on, and nobody is told; what is opened anew works.
        network.swallow()
        network.heal()
        loop = asyncio.get_running_loop()
        began = loop.time()
        for name in names:
            await stage.resize(name, "huge")
        names += await machines(stage, 1, prefix="late")
        await stage.resize(names[-1], "huge")
        await all_in_sync(stage, names, size="huge")
        assert loop.time() - began < 75, "the time after which it is taken for dead if nobody says otherwise"


async def test_a_storm_of_429_is_waited_out_as_the_server_asks(weather_plane: ControlPlane, stage: Stage) -> None:
    names = await machines(stage, 6)
    async with Front(weather_plane.connection) as front, stage.syncing(server=front.url):
        front.throttle(share=0.5, retry_after=1)
        await eventually(_number_of(front), lambda refused: refused > 20)
        asked = front.requests
        began = asyncio.get_running_loop().time()
        await all_in_sync(stage, names)
        seconds = asyncio.get_running_loop().time() - began
        # 6 caches and activation's 3, and 6 machines, each of them at most about once a second.
        assert front.requests - asked < 30 * (seconds + 2)
        front.calm()
        late = await machines(stage, 2, prefix="late")
        await all_in_sync(stage, names + late)


def _number_of(front: Front) -> Callable[[], Awaitable[int]]:
    async def look() -> int:
        return front.refused

    return look


async def test_an_infra_machine_that_is_seen_late_does_not_make_the_mirror_flap(
    weather_plane: ControlPlane, stage: Stage
) -> None:
    async with (
        Front(weather_plane.connection) as front,
        stage.watching(mapi.Machine, "w-0") as seen,
        stage.syncing(server=front.url),
    ):
        await stage.machine("first")
        await stage.in_sync("first")
        front.hold("openstackmachines")
        await stage.infra_machine("w-0", ownerReferences=[])
        await stage.machine("w-0", owner=None, infra=False)
        await stage.adoptable("w-0")
        await stage.in_sync("w-0")
        front.calm()
        await stage.all_seen()
        await eventually(seen.latest, lambda tree: condition(tree).get("status") == "True")
        said = [(condition(tree).get("status"), condition(tree).get("reason")) for tree in seen.trees]
        kept = [one for number, one in enumerate(said) if number == 0 or said[number - 1] != one]
        assert kept[-1] == ("True", "ResourceSynchronized")
        assert "False" not in {status for status, _ in kept}
        assert held_by_us(await stage.get(stage.infra_kind, "w-0"))


async def test_a_machine_set_whose_deletion_is_seen_late_does_not_cost_an_instance(
    weather_plane: ControlPlane, stage: Stage
) -> None:
    """Its mirrors go with a MachineSet of the Machine API. Seen without it, that would look like a user deleting one
    mirror, which takes machine and instance along."""
    async with Front(weather_plane.connection) as front, stage.syncing(server=front.url):
        await stage.machine("w-0")
        await stage.in_sync("w-0")
        front.hold("machinesets")
        await stage.delete(mapi.MachineSet, SET)
        with suppress(NotFound):
            # Unless the garbage collector was first.
            await stage.delete(mapi.Machine, "w-0")
        await stage.gone((mapi.Machine, "w-0"))
        front.calm()
        await stage.all_seen()
        there = await stage.everything("w-0")
        assert there["mirror"] is None
        assert there["source"] is not None
        assert "deletionTimestamp" not in there["source"]["metadata"]
        assert not held_by_us(there["source"])
