"""The service beside the policies: it may write what it must, and what it writes down is what they go by."""

from collections.abc import AsyncIterator

import pytest

from tests.api.machine_sync.stage import CLUSTER, Stage, condition
from tests.waiting import eventually
from windlass.api import capi, mapi
from windlass.api.config import Infrastructure
from windlass.machine_sync import policies
from windlass.machine_sync.constants import AUTHORITY_ANNOTATION, MIRRORED_LABELS_ANNOTATION
from windlass.machine_sync.rbac import DEFAULT_SERVICE_ACCOUNT
from windlass.testing import ControlPlane

from .messages import PROVISIONING, mirrored_message, spec_message
from .policed import Policed, Tree, wait_until_in_force

TO_CLUSTER_API: Tree = {"spec": {"authoritativeAPI": "ClusterAPI"}}
SPEC: Tree = {
    "providerSpec": {
        "value": {"flavor": "m1.large", "image": "rhcos", "userDataSecret": {"name": "worker-user-data"}},
    }
}


@pytest.fixture
async def stage(stage: Stage) -> Stage:
    """With the policies in force, and a Cluster."""
    ours = DEFAULT_SERVICE_ACCOUNT.within(stage.namespaces.cluster_api)
    await stage.plane.apply(*policies.documents(namespaces=stage.namespaces, service_account=ours))
    cluster = {"infrastructureName": CLUSTER, "platformStatus": {"type": "OpenStack"}}
    await stage.singleton(Infrastructure, "cluster", cluster)
    await stage.make(capi.Cluster, CLUSTER, {"controlPlaneEndpoint": {"host": "api.example.org", "port": 6443}})
    await stage.infra_cluster()
    return stage


@pytest.fixture
async def policed(machine_sync_plane: ControlPlane, stage: Stage) -> AsyncIterator[Policed]:
    async with Policed.by(machine_sync_plane, stage.namespaces) as policed:
        await wait_until_in_force(policed)
        yield policed


async def test_a_mirror_in_the_machine_api_is_protected(stage: Stage, policed: Policed) -> None:
    async with stage.syncing():
        await stage.source_set()
        await stage.mirror_set()
        await stage.machine("w-0", labels={"team": "blue"})
        mirror = await stage.in_sync("w-0")
        assert "team=blue" in mirror["metadata"]["annotations"][MIRRORED_LABELS_ANNOTATION]
        change: Tree = {"spec": {"providerSpec": {"value": {"flavor": "m1.tiny"}}}}
        assert await policed.refusal(mapi.Machine, "w-0", change) == spec_message(mapi.Machine)
        green = {"metadata": {"labels": {"team": "green"}}}
        assert await policed.refusal(mapi.Machine, "w-0", green) == mirrored_message(mapi.Machine)
        await stage.patch(capi.Machine, "w-0", green)
        await stage.mirror_that("w-0", lambda tree: tree["metadata"]["labels"]["team"] == "green")


async def test_a_mirror_in_cluster_api_is_protected(stage: Stage, policed: Policed) -> None:
    async with stage.syncing():
        await stage.make(mapi.Machine, "m-0", SPEC, labels={"team": "blue"})
        mirror = await eventually(lambda: stage.get(capi.Machine, "m-0"), bool, what="the mirror in Cluster API")
        assert mirror is not None
        assert mirror["metadata"]["annotations"][AUTHORITY_ANNOTATION] == "MachineAPI"
        assert await policed.refusal(capi.Machine, "m-0", {"spec": {"providerID": "x"}}) == spec_message(capi.Machine)
        green = {"metadata": {"labels": {"team": "green"}}}
        assert await policed.refusal(capi.Machine, "m-0", green) == mirrored_message(capi.Machine)


async def test_protection_changes_sides_with_authority(stage: Stage, policed: Policed) -> None:
    async with stage.syncing():
        await stage.make(mapi.Machine, "m-1", SPEC)
        await stage.mirror_that("m-1", lambda tree: authority(tree) == "MachineAPI")
        await stage.patch(mapi.Machine, "m-1", {"status": {"phase": "Provisioning"}}, part="status")
        assert await policed.refusal(mapi.Machine, "m-1", TO_CLUSTER_API) == PROVISIONING
        await stage.patch(mapi.Machine, "m-1", {"status": {"phase": "Running"}}, part="status")
        await stage.mirror_that("m-1", lambda tree: condition(tree).get("status") == "True")

        await stage.patch(mapi.Machine, "m-1", TO_CLUSTER_API)
        moving = await stage.mirror_that("m-1", lambda tree: authority(tree) == "Migrating")
        await stage.patch(mapi.Machine, "m-1", paused(moving), part="status")
        await stage.mirror_that("m-1", lambda tree: authority(tree) == "ClusterAPI")

        assert await policed.refusal(capi.Machine, "m-1", {"spec": {"failureDomain": "az1"}}) == ""
        change: Tree = {"spec": {"providerSpec": {"value": {"flavor": "m1.tiny"}}}}
        assert await policed.refusal(mapi.Machine, "m-1", change) == spec_message(mapi.Machine)


def authority(tree: Tree) -> str:
    found: str = tree.get("status", {}).get("authoritativeAPI", "")
    return found


def paused(machine: Tree) -> Tree:
    """What the Machine API's controller writes once it leaves the machine alone."""
    conditions = [one for one in machine["status"].get("conditions", []) if one["type"] != "Paused"]
    paused = {"type": "Paused", "status": "True", "lastTransitionTime": "2026-01-26T01:30:52Z"}
    metadata = {"resourceVersion": machine["metadata"]["resourceVersion"]}
    return {"metadata": metadata, "status": {"conditions": [*conditions, paused]}}
