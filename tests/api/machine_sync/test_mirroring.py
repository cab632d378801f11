"""Cluster API Machines become Machines of the Machine API and stay the same, on a real API server.

The service runs under the permissions that we ship, on an API server that enforces them and
OwnerReferencesPermissionEnforcement.
"""

import itertools
from typing import Any

import pytest

from tests.waiting import eventually
from windlass.api import capi, mapi
from windlass.kube.errors import ApiError
from windlass.machine_sync.constants import MACHINE_API_FINALIZER, SYNC_FINALIZER
from windlass.testing.logs import captured

from .examples import Tree
from .stage import CLUSTER, SET, SUCCESS, Stage, condition, finalizers, held_by_us

pytestmark = pytest.mark.plane

EACH = pytest.mark.parametrize("platform", ["OpenStack", "AWS", "GCP"])


@EACH
async def test_a_machine_of_a_set_with_a_twin_gets_a_mirror(stage: Stage) -> None:
    await stage.fleet()
    async with stage.syncing():
        await stage.machine("w-0")
        mirror = await stage.in_sync("w-0")
    twin = await stage.get(mapi.MachineSet, "ms")
    assert twin is not None
    assert mirror["spec"]["authoritativeAPI"] == mirror["status"]["authoritativeAPI"] == "ClusterAPI"
    assert mirror["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "machine.openshift.io/v1beta1",
            "kind": "MachineSet",
            "name": "ms",
            "uid": twin["metadata"]["uid"],
            "controller": True,
        }
    ]
    assert finalizers(mirror) == [MACHINE_API_FINALIZER, SYNC_FINALIZER]
    assert stage.example.provider_size(mirror) == stage.example.infra_spec[stage.example.size]
    assert {key: value for key, value in condition(mirror).items() if key != "lastTransitionTime"} == {
        "type": "Synchronized",
        "status": "True",
        "reason": "ResourceSynchronized",
        "message": SUCCESS,
    }
    there = await stage.everything("w-0")
    assert held_by_us(there["source"])
    assert held_by_us(there["infra"])


@EACH
async def test_a_change_of_the_infra_machine_reaches_the_provider_spec(stage: Stage) -> None:
    await stage.fleet()
    async with stage.syncing():
        await stage.machine("w-0")
        await stage.in_sync("w-0")
        # Providers do not allow it; the API of AWSMachine, without its webhook, does.
        await stage.resize("w-0", "huge")
        mirror = await stage.mirror_that("w-0", lambda tree: stage.example.provider_size(tree) == "huge")
        assert condition(mirror)["status"] == "True"


async def test_status_arrives_as_the_provider_and_cluster_api_report_it(stage: Stage) -> None:
    await stage.fleet()
    async with stage.syncing():
        await stage.machine("w-0")
        await stage.in_sync("w-0")
        await stage.patch(capi.Machine, "w-0", {"spec": {"providerID": "openstack:///42"}})
        addresses = [{"type": "InternalIP", "address": "10.0.0.7"}, {"type": "Hostname", "address": "w-0"}]
        status = {"phase": "Running", "addresses": addresses, "nodeRef": {"name": "node-7"}}
        await stage.patch(capi.Machine, "w-0", {"status": status}, part="status")
        mirror = await stage.mirror_that("w-0", lambda tree: tree["status"].get("phase") == "Running")
        assert mirror["spec"]["providerID"] == "openstack:///42"
        assert mirror["status"]["addresses"] == addresses
        assert mirror["status"]["nodeRef"] == {"kind": "Node", "apiVersion": "v1", "name": "node-7"}
        await stage.patch(capi.Machine, "w-0", {"status": {"phase": "Deleting", "nodeRef": None}}, part="status")
        mirror = await stage.mirror_that("w-0", lambda tree: tree["status"].get("phase") == "Deleting")
        assert "nodeRef" not in mirror["status"]


async def test_whenever_synchronized_is_true_the_status_is_there(stage: Stage) -> None:
    """OCPBUGS-63183: a mirror that said True had no phase yet."""
    await stage.fleet()
    async with stage.watching(mapi.Machine, "w-0") as seen, stage.syncing():
        await stage.machine("w-0", infra=False)
        await stage.patch(capi.Machine, "w-0", {"status": {"phase": "Running"}}, part="status")
        await stage.infra_machine("w-0")
        last = await stage.in_sync("w-0")
        await eventually(seen.latest, lambda tree: tree == last)
    true = [tree for tree in seen.trees if condition(tree).get("status") == "True"]
    assert true
    assert {tree["status"].get("phase") for tree in true} == {"Running"}
    assert {tree["status"].get("authoritativeAPI") for tree in true} == {"ClusterAPI"}


@EACH
async def test_nothing_is_written_when_all_is_in_sync(stage: Stage) -> None:
    await stage.fleet()
    async with stage.syncing():
        await stage.machine("w-0")
        await stage.in_sync("w-0")
        await stage.all_seen()
        before = await stage.everything("w-0")
    async with stage.syncing(resync=0.2):
        await stage.all_seen()
        await stage.all_seen()
        assert await stage.everything("w-0") == before


async def test_a_default_of_the_server_on_the_infra_machine_makes_no_loop(stage: Stage) -> None:
    """OCPBUGS-86770: identityRef.type is set by the server, and conversion does not know it."""
    await stage.fleet()
    async with stage.syncing():
        await stage.machine("w-0", infra=False)
        await stage.infra_machine("w-0")
        reference = {"identityRef": {"name": "cloud", "cloudName": "openstack"}}
        stored = await stage.patch(stage.infra_kind, "w-0", {"spec": reference})
        assert stored["spec"]["identityRef"]["type"] == "Secret"
        await stage.mirror_that("w-0", lambda tree: "cloudsSecret" in str(tree["spec"]["providerSpec"]))
        await stage.in_sync("w-0")
        await stage.all_seen()
        before = await stage.everything("w-0")
        await stage.all_seen()
        assert await stage.everything("w-0") == before


async def test_what_another_is_moving_is_not_touched(stage: Stage) -> None:
    await stage.fleet()
    await stage.machine("w-0")
    await stage.adoptable("w-0", authority="Migrating")
    before = await stage.everything("w-0")
    async with stage.syncing():
        await stage.all_seen()
    assert await stage.everything("w-0") == before


async def test_an_authority_that_nobody_filled_becomes_what_spec_asks_for(stage: Stage) -> None:
    await stage.fleet()
    await stage.machine("w-0")
    await stage.adoptable("w-0", authority="")
    async with stage.syncing():
        mirror = await stage.in_sync("w-0")
        assert mirror["status"]["authoritativeAPI"] == "ClusterAPI"
        made = await stage.make(mapi.Machine, "w-1", {"authoritativeAPI": "MachineAPI", "providerSpec": {}})
        assert "status" not in made
        await stage.mirror_that("w-1", lambda tree: tree.get("status", {}).get("authoritativeAPI") == "MachineAPI")


async def test_an_independent_machine_is_not_touched(stage: Stage) -> None:
    await stage.fleet()
    await stage.machine("w-0", owner=None)
    before = await stage.everything("w-0")
    async with stage.syncing():
        await stage.all_seen()
    assert await stage.everything("w-0") == before
    assert before["mirror"] is None


async def test_an_independent_machine_is_adopted_when_a_user_makes_its_mirror(stage: Stage) -> None:
    await stage.infra_cluster()
    async with stage.syncing():
        await stage.machine("w-0", owner=None)
        await stage.patch(capi.Machine, "w-0", {"status": {"phase": "Running"}}, part="status")
        await stage.all_seen()
        await stage.adoptable("w-0", authority="")
        mirror = await stage.in_sync("w-0")
    assert mirror["status"]["phase"] == "Running"
    assert mirror["spec"]["providerSpec"]["value"]["flavor"] == "m1.large"
    assert held_by_us(mirror)
    assert all(map(held_by_us, (await stage.everything("w-0")).values()))


async def test_a_machine_whose_set_has_no_twin_is_not_touched_until_it_has(stage: Stage) -> None:
    await stage.infra_cluster()
    await stage.source_set()
    await stage.machine("w-0")
    before = await stage.everything("w-0")
    async with stage.syncing():
        await stage.all_seen()
        assert await stage.everything("w-0") == before
        await stage.mirror_set()
        await stage.in_sync("w-0")


@EACH
async def test_a_missing_infra_machine_is_said_and_heals_when_it_comes(stage: Stage, platform: str) -> None:
    await stage.fleet()
    await stage.machine("w-0", infra=False)
    await stage.adoptable("w-0")
    async with stage.syncing():
        said = await stage.reports("w-0", reason="FailedToGetCAPIInfraResources")
        refers = f"{platform}Machine w-0, which Machine {stage.namespaces.cluster_api}/w-0 refers to"
        assert f"{refers}, does not exist: create it" in said["message"]
        assert (said["status"], said["severity"]) == ("False", "Error")
        await stage.infra_machine("w-0")
        await stage.in_sync("w-0")


async def test_a_missing_infra_cluster_is_said_in_an_event_and_heals_when_it_comes(stage: Stage) -> None:
    await stage.source_set()
    await stage.mirror_set()
    async with stage.syncing():
        await stage.machine("w-0")
        told = await stage.told("w-0", "SynchronizationWarning")
        assert told["message"] == (
            "failed to fetch Cluster API infra resources: failed to get Cluster API infrastructure cluster: "
            f'openstackclusters.infrastructure.cluster.x-k8s.io "{CLUSTER}" not found'
        )
        assert told["type"] == "Warning"
        assert told["source"]["component"] == "machine-sync-controller"
        assert told["involvedObject"]["apiVersion"] == "cluster.x-k8s.io/v1beta2"
        await stage.infra_cluster()
        await stage.in_sync("w-0")


async def test_owners_that_cannot_be_converted_are_said_by_their_detail_alone(stage: Stage) -> None:
    await stage.fleet()
    async with stage.syncing():
        cluster = stage.example.platform.infra_cluster
        two = [await stage.reference(capi.MachineSet, "ms"), await stage.reference(cluster, CLUSTER)]
        for name, owners, detail in (
            ("two", two, "metadata.ownerReferences: Too many: 2: must have at most 1 item"),
            ("foreign", two[1:], "unsupported owner kind for owner reference conversion"),
            (
                "version",
                [{**two[0], "apiVersion": "cluster.x-k8s.io/v1beta1"}],
                "unsupported owner kind for owner reference conversion",
            ),
        ):
            await stage.machine(name, owner=None, ownerReferences=owners)
            await stage.adoptable(name)
            said = await stage.reports(name, reason="FailedToConvertCAPIMachineToMAPI")
            assert said["message"] == detail


async def test_a_machine_that_a_set_of_cluster_api_adopts_stays_in_sync(stage: Stage) -> None:
    """Cluster API keeps the Cluster among the owners of the first Machine that we made, and adds the set."""
    await stage.cluster()
    await stage.source_set()
    await stage.mirror_set()
    async with stage.syncing():
        await stage.adoptable("w-0", labels={})
        await stage.patch(mapi.Machine, "w-0", {"spec": {"providerSpec": {"value": dict(stage.example.provider_spec)}}})
        machine = await eventually(lambda: stage.get(capi.Machine, "w-0"), bool, what="the first Machine")
        assert machine is not None
        adopter = await stage.reference(capi.MachineSet, SET, controller=True)
        owners = [*machine["metadata"]["ownerReferences"], adopter]
        assert [owner["kind"] for owner in owners] == ["Cluster", "MachineSet"]
        await stage.patch(capi.Machine, "w-0", {"metadata": {"ownerReferences": owners}})
        await stage.mirror_that("w-0", lambda tree: owner_names(tree) == [SET])
        await stage.in_sync("w-0")


def owner_names(tree: Tree) -> list[str]:
    return [owner["name"] for owner in tree["metadata"].get("ownerReferences", [])]


async def test_a_warning_is_an_event_and_stops_nothing(stage: Stage) -> None:
    await stage.fleet()
    async with stage.syncing():
        await stage.machine("w-0")
        image = {"image": {"filter": {"name": "rhcos", "tags": ["blessed"]}}}
        # Warnings come with what is written, and tags alone are dropped.
        await stage.patch(stage.infra_kind, "w-0", {"spec": {**image, stage.example.size: "huge"}})
        told = await stage.told("w-0", "ConversionWarning")
        assert told["message"] == (
            'spec.image.filter.tags: Invalid value: ["blessed"]: MAPO does not support filtering image by tags'
        )
        assert (told["type"], told["involvedObject"]["apiVersion"]) == ("Warning", "machine.openshift.io/v1beta1")
        await stage.in_sync("w-0")


async def test_a_conversion_error_is_said_and_heals(stage: Stage) -> None:
    await stage.fleet()
    async with stage.syncing():
        await stage.machine("w-0")
        in_sync = await stage.in_sync("w-0")
        await stage.patch(capi.Machine, "w-0", {"spec": {"deletion": {"nodeDrainTimeoutSeconds": 60}}})
        said = await stage.reports("w-0", reason="FailedToConvertCAPIMachineToMAPI")
        assert said["message"] == (
            "failed to convert Cluster API machine to Machine API machine: "
            "spec.deletion.nodeDrainTimeoutSeconds: Invalid value: 60: nodeDrainTimeoutSeconds is not supported"
        )
        mirror = await stage.get(mapi.Machine, "w-0")
        assert mirror is not None
        assert mirror["spec"] == in_sync["spec"]
        assert mirror["status"]["synchronizedGeneration"] == in_sync["status"]["synchronizedGeneration"]
        await stage.patch(capi.Machine, "w-0", {"spec": {"deletion": None}})
        await stage.in_sync("w-0")


async def test_what_the_api_server_refuses_is_said_and_others_go_on(stage: Stage) -> None:
    await stage.fleet()
    async with stage.syncing():
        await stage.machine("w-0")
        await stage.in_sync("w-0")
        policy = _policy(stage, "Deny")
        await stage.plane.apply(*policy)
        await eventually(lambda: _is_denied(stage), bool, what="the policy in force")
        await stage.resize("w-0", "huge")
        said = await stage.reports("w-0", reason="FailedToUpdateMAPIMachine")
        assert said["message"].startswith(
            "unable to ensure Machine API machine: failed to update Machine API machine: "
        )
        assert "not today" in said["message"]
        await stage.all_seen()
        await _remove(stage, policy)
        await stage.in_sync("w-0")


async def test_what_the_api_server_warns_of_is_logged_once(stage: Stage) -> None:
    await stage.fleet()
    sizes = itertools.count()
    with captured() as lines:

        async def warnings() -> list[str]:
            await stage.resize("w-0", f"size-{next(sizes)}")
            said = [line for line in lines if line["event"] == "the API server warns"]
            return [line["warning"] for line in said if line["level"] == "warning"]

        async with stage.syncing():
            await stage.machine("w-0")
            await stage.in_sync("w-0")
            policy = _policy(stage, "Warn")
            await stage.plane.apply(*policy)
            await eventually(warnings, bool, what="a warning in the log")
            await stage.resize("w-0", "huge")
            await stage.mirror_that("w-0", lambda tree: stage.example.provider_size(tree) == "huge")
            [warning] = await warnings()
        await _remove(stage, policy)
    assert warning.endswith(": not today")


async def _remove(stage: Stage, policy: list[dict[str, Any]]) -> None:
    for plural in ("validatingadmissionpolicybindings", "validatingadmissionpolicies"):
        path = f"/apis/admissionregistration.k8s.io/v1/{plural}/{policy[0]['metadata']['name']}"
        await stage.admin.request("DELETE", path)


def _policy(stage: Stage, action: str) -> list[dict[str, Any]]:
    name = f"{action.lower()}-{stage.namespaces.machine_api}"
    api = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": name}}
    rule = {
        "apiGroups": ["machine.openshift.io"],
        "apiVersions": ["v1beta1"],
        "operations": ["UPDATE"],
        "resources": ["machines"],
    }
    match = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": stage.namespaces.machine_api}}}
    return [
        {
            **api,
            "kind": "ValidatingAdmissionPolicy",
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": [rule]},
                "validations": [{"expression": "!object.metadata.name.startsWith('w-')", "message": "not today"}],
            },
        },
        {
            **api,
            "kind": "ValidatingAdmissionPolicyBinding",
            "spec": {"policyName": name, "validationActions": [action], "matchResources": match},
        },
    ]


async def _is_denied(stage: Stage) -> bool:
    try:
        await stage.patch(mapi.Machine, "w-0", {"metadata": {"annotations": {"probe": "x"}}})
    except ApiError as error:
        return "not today" in str(error)
    return False
