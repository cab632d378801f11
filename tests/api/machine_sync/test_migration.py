"""Authority over a machine moves, both ways, on a real API server with the CRDs of Cluster API and its providers.

The controllers of both APIs are played by hand, one step at a time, so that the order shows: nobody works on before
the others have said that they are paused.
"""

from typing import Any

import pytest

from tests.waiting import eventually
from windlass.api import capi, mapi
from windlass.machine_sync.constants import AUTHORITY_ANNOTATION, PAUSED_ANNOTATION

from .examples import Tree
from .stage import CLUSTER, Stage, condition

pytestmark = pytest.mark.plane

EACH = pytest.mark.parametrize("platform", ["OpenStack", "AWS", "GCP"])
MARKS = {PAUSED_ANNOTATION, AUTHORITY_ANNOTATION}


async def authority(stage: Stage, wanted: str) -> Tree:
    return await stage.mirror_that("w-0", lambda tree: tree["status"].get("authoritativeAPI") == wanted)


async def marked(stage: Stage, kind: type[Any], marks: set[str]) -> None:
    """Wait until these of our marks are on the object, and no others."""
    await eventually(
        lambda: stage.get(kind, "w-0"),
        lambda tree: tree is not None and MARKS & (tree["metadata"].get("annotations") or {}).keys() == marks,
        what=f"{kind.RESOURCE.kind} marked with {sorted(marks)}",
    )


async def move_to_cluster_api(stage: Stage) -> Tree:
    await stage.ask("w-0", "ClusterAPI")
    moving = await authority(stage, "Migrating")
    assert moving["status"]["synchronizedAPI"] == "MachineAPI"
    await stage.all_seen()
    await authority(stage, "Migrating")
    await marked(stage, capi.Machine, MARKS)
    await stage.say_paused(mapi.Machine, "w-0")
    await authority(stage, "ClusterAPI")
    machine = await stage.in_sync("w-0")
    assert condition(machine)["message"] == "Successfully synchronized CAPI Machine to MAPI"
    assert machine["status"]["synchronizedAPI"] == "ClusterAPI"
    await marked(stage, capi.Machine, set())
    await marked(stage, stage.infra_kind, set())
    await stage.say_paused(capi.Machine, "w-0", paused=False)
    if stage.example.platform.infra_machine_reports_pause:
        await stage.say_paused(stage.infra_kind, "w-0", paused=False)
    return machine


async def move_to_machine_api(stage: Stage) -> Tree:
    await stage.ask("w-0", "MachineAPI")
    moving = await authority(stage, "Migrating")
    assert moving["status"]["synchronizedAPI"] == "ClusterAPI"
    await marked(stage, capi.Machine, MARKS)
    await marked(stage, stage.infra_kind, {PAUSED_ANNOTATION})
    await stage.all_seen()
    await authority(stage, "Migrating")
    if stage.example.platform.infra_machine_reports_pause:
        await stage.say_paused(stage.infra_kind, "w-0")
        await stage.all_seen()
        await authority(stage, "Migrating")
    await stage.say_paused(capi.Machine, "w-0")
    await authority(stage, "MachineAPI")
    machine = await stage.in_sync("w-0")
    assert condition(machine)["message"] == "Successfully synchronized MAPI Machine to CAPI"
    await marked(stage, capi.Machine, MARKS)
    await stage.say_paused(mapi.Machine, "w-0", paused=False)
    return machine


async def uids(stage: Stage) -> dict[str, str]:
    there = await stage.everything("w-0")
    return {side: found["metadata"]["uid"] for side, found in there.items() if found}


async def stays(stage: Stage) -> None:
    async with stage.syncing(resync=0.2):
        await stage.all_seen()
        before = await stage.everything("w-0")
        await stage.all_seen()
        await stage.all_seen()
        assert await stage.everything("w-0") == before


@EACH
async def test_a_machine_of_the_machine_api_goes_to_cluster_api_and_back_twice(stage: Stage) -> None:
    await stage.cluster()
    async with stage.syncing():
        await stage.machine_of_machine_api("w-0")
        await stage.in_sync("w-0")
        before, infra = await uids(stage), await stage.get(stage.infra_kind, "w-0")
        for _ in range(2):
            await move_to_cluster_api(stage)
            await move_to_machine_api(stage)
        assert await uids(stage) == before
        again = await stage.get(stage.infra_kind, "w-0")
        assert infra is not None
        assert again is not None
        assert again["spec"] == infra["spec"]
    await stays(stage)


@EACH
async def test_a_machine_of_cluster_api_goes_to_the_machine_api_and_back(stage: Stage) -> None:
    await stage.cluster()
    await stage.source_set()
    await stage.mirror_set()
    async with stage.syncing():
        await stage.machine("w-0", spec={"providerID": stage.instance("w-0")})
        status = {"phase": "Running", "initialization": {"infrastructureProvisioned": True}}
        await stage.patch(capi.Machine, "w-0", {"status": status}, part="status")
        await stage.in_sync("w-0")
        await stage.say_paused(mapi.Machine, "w-0")
        before = await uids(stage)
        await move_to_machine_api(stage)
        assert await uids(stage) == before
        await move_to_cluster_api(stage)
        assert await uids(stage) == before
    await stays(stage)


@EACH
@pytest.mark.parametrize("start", ["MachineAPI", "ClusterAPI"])
async def test_a_user_who_changes_his_mind_on_the_way_gets_it_back(stage: Stage, start: str) -> None:
    other = {"MachineAPI": "ClusterAPI", "ClusterAPI": "MachineAPI"}[start]
    await stage.cluster()
    async with stage.syncing():
        await stage.machine_of_machine_api("w-0", authority=start)
        await stage.in_sync("w-0")
        if start == "ClusterAPI":
            await stage.say_paused(mapi.Machine, "w-0")
        await stage.ask("w-0", other)
        await authority(stage, "Migrating")
        if start == "ClusterAPI":
            await marked(stage, capi.Machine, MARKS)
        await stage.ask("w-0", start)
        if start == "MachineAPI":
            await stage.say_paused(capi.Machine, "w-0")
            if stage.example.platform.infra_machine_reports_pause:
                await stage.say_paused(stage.infra_kind, "w-0")
        machine = await authority(stage, start)
        assert machine["status"]["synchronizedAPI"] == start
        await stage.in_sync("w-0")
        await marked(stage, capi.Machine, MARKS if start == "MachineAPI" else set())
    await stays(stage)


async def test_a_change_on_the_way_is_not_lost(stage: Stage) -> None:
    await stage.cluster()
    async with stage.syncing():
        await stage.machine_of_machine_api("w-0")
        await stage.in_sync("w-0")
        await stage.ask("w-0", "ClusterAPI")
        await authority(stage, "Migrating")
        await stage.patch(mapi.Machine, "w-0", {"spec": {"providerID": stage.instance("changed")}})
        await stage.say_paused(capi.Machine, "w-0")
        # Back in charge, the Machine API says so; then it is asked to stand still once more.
        await eventually(
            lambda: stage.get(capi.Machine, "w-0"),
            lambda tree: tree is not None and tree["spec"]["providerID"] == stage.instance("changed"),
            what="the change mirrored",
        )
        await stage.mirror_that("w-0", lambda tree: tree["status"]["authoritativeAPI"] in ("MachineAPI", "Migrating"))
        await authority(stage, "Migrating")
        await stage.say_paused(mapi.Machine, "w-0")
        machine = await authority(stage, "ClusterAPI")
        assert machine["spec"]["providerID"] == stage.instance("changed")


async def test_a_machine_of_a_paused_cluster_may_leave_cluster_api_again(stage: Stage) -> None:
    """Cluster API acts on none of its machines, and says so of each."""
    await stage.cluster()
    async with stage.syncing():
        await stage.machine_of_machine_api("w-0")
        await stage.in_sync("w-0")
        await stage.say_paused(capi.Machine, "w-0")
        await stage.ask("w-0", "ClusterAPI")
        await authority(stage, "Migrating")
        await stage.say_paused(mapi.Machine, "w-0")
        await authority(stage, "ClusterAPI")
        await stage.in_sync("w-0")
        await stage.patch(
            capi.Machine, "w-0", {"status": {"initialization": {"infrastructureProvisioned": True}}}, part="status"
        )
        await stage.ask("w-0", "MachineAPI")
        await stage.all_seen()
        await authority(stage, "ClusterAPI")
        await stage.patch(capi.Cluster, CLUSTER, {"spec": {"paused": True}})
        await stage.patch(capi.Machine, "w-0", {"metadata": {"labels": {"look": "now"}}})
        await authority(stage, "MachineAPI")
