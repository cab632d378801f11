"""Real processes that are killed without warning, in the middle of their work and while they lead."""

import asyncio
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from tests.patience import Stalls
from tests.program import ALONE
from tests.waiting import eventually
from windlass.api import capi, mapi
from windlass.machine_sync.constants import CLUSTER_API_FINALIZER, LEASE_NAME
from windlass.testing.blackhole import BlackHole

from ...api.machine_sync.replicas import replica, starting
from ...api.machine_sync.stage import Stage, held_by_us
from .leading import HASTY, leader

pytestmark = [pytest.mark.plane, pytest.mark.sampled]

NAMES = [f"w-{number}" for number in range(12)]


async def mirrors(stage: Stage) -> set[str]:
    listed = await stage.admin.list(mapi.Machine, namespace=stage.namespaces.machine_api)
    return {item.name for item in listed.items}


async def killed_at_work(stage: Stage, tmp_path: Path, *, seed: int) -> None:
    """A process that lives for a moment, counted from the first write to any machine. There must be work."""
    before = await newest(stage)
    async with starting(stage, tmp_path, *ALONE) as one:
        await eventually(lambda: newest(stage), lambda now: now != before, what="a first write")
        # Not to wait for something, but to be somewhere: the moment of death is the subject here.
        await asyncio.sleep(Random(seed).uniform(0.0, 0.15))
        await one.kill()


async def newest(stage: Stage) -> list[str]:
    """The versions of all machines."""
    kinds: tuple[Any, ...] = (mapi.Machine, capi.Machine, stage.infra_kind)
    lists = [await stage.admin.list(kind, namespace=stage.home(kind)) for kind in kinds]
    return sorted(f"{item.name} {item.resource_version}" for listed in lists for item in listed.items)


async def test_killed_while_creating_and_updating_it_ends_in_the_same_state(stage: Stage, tmp_path: Path) -> None:
    async with stage.watching(mapi.Machine) as seen:
        for life in range(3):
            await asyncio.gather(*map(stage.machine, NAMES[life::3]))
            await killed_at_work(stage, tmp_path, seed=life)
        await asyncio.gather(*(stage.resize(name, "huge") for name in NAMES))
        await killed_at_work(stage, tmp_path, seed=3)
        async with starting(stage, tmp_path, *ALONE):
            for name in NAMES:
                # The generation that is noted is the Machine's, and what changed is its infra machine.
                await stage.mirror_that(name, lambda tree: tree["spec"]["providerSpec"]["value"]["flavor"] == "huge")
                await stage.in_sync(name)
                assert all(map(held_by_us, (await stage.everything(name)).values()))
    assert await mirrors(stage) == set(NAMES)
    assert len({tree["metadata"]["uid"] for tree in seen.trees}) == len(NAMES), "no mirror was made twice"


async def test_killed_while_deleting_it_leaves_no_finalizer_behind(stage: Stage, tmp_path: Path) -> None:
    await asyncio.gather(*map(stage.machine, NAMES))
    async with starting(stage, tmp_path, *ALONE):
        for name in NAMES:
            await stage.in_sync(name)
    for name in NAMES[::2]:
        await stage.delete(capi.Machine, name)
    for name in NAMES[1::2]:
        await stage.delete(mapi.Machine, name)
    await killed_at_work(stage, tmp_path, seed=4)
    acting = asyncio.create_task(the_others(stage))
    try:
        await killed_at_work(stage, tmp_path, seed=5)
        async with starting(stage, tmp_path, *ALONE):
            kinds: tuple[Any, ...] = (mapi.Machine, capi.Machine, stage.infra_kind)
            await stage.gone(*((kind, name) for name in NAMES for kind in kinds))
    finally:
        acting.cancel()
        await asyncio.wait([acting])


async def the_others(stage: Stage) -> None:
    """Cluster API core and the provider: each takes its finalizer off when its time has come."""
    while True:
        for name in NAMES:
            there = await stage.everything(name)
            source, infra = there["source"], there["infra"]
            if source is None or "deletionTimestamp" not in source["metadata"]:
                continue
            if infra is None:
                await stage.let_go(capi.Machine, name, CLUSTER_API_FINALIZER)
            elif "deletionTimestamp" not in infra["metadata"]:
                await stage.delete(stage.infra_kind, name)
            else:
                await stage.let_go(stage.infra_kind, name, stage.example.simulated.machine_finalizer)
        await asyncio.sleep(0.05)


async def test_when_the_leader_is_killed_the_other_replica_goes_on_within_twenty_seconds(
    stage: Stage, tmp_path: Path
) -> None:
    async with stage.watching(mapi.Machine) as seen, starting(stage, tmp_path) as one:
        await stage.machine("w-0")
        await stage.in_sync("w-0")
        first = await leader(stage)
        async with replica(stage, tmp_path), Stalls() as stalls:
            await one.kill()
            killed = time.monotonic()
            await stage.machine("w-1")
            await leader(stage, other_than=first)
            assert time.monotonic() - killed <= 20 + stalls.seconds
            await stage.in_sync("w-1")
    assert len({tree["metadata"]["uid"] for tree in seen.trees}) == 2, "no mirror was made twice"


async def test_a_leader_without_api_server_has_stopped_writing_when_another_may_lead(
    stage: Stage, tmp_path: Path
) -> None:
    async with BlackHole.before(stage.plane.url) as network:
        cut_off = tmp_path / "through-the-network.yaml"
        config = yaml.safe_load(stage.plane.kubeconfig().read_text())
        config["clusters"][0]["cluster"]["server"] = network.url
        cut_off.write_text(yaml.safe_dump(config))
        async with starting(stage, tmp_path, *HASTY, kubeconfig=cut_off) as one:
            await stage.machine("w-0")
            await stage.in_sync("w-0")
            first = await leader(stage)
            async with replica(stage, tmp_path, *HASTY):
                network.swallow()
                await stage.machine("w-1")
                await stage.in_sync("w-1")
                assert await leader(stage) != first
                # What the first one had begun goes through now, if it still tries.
                network.heal()
                await stage.machine("w-2")
                await stage.in_sync("w-2")
            assert await one.exit_code() is None, "it stands by"
    taken = next(
        event["requestReceivedTimestamp"]
        for event in stage.plane.audit.events(user=stage.user)
        if event["objectRef"].get("name") == LEASE_NAME
        and event["objectRef"].get("namespace") == stage.namespaces.cluster_api
        and event["verb"] in ("patch", "update")
        and event["responseStatus"]["code"] == 200
    )
    written = [
        event["requestReceivedTimestamp"]
        for event in stage.plane.audit.events(user="admin")
        if event.get("userAgent", "").startswith("windlass/")
        and event["objectRef"].get("resource") in ("machines", "openstackmachines")
        and event["objectRef"].get("namespace") in stage.namespaces
        and "fieldManager=windlass" in event["requestURI"]
    ]
    assert written, "the first replica, which is admin here, has mirrored w-0"
    assert [moment for moment in written if moment > taken] == []
