"""Machines of the Machine API become Machines of Cluster API and stay the same, on a real API server.

The service runs under the permissions that we ship. Cluster API and its providers are there by their own CRDs, whose
defaults and checks must not set off anything.
"""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from tests.waiting import eventually
from windlass.api import capi, mapi
from windlass.kube.errors import Invalid
from windlass.machine_sync.constants import (
    AUTHORITY_ANNOTATION,
    CLUSTER_API_FINALIZER,
    PAUSED_ANNOTATION,
    SYNC_FINALIZER,
)
from windlass.machine_sync.mirroring.infra_machine_spec import differing
from windlass.machine_sync.platforms import AWS

from ...unit.machine_sync.conversion.vectors import TO_CLUSTER_API, convert, row_id, rows
from .examples import Tree
from .stage import CLUSTER, SET, Stage, condition, finalizers, held_by_us, stays

pytestmark = pytest.mark.plane

EACH = pytest.mark.parametrize("platform", ["OpenStack", "AWS", "GCP"])
SUCCESS = "Successfully synchronized MAPI Machine to CAPI"


def annotations(found: Tree | None) -> Tree:
    assert found is not None
    return found["metadata"].get("annotations") or {}


@EACH
async def test_a_machine_without_an_owner_gets_a_paused_mirror_of_the_cluster(stage: Stage) -> None:
    await stage.cluster()
    async with stage.syncing():
        await stage.machine_of_machine_api("w-0")
        machine = await stage.in_sync("w-0")
        assert condition(machine)["message"] == SUCCESS
        there = await stage.everything("w-0")
        mirror, infra = there["source"], there["infra"]
        assert mirror is not None
        assert infra is not None
        assert annotations(mirror)[PAUSED_ANNOTATION] == annotations(infra)[PAUSED_ANNOTATION] == ""
        assert annotations(mirror)[AUTHORITY_ANNOTATION] == "MachineAPI"
        owner = await stage.reference(capi.Cluster, CLUSTER, controller=True, blockOwnerDeletion=True)
        assert mirror["metadata"]["ownerReferences"] == [owner]
        owner = await stage.reference(capi.Machine, "w-0", controller=True, blockOwnerDeletion=True)
        assert infra["metadata"]["ownerReferences"] == [owner]
        assert finalizers(mirror) == [CLUSTER_API_FINALIZER, SYNC_FINALIZER]
        assert finalizers(infra) == [SYNC_FINALIZER]
        assert infra["spec"][stage.example.size] == stage.example.infra_spec[stage.example.size]
        assert mirror["status"]["phase"] == "Running"
    await stays(stage)


@EACH
async def test_in_sync_it_stays_and_nothing_is_written(stage: Stage) -> None:
    """Defaults of the CRDs of Cluster API and its providers are no differences."""
    await stage.cluster()
    async with stage.syncing():
        await stage.machine_of_machine_api("w-0")
        await stage.in_sync("w-0")
    async with stage.watching(mapi.Machine, "w-0") as seen:
        await stays(stage)
    assert {condition(one)["status"] for one in seen.trees} == {"True"}
    assert len({one["metadata"]["resourceVersion"] for one in seen.trees}) == 1, "a watch may begin anew"


@pytest.fixture
async def newer_provider(stage: Stage) -> AsyncIterator[None]:
    """The CRD of infra machines has a default that our types do not know, until the end of the test."""
    path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{stage.infra_kind.RESOURCE.name}"

    async def change(*, brand_new: bool) -> None:
        crd = msgspec.json.decode(await stage.admin.request("GET", path))
        (version,) = [one for one in crd["spec"]["versions"] if one["name"] == stage.infra_kind.RESOURCE.version]
        properties = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        if brand_new:
            properties["brandNew"] = {"type": "string", "default": "default"}
        else:
            del properties["brandNew"]
        await stage.admin.request("PUT", path, body=crd)

    async def made() -> Tree:
        name = f"probe-{len(probes)}"
        probes.append(name)
        return await stage.make(stage.infra_kind, name, stage.example.infra_spec)

    probes: list[str] = []
    await change(brand_new=True)
    await eventually(made, lambda found: found["spec"].get("brandNew") == "default", what="the new default")
    yield
    await change(brand_new=False)


@EACH
async def test_a_default_that_we_do_not_know_is_no_difference(stage: Stage, newer_provider: None) -> None:
    await stage.cluster()
    async with stage.syncing():
        await stage.machine_of_machine_api("w-0")
        await stage.in_sync("w-0")
    infra = await stage.get(stage.infra_kind, "w-0")
    assert infra is not None
    assert infra["spec"]["brandNew"] == "default"
    await stays(stage)


@EACH
async def test_another_size_makes_the_infra_machine_anew(stage: Stage) -> None:
    await stage.cluster()
    async with stage.syncing():
        await stage.machine_of_machine_api("w-0")
        await stage.in_sync("w-0")
        before = await stage.get(stage.infra_kind, "w-0")
        value = {stage.example.provider_field: "huge"}
        await stage.patch(mapi.Machine, "w-0", {"spec": {"providerSpec": {"value": value}}})
        machine = await stage.in_sync("w-0")
        after = await stage.get(stage.infra_kind, "w-0")
        assert before is not None
        assert after is not None
        assert after["spec"][stage.example.size] == "huge"
        assert after["metadata"]["uid"] != before["metadata"]["uid"]
        assert annotations(after)[PAUSED_ANNOTATION] == ""
        assert condition(machine)["status"] == "True"
        told = await stage.told("w-0", "RecreatingInfraMachine")
        assert f"spec.{stage.example.size}" in told["message"]
    await stays(stage)


async def test_a_machine_of_a_control_plane_machine_set_is_refused(stage: Stage) -> None:
    await stage.cluster()
    async with stage.syncing():
        owner = {
            "apiVersion": "machine.openshift.io/v1",
            "kind": "ControlPlaneMachineSet",
            "name": "cluster",
            "uid": "u",
        }
        await stage.machine_of_machine_api("w-0", ownerReferences=[owner])
        said = await stage.reports("w-0", reason="FailedToConvertMAPIMachineToCAPI")
        assert said["message"] == (
            "conversion of control plane machines owned by control plane machine set is currently not supported"
        )
        assert await stage.get(capi.Machine, "w-0") is None


@EACH
async def test_a_machine_of_a_set_belongs_to_the_twin(stage: Stage) -> None:
    await stage.cluster()
    await stage.source_set()
    await stage.mirror_set()
    async with stage.syncing():
        await stage.machine_of_machine_api("w-0", owner=SET)
        await stage.in_sync("w-0")
        there = await stage.everything("w-0")
        mirror, infra = there["source"], there["infra"]
        assert mirror is not None
        assert infra is not None
        assert mirror["metadata"]["ownerReferences"] == [await stage.reference(capi.MachineSet, SET, controller=True)]
        assert mirror["metadata"]["labels"]["cluster.x-k8s.io/set-name"] == SET
        await stage.patch(stage.infra_kind, "w-0", {"metadata": {"finalizers": None}})
        await stage.delete(stage.infra_kind, "w-0")
        again = await eventually(
            lambda: stage.get(stage.infra_kind, "w-0"),
            lambda found: found is not None and found["metadata"]["uid"] != infra["metadata"]["uid"],
            what="the infra machine made again",
        )
        assert again is not None
        assert again["metadata"]["ownerReferences"][0]["name"] == "w-0"


@EACH
async def test_the_first_machine_of_cluster_api_is_not_paused(stage: Stage) -> None:
    await stage.cluster()
    async with stage.syncing():
        await stage.machine_of_machine_api("w-0", authority="ClusterAPI")
        machine = await stage.in_sync("w-0")
        there = await stage.everything("w-0")
        assert PAUSED_ANNOTATION not in annotations(there["source"])
        assert PAUSED_ANNOTATION not in annotations(there["infra"])
        assert machine["spec"]["authoritativeAPI"] == machine["status"]["authoritativeAPI"] == "ClusterAPI"
        assert all(map(held_by_us, there.values()))
    await stays(stage)


async def test_labels_of_others_survive_and_ours_follow(stage: Stage) -> None:
    await stage.cluster()
    async with stage.syncing():
        await stage.machine_of_machine_api("w-0", labels={"a": "1"})
        await stage.in_sync("w-0")
        await stage.patch(capi.Machine, "w-0", {"metadata": {"labels": {"mine": "x"}, "annotations": {"too": "y"}}})
        await stage.patch(mapi.Machine, "w-0", {"metadata": {"labels": {"a": None, "b": "2"}}})
        mirror = await eventually(
            lambda: stage.get(capi.Machine, "w-0"),
            lambda found: found is not None and found["metadata"]["labels"].get("b") == "2",
            what="the new label",
        )
        assert mirror is not None
        assert (mirror["metadata"]["labels"].get("a"), mirror["metadata"]["labels"]["mine"]) == (None, "x")
        assert annotations(mirror)["too"] == "y"


async def test_what_cluster_api_s_own_crd_refuses_is_said(stage: Stage) -> None:
    await stage.cluster()
    async with stage.syncing():
        hook = {"name": "h" * 70, "owner": "somebody"}
        await stage.machine_of_machine_api("w-0", spec={"lifecycleHooks": {"preDrain": [hook]}})
        said = await stage.reports("w-0", reason="FailedToCreateCAPIMachine")
        assert "annotations" in said["message"]


REFUSED = (
    "spec.hostID",
    "spec.instanceType",
    "spec.nonRootVolumes",
    "spec.placementGroupPartition",
    "spec.rootVolume.size",
    "spec.tenancy",
    "capacityReservationId",
)
"""Fields of recorded machines with values that the Machine API takes and the CRD of AWSMachine does not."""


@pytest.mark.parametrize("platform", ["AWS"])
async def test_what_the_server_makes_of_any_converted_aws_machine_is_no_difference(stage: Stage) -> None:
    """Every recorded conversion, created and read back: a difference would cost the infra machine its life."""
    unexplained: dict[str, str] = {}
    different: dict[str, Any] = {}
    admitted = 0
    for number, row in enumerate(rows(TO_CLUSTER_API, "Machine")):
        made = convert(row).output if row["provider"] == "aws" else None
        if made is None:
            continue
        spec = made["infraMachine"]["spec"]
        try:
            stored = await stage.make(stage.infra_kind, f"row-{number}", spec)
        except Invalid as error:
            if not any(field in str(error) for field in REFUSED):
                unexplained[row_id(row)] = str(error)
            continue
        admitted += 1
        if found := differing(AWS, stored["spec"], spec):
            different[row_id(row)] = found
    assert (different, unexplained) == ({}, {})
    assert admitted > 100, admitted
