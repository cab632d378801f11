"""MachineSets are mirrored in both directions, and authority over them moves, on a real API server.

The service runs under the permissions that we ship. Whoever else there is on a cluster is played by the tests: the
controllers of both APIs, which say whether they are paused.
"""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.waiting import eventually
from windlass.api import capi, mapi
from windlass.kube.errors import Conflict
from windlass.machine_sync.constants import (
    AUTHORITY_ANNOTATION,
    MIRRORED_SPEC_ANNOTATION,
    PAUSED_ANNOTATION,
    SYNC_FINALIZER,
)

from .examples import Tree
from .sets import (
    CORE_FINALIZER,
    MADE,
    NAME,
    PROVIDER_SPECS,
    cluster_api_set,
    eventually_is,
    get,
    ground,
    in_sync,
    infra_template,
    machine_api_set,
    observed,
    reference,
    size_of,
    templates,
)
from .stage import CLUSTER, Stage, condition, finalizers, held_by_us

pytestmark = pytest.mark.plane

EACH = pytest.mark.parametrize("platform", ["OpenStack", "AWS", "GCP"])


def referred_to(machine_set: Tree) -> str:
    found: str = machine_set["spec"]["template"]["spec"]["infrastructureRef"]["name"]
    return found


async def resize(stage: Stage, size: str) -> None:
    provider_spec = {"providerSpec": {"value": {stage.example.provider_field: size}}}
    await stage.patch(mapi.MachineSet, NAME, {"spec": {"template": {"spec": provider_spec}}})


def said_paused(tree: Tree, *, paused: bool) -> Tree:
    """The status of a set whose controller says so."""
    others = [one for one in (tree.get("status") or {}).get("conditions", []) if one["type"] != "Paused"]
    said = {"type": "Paused", "status": str(paused), "reason": "Said", "message": ""}
    return {"status": {"conditions": [*others, {**said, "lastTransitionTime": "2026-05-01T12:00:00Z"}]}}


async def say_paused(stage: Stage, kind: type[Any], *, paused: bool) -> None:
    """As the controllers of one side do. The service may write at the same moment: then again."""

    async def patched() -> bool:
        found = await get(stage, kind)
        body = said_paused(found, paused=paused)
        body["metadata"] = {"resourceVersion": found["metadata"]["resourceVersion"]}
        with suppress(Conflict):
            await stage.patch(kind, NAME, body, part="status")
            return True
        return False

    await eventually(patched, bool, what="the Paused condition written")


async def all_seen(stage: Stage) -> None:
    """Return when the service has looked at every set that changed before the call.

    It looks at them in the order in which they change, so another one of which it has said something by now tells: one
    that cannot be mirrored.
    """
    name = f"witness-{time.monotonic_ns()}"
    template = {"spec": {"providerSpec": {}, "metadata": {"name": "witness"}}}
    await stage.make(mapi.MachineSet, name, {"selector": {}, "template": template})
    await eventually(
        lambda: stage.get(mapi.MachineSet, name),
        lambda tree: "spec.metadata.name" in condition(tree).get("message", ""),
        what=f"{name} looked at",
    )
    await stage.delete(mapi.MachineSet, name)
    await stage.gone((mapi.MachineSet, name))


@asynccontextmanager
async def still_after(stage: Stage) -> AsyncIterator[None]:
    """Nothing of the set changes any more once the block is done, however often it is looked at."""
    yield

    async def everything() -> list[Any]:
        return [await stage.get(mapi.MachineSet, NAME), await stage.get(capi.MachineSet, NAME), await templates(stage)]

    before = await everything()
    async with stage.syncing(resync=0.2):
        await all_seen(stage)
        await all_seen(stage)
    assert await everything() == before


@EACH
async def test_a_set_of_the_machine_api_gets_a_paused_mirror_with_a_template(stage: Stage) -> None:
    await ground(stage)
    async with still_after(stage), stage.syncing():
        await machine_api_set(stage)
        found = await in_sync(stage, authority="MachineAPI")
        assert condition(found)["message"] == "Successfully synchronized MAPI MachineSet to CAPI"
        assert held_by_us(found)
        mirror = await eventually_is(stage, capi.MachineSet, lambda tree: "status" in tree)
        annotations = mirror["metadata"]["annotations"]
        assert (annotations[PAUSED_ANNOTATION], annotations[AUTHORITY_ANNOTATION]) == ("", "MachineAPI")
        assert held_by_us(mirror)
        owner = await stage.reference(capi.Cluster, CLUSTER, controller=False, blockOwnerDeletion=True)
        (made,) = (await templates(stage)).values()
        assert mirror["metadata"]["ownerReferences"] == made["metadata"]["ownerReferences"] == [owner]
        assert made["metadata"]["labels"] == MADE
        assert {*made["metadata"]["annotations"]} == {PAUSED_ANNOTATION, MIRRORED_SPEC_ANNOTATION}
        assert referred_to(mirror) == made["metadata"]["name"]
        assert size_of(stage, made) == PROVIDER_SPECS[stage.example.name][stage.example.provider_field]
        assert mirror["spec"]["template"]["metadata"]["labels"]["node-role.kubernetes.io/worker"] == ""
        said = {one["type"]: one["status"] for one in mirror["status"]["conditions"]}
        assert said["ScalingUp"] == "True"


async def test_replicas_follow_in_spec_and_in_status(stage: Stage) -> None:
    await ground(stage)
    async with stage.syncing():
        await machine_api_set(stage)
        await in_sync(stage, authority="MachineAPI")
        await stage.patch(mapi.MachineSet, NAME, {"spec": {"replicas": 5}})
        await eventually_is(stage, capi.MachineSet, lambda tree: tree["spec"]["replicas"] == 5)
        await stage.patch(mapi.MachineSet, NAME, {"status": {"replicas": 5, "readyReplicas": 3}}, part="status")
        mirror = await eventually_is(
            stage, capi.MachineSet, lambda tree: tree.get("status", {}).get("readyReplicas") == 3
        )
        assert mirror["status"]["observedGeneration"] == mirror["metadata"]["generation"]
        await in_sync(stage, authority="MachineAPI")


@EACH
async def test_another_provider_spec_is_another_template_and_a_users_own_stays(stage: Stage) -> None:
    await ground(stage)
    await infra_template(stage, "made-by-a-user")
    async with still_after(stage), stage.syncing():
        await machine_api_set(stage)
        await in_sync(stage, authority="MachineAPI")
        before = referred_to(await get(stage, capi.MachineSet))
        await resize(stage, "huge")
        mirror = await eventually_is(stage, capi.MachineSet, lambda tree: referred_to(tree) != before)
        await in_sync(stage, authority="MachineAPI")
        there = await eventually(
            lambda: templates(stage), lambda found: before not in found, what="the old template gone"
        )
        assert set(there) == {referred_to(mirror), "made-by-a-user"}
        assert size_of(stage, there[referred_to(mirror)]) == "huge"


async def test_a_set_of_cluster_api_is_followed_in_the_machine_api(stage: Stage) -> None:
    await ground(stage)
    await cluster_api_set(stage)
    async with still_after(stage), stage.syncing():
        await machine_api_set(stage, authority="ClusterAPI")
        found = await in_sync(stage, authority="ClusterAPI")
        assert condition(found)["message"] == "Successfully synchronized CAPI MachineSet to MAPI"
        metadata = {"labels": {"stage": "b", "cluster.x-k8s.io/odd": "x"}, "annotations": {"note": "n"}}
        await stage.patch(capi.MachineSet, NAME, {"metadata": metadata, "spec": {"replicas": 4}})
        await observed(stage, replicas=4, ready=1)
        found = await eventually_is(stage, mapi.MachineSet, lambda tree: tree["status"].get("readyReplicas") == 1)
        found = await in_sync(stage, authority="ClusterAPI")
        assert (found["spec"]["replicas"], found["status"]["replicas"]) == (4, 4)
        assert found["metadata"]["labels"]["stage"] == "b"
        assert found["metadata"]["annotations"]["note"] == "n"
        assert "cluster.x-k8s.io/odd" not in found["metadata"]["labels"]
        assert found["spec"]["selector"] == {"matchLabels": MADE}


@EACH
async def test_another_template_is_another_provider_spec(stage: Stage) -> None:
    await ground(stage)
    await cluster_api_set(stage)
    async with stage.syncing():
        await machine_api_set(stage, authority="ClusterAPI")
        await in_sync(stage, authority="ClusterAPI")
        await infra_template(stage, "larger", **{stage.example.size: "huge"})
        spec = {"template": {"spec": {"infrastructureRef": reference(stage, "larger")}}}
        await stage.patch(capi.MachineSet, NAME, {"spec": spec})
        await eventually_is(
            stage, mapi.MachineSet, lambda tree: stage.example.provider_size(tree["spec"]["template"]) == "huge"
        )
        await in_sync(stage, authority="ClusterAPI")
        assert set(await templates(stage)) == {"made-by-a-user", "larger"}


@EACH
async def test_under_cluster_api_authority_the_first_set_is_made_and_not_paused(stage: Stage) -> None:
    await ground(stage)
    async with still_after(stage), stage.syncing():
        await machine_api_set(stage, authority="ClusterAPI")
        await in_sync(stage, authority="ClusterAPI")
        made = await get(stage, capi.MachineSet)
        (template,) = (await templates(stage)).values()
        for tree in (made, template):
            assert not {PAUSED_ANNOTATION, AUTHORITY_ANNOTATION} & set(tree["metadata"].get("annotations", {}))
        assert held_by_us(made)
        assert made["spec"]["replicas"] == 2


async def test_a_mirror_that_is_deleted_goes_and_the_set_and_its_template_stay(stage: Stage) -> None:
    await ground(stage)
    async with stage.syncing():
        await machine_api_set(stage, authority="ClusterAPI")
        await in_sync(stage, authority="ClusterAPI")
        await stage.delete(mapi.MachineSet, NAME)
        await stage.gone((mapi.MachineSet, NAME))
        there = await get(stage, capi.MachineSet)
        assert "deletionTimestamp" not in there["metadata"]
        assert SYNC_FINALIZER not in finalizers(there)
        assert len(await templates(stage)) == 1
        await stage.told(NAME, "MirrorReleased")
        await all_seen(stage)
        assert await get(stage, capi.MachineSet) == there
        assert await stage.get(mapi.MachineSet, NAME) is None


@pytest.mark.parametrize("deleted", [mapi.MachineSet, capi.MachineSet], ids=["ss3-the-set", "ss6-its-mirror"])
async def test_a_set_of_the_machine_api_and_its_mirror_go_together(stage: Stage, deleted: type[Any]) -> None:
    await ground(stage)
    await infra_template(stage, "made-by-a-user")
    async with stage.syncing():
        await machine_api_set(stage)
        await in_sync(stage, authority="MachineAPI")
        await stage.delete(deleted, NAME)
        await stage.gone((mapi.MachineSet, NAME), (capi.MachineSet, NAME))
        assert set(await templates(stage)) == {"made-by-a-user"}


async def test_a_set_of_cluster_api_takes_its_mirror_along_after_cluster_api(stage: Stage) -> None:
    await ground(stage)
    async with stage.syncing():
        await machine_api_set(stage, authority="ClusterAPI")
        await in_sync(stage, authority="ClusterAPI")
        held = {"metadata": {"finalizers": [*finalizers(await get(stage, capi.MachineSet)), CORE_FINALIZER]}}
        await stage.patch(capi.MachineSet, NAME, held)
        await stage.delete(capi.MachineSet, NAME)
        await eventually_is(stage, mapi.MachineSet, lambda tree: "deletionTimestamp" in tree["metadata"])
        await stage.patch(capi.MachineSet, NAME, {"status": {"replicas": 1}}, part="status")
        await eventually_is(stage, mapi.MachineSet, lambda tree: tree["status"].get("replicas") == 1)
        await all_seen(stage)
        assert len(await templates(stage)) == 1
        await stage.let_go(capi.MachineSet, NAME, CORE_FINALIZER)
        await stage.gone((mapi.MachineSet, NAME), (capi.MachineSet, NAME))
        assert await templates(stage) == {}


async def left_over(stage: Stage) -> None:
    """The mirror of a set that somebody deleted by force; Cluster API's controllers have seen it, and are paused."""
    await ground(stage)
    async with stage.syncing():
        await machine_api_set(stage)
        await in_sync(stage, authority="MachineAPI")
        held = {"metadata": {"finalizers": [*finalizers(await get(stage, capi.MachineSet)), CORE_FINALIZER]}}
        await stage.patch(capi.MachineSet, NAME, held)
    await stage.patch(mapi.MachineSet, NAME, {"metadata": {"finalizers": None}})
    await stage.delete(mapi.MachineSet, NAME)


async def test_a_mirror_that_is_left_over_says_so_and_can_be_deleted(stage: Stage) -> None:
    await left_over(stage)
    async with stage.syncing():
        told = await stage.told(NAME, "SynchronizationError")
        assert told["message"].startswith("This is the copy of MachineSet workers of the Machine API, which is gone")
        await stage.delete(capi.MachineSet, NAME)
        await stage.gone((capi.MachineSet, NAME))
        assert await templates(stage) == {}
        await machine_api_set(stage)
        await in_sync(stage, authority="MachineAPI")


async def test_a_set_that_is_created_while_the_mirror_of_an_earlier_one_goes_stays(stage: Stage) -> None:
    await left_over(stage)
    hold = "example.com/hold"
    held = {"metadata": {"finalizers": [*finalizers(await get(stage, capi.MachineSet)), hold]}}
    await stage.patch(capi.MachineSet, NAME, held)
    await stage.delete(capi.MachineSet, NAME)
    deleted = datetime.fromisoformat((await get(stage, capi.MachineSet))["metadata"]["deletionTimestamp"])
    await wait_until_past(deleted + timedelta(seconds=1))
    async with stage.syncing():
        made = await machine_api_set(stage)
        await eventually_is(stage, capi.MachineSet, lambda tree: finalizers(tree) == [hold])
        await stage.let_go(capi.MachineSet, NAME, hold)
        await in_sync(stage, authority="MachineAPI")
        assert (await get(stage, mapi.MachineSet))["metadata"]["uid"] == made["metadata"]["uid"]


async def wait_until_past(moment: datetime) -> None:
    """Times of objects are whole seconds."""

    async def now() -> datetime:
        return datetime.now(UTC)

    await eventually(now, lambda now: now > moment, what="another second")


async def test_what_cannot_be_converted_is_said_and_heals(stage: Stage) -> None:
    await ground(stage)
    async with stage.syncing():
        await machine_api_set(stage)
        await in_sync(stage, authority="MachineAPI")
        naming: Tree = {"spec": {"template": {"spec": {"metadata": {"name": "n"}}}}}
        await stage.patch(mapi.MachineSet, NAME, naming)
        found = await eventually_is(stage, mapi.MachineSet, lambda tree: condition(tree).get("status") == "False")
        assert condition(found)["reason"] == "FailedToConvertMAPIMachineSetToCAPI"
        naming["spec"]["template"]["spec"]["metadata"] = None
        await stage.patch(mapi.MachineSet, NAME, naming)
        await in_sync(stage, authority="MachineAPI")


async def test_a_missing_cluster_is_said_and_heals_when_it_comes(stage: Stage) -> None:
    await ground(stage)
    await stage.delete(capi.Cluster, CLUSTER)
    async with stage.syncing():
        await machine_api_set(stage)
        found = await eventually_is(stage, mapi.MachineSet, lambda tree: condition(tree).get("status") == "False")
        assert "failed to get CAPI cluster" in condition(found)["message"]
        kind = stage.example.platform.infra_cluster.RESOURCE
        owner = {"apiGroup": kind.group, "kind": kind.kind, "name": CLUSTER}
        await stage.make(capi.Cluster, CLUSTER, {"infrastructureRef": owner})
        await in_sync(stage, authority="MachineAPI")


@EACH
async def test_authority_moves_to_cluster_api_and_back(stage: Stage) -> None:
    await ground(stage)
    async with still_after(stage), stage.syncing():
        await machine_api_set(stage)
        await in_sync(stage, authority="MachineAPI")
        first = await get(stage, capi.MachineSet)
        made = referred_to(first)

        await stage.patch(mapi.MachineSet, NAME, {"spec": {"authoritativeAPI": "ClusterAPI"}})
        found = await eventually_is(
            stage, mapi.MachineSet, lambda tree: tree["status"]["authoritativeAPI"] == "Migrating"
        )
        assert found["status"]["synchronizedAPI"] == "MachineAPI"
        await all_seen(stage)
        assert PAUSED_ANNOTATION in (await get(stage, capi.MachineSet))["metadata"]["annotations"]
        await say_paused(stage, mapi.MachineSet, paused=True)
        await eventually_is(stage, mapi.MachineSet, lambda tree: tree["status"]["authoritativeAPI"] == "ClusterAPI")
        await observed(stage, replicas=2)
        found = await in_sync(stage, authority="ClusterAPI")
        assert found["status"]["synchronizedAPI"] == "ClusterAPI"
        released = [await get(stage, capi.MachineSet), (await templates(stage))[made]]
        for tree in released:
            assert not {PAUSED_ANNOTATION, AUTHORITY_ANNOTATION} & set(tree["metadata"].get("annotations", {}))

        await stage.patch(capi.MachineSet, NAME, {"spec": {"replicas": 3}})
        await eventually_is(stage, mapi.MachineSet, lambda tree: tree["spec"]["replicas"] == 3)
        await in_sync(stage, authority="ClusterAPI")

        await stage.patch(mapi.MachineSet, NAME, {"spec": {"authoritativeAPI": "MachineAPI"}})
        await eventually_is(
            stage, capi.MachineSet, lambda tree: PAUSED_ANNOTATION in tree["metadata"].get("annotations", {})
        )
        await all_seen(stage)
        assert (await get(stage, mapi.MachineSet))["status"]["authoritativeAPI"] == "Migrating"
        await say_paused(stage, capi.MachineSet, paused=True)
        found = await in_sync(stage, authority="MachineAPI")
        assert found["status"]["synchronizedAPI"] == "MachineAPI"
        assert found["spec"]["replicas"] == 3
        assert (await get(stage, capi.MachineSet))["metadata"]["uid"] == first["metadata"]["uid"]
        assert set(await templates(stage)) == {made}


async def test_a_move_that_is_taken_back_under_way_leaves_everything_as_it_was(stage: Stage) -> None:
    await ground(stage)
    async with still_after(stage), stage.syncing():
        await machine_api_set(stage)
        await in_sync(stage, authority="MachineAPI")
        await stage.patch(mapi.MachineSet, NAME, {"spec": {"authoritativeAPI": "ClusterAPI"}})
        await eventually_is(stage, mapi.MachineSet, lambda tree: tree["status"]["authoritativeAPI"] == "Migrating")
        await stage.patch(mapi.MachineSet, NAME, {"spec": {"authoritativeAPI": "MachineAPI"}})
        await say_paused(stage, capi.MachineSet, paused=True)
        found = await in_sync(stage, authority="MachineAPI")
        assert found["status"]["synchronizedAPI"] == "MachineAPI"
        assert PAUSED_ANNOTATION in (await get(stage, capi.MachineSet))["metadata"]["annotations"]
