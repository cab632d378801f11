"""Cluster API is authoritative: what the mirror in the Machine API becomes, and what is said when it cannot."""

from typing import Any

import pytest

from windlass.api import capi, mapi
from windlass.kube.control.plan import Done, Emit, Merge, Retry

from .aws_cases import AWS_INFRASTRUCTURE, on_aws, on_aws_under_cluster_api
from .cases import (
    CAPI_MACHINE,
    EARLIER,
    INFRA,
    MAPI_SET,
    Tree,
    after,
    changed,
    condition,
    decided,
    mirrored,
    notes,
    rounds,
    settled,
    writes,
)
from .migration_cases import aws_under_cluster_api


def test_a_created_mirror_gets_status_condition_generation_and_authority_in_one_write() -> None:
    created = after(decided())
    (write,) = decided(**created).needed
    assert isinstance(write, Merge)
    assert write.patch["status"] == {
        "authoritativeAPI": "ClusterAPI",
        "phase": "Running",
        "nodeRef": {"apiVersion": "v1", "kind": "Node", "name": "node-0"},
        "synchronizedGeneration": 7,
        "conditions": [
            {
                "type": "Synchronized",
                "status": "True",
                "reason": "ResourceSynchronized",
                "message": "Successfully synchronized CAPI Machine to MAPI",
                "lastTransitionTime": "2026-05-01T12:00:00Z",
            }
        ],
    }


def test_nothing_is_written_when_all_is_in_sync() -> None:
    assert decided(machine_api=mirrored()).needed == ()


def test_a_change_of_the_infra_machine_reaches_the_provider_spec() -> None:
    plan = decided(machine_api=mirrored(), infra_machine=changed(INFRA, spec__flavor="m1.huge"))
    content, *_ = plan.needed
    assert isinstance(content, Merge)
    assert content.patch["spec"] == {"providerSpec": {"value": {"flavor": "m1.huge"}}}


def test_what_the_webhook_of_the_machine_api_filled_in_stays() -> None:
    aws = on_aws_under_cluster_api()
    mirror = after(decided(**aws), **aws)["machine_api"]
    filled_in = changed(
        mirror,
        spec__providerSpec__value__userDataSecret={"name": "worker-user-data"},
        spec__providerSpec__value__placement__region="us-east-1",
    )
    assert provider_spec_patch(**{**aws, "machine_api": filled_in}) is None
    larger = changed(aws["infra_machine"], spec__instanceType="m6i.2xlarge")
    assert provider_spec_patch(**{**aws, "machine_api": filled_in, "infra_machine": larger}) == {
        "instanceType": "m6i.2xlarge"
    }


def test_what_conversion_makes_goes_before_what_the_webhook_filled_in() -> None:
    aws = on_aws_under_cluster_api(region="eu-west-1", user_data="ours")
    mirror = after(decided(**aws), **aws)["machine_api"]
    filled_in = changed(mirror, spec__providerSpec__value__userDataSecret={"name": "worker-user-data"})
    assert provider_spec_patch(**{**aws, "machine_api": filled_in}) == {"userDataSecret": {"name": "ours"}}


def provider_spec_patch(**case: Any) -> Any:
    """What is patched of the mirror's provider spec; None if nothing is."""
    for action in decided(**case).needed:
        if isinstance(action, Merge) and action.target.kind is mapi.Machine and "spec" in action.patch:
            return action.patch["spec"]["providerSpec"]["value"]
    return None


def test_a_provider_spec_field_that_is_gone_is_removed() -> None:
    keyed = changed(INFRA, spec__sshKeyName="k")
    before = decided(infra_machine=keyed)
    mirror = after(before)["machine_api"]
    content, *_ = decided(machine_api=mirror).needed
    assert isinstance(content, Merge)
    assert content.patch["spec"]["providerSpec"]["value"] == {"keyName": None}


def test_a_region_that_only_the_mirror_knows_is_kept() -> None:
    """Infrastructure names none, and so does the AWSCluster that is made from it; the Machine API needs one."""
    nameless = {
        **on_aws(cluster={"region": ""}),
        "infrastructure": changed(AWS_INFRASTRUCTURE, status__platformStatus__aws={}),
    }
    behind = settled(**nameless)
    moved = {
        **behind,
        "machine_api": changed(
            behind["machine_api"],
            spec__authoritativeAPI="ClusterAPI",
            status__authoritativeAPI="ClusterAPI",
            status__synchronizedGeneration=0,
        ),
        "cluster_api": changed(behind["cluster_api"], metadata__annotations={}),
        "infra_machine": changed(behind["infra_machine"], spec__instanceType="m6i.huge"),
    }
    spec = settled(**moved)["machine_api"]["spec"]["providerSpec"]["value"]
    assert spec["placement"] == {"region": "us-east-1", "availabilityZone": "us-east-1a"}
    assert spec["instanceType"] == "m6i.huge"


def test_a_default_that_the_server_set_on_the_infra_machine_writes_nothing() -> None:
    with_ref = {"spec__identityRef": {"name": "cloud", "cloudName": "openstack"}}
    mirror = mirrored(infra_machine=changed(INFRA, **with_ref))
    defaulted = changed(INFRA, **with_ref, spec__identityRef__type="Secret")
    assert decided(machine_api=mirror, infra_machine=defaulted).needed == ()


def test_a_provider_spec_that_says_the_same_in_another_order_is_left_as_it_is() -> None:
    case = aws_under_cluster_api()
    tags = {"spec__additionalTags": {"a": "1", "b": "2"}}
    case = settled(**{**case, "infra_machine": changed(case["infra_machine"], **tags)})
    value = case["machine_api"]["spec"]["providerSpec"]["value"]
    assert len(value["tags"]) > 1
    reordered = changed(case["machine_api"], spec__providerSpec__value__tags=value["tags"][::-1])
    assert decided(**{**case, "machine_api": reordered}).needed == ()


def test_what_the_user_asked_for_is_kept() -> None:
    asked = changed(mirrored(), spec__authoritativeAPI="MachineAPI")
    for infra in (INFRA, changed(INFRA, spec__flavor="m1.huge")):
        plan = decided(machine_api=asked, infra_machine=infra)
        assert plan.needed
        assert "authoritativeAPI" not in str([getattr(write, "patch", {}).get("spec") for write in plan.needed])


def test_a_mirror_keeps_the_labels_by_which_its_set_finds_it() -> None:
    """Those of Cluster API are left behind, and a set in charge makes a machine for each that it does not find."""
    by_name = changed(MAPI_SET, spec__selector={"matchLabels": {"cluster.x-k8s.io/set-name": "ms"}})
    named = changed(CAPI_MACHINE, metadata__labels={"cluster.x-k8s.io/set-name": "ms", "cluster.x-k8s.io/other": "1"})
    mirror = mirrored(machine_api_set=by_name, cluster_api=named)
    assert mirror["metadata"]["labels"]["cluster.x-k8s.io/set-name"] == "ms"
    assert "cluster.x-k8s.io/other" not in mirror["metadata"]["labels"]
    assert decided(machine_api=mirror, machine_api_set=by_name, cluster_api=named).needed == ()


def test_only_the_status_changed() -> None:
    plan = decided(machine_api=mirrored(), cluster_api=changed(CAPI_MACHINE, status__phase="Failed"))
    (write,) = plan.needed
    assert isinstance(write, Merge)
    assert write.patch == {"status": {"phase": "Failed"}}


def test_a_status_field_that_is_gone_is_removed() -> None:
    (write,) = decided(machine_api=mirrored(), cluster_api=changed(CAPI_MACHINE, status__nodeRef=None)).needed
    assert isinstance(write, Merge)
    assert write.patch == {"status": {"nodeRef": None}}


def test_conditions_and_last_operation_of_others_stay() -> None:
    paused = {"type": "Paused", "status": "True", "lastTransitionTime": EARLIER, "reason": "R"}
    mirror = mirrored()
    mirror["status"]["conditions"].insert(0, paused)
    mirror["status"]["lastOperation"] = {"type": "Update"}
    (write,) = decided(machine_api=mirror, cluster_api=changed(CAPI_MACHINE, metadata__generation=8)).needed
    assert isinstance(write, Merge)
    assert write.patch == {"status": {"synchronizedGeneration": 8}}


def test_a_generation_that_went_back_is_noted_by_way_of_migrating() -> None:
    """The machine was recreated. The Machine API's controllers need not say anything: nothing changes for them."""
    recreated = changed(CAPI_MACHINE, metadata__generation=1, metadata__uid="anew")
    left, back, noted = rounds(machine_api=mirrored(), cluster_api=recreated)
    statuses = [plan.needed[-1].desired["status"] for plan in (left, back, noted)]  # type: ignore[attr-defined]
    said = [(one["authoritativeAPI"], one["synchronizedAPI"], one["synchronizedGeneration"]) for one in statuses]
    assert said == [("Migrating", "ClusterAPI", 7), ("ClusterAPI", "ClusterAPI", 0), ("ClusterAPI", "ClusterAPI", 1)]
    assert not any(kind != "Merge status" for plan in (left, back, noted) for kind, _ in writes(plan))


def test_the_transition_time_moves_with_the_status_only() -> None:
    mirror = mirrored()
    mirror["status"]["conditions"][0]["lastTransitionTime"] = EARLIER
    mirror["status"]["conditions"][0]["message"] = "in other words"
    assert condition(decided(machine_api=mirror))["lastTransitionTime"] == EARLIER
    failing = condition(decided(machine_api=mirror, cluster_api=changed(CAPI_MACHINE, spec__version="v1")))
    assert failing["lastTransitionTime"] == "2026-05-01T12:00:00Z"


TOO_MANY = "metadata.ownerReferences: Too many: 2: must have at most 1 item"
CLUSTER_OWNER: Tree = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "c", "uid": "cluster-uid"}


def test_of_a_cluster_and_the_set_that_adopted_the_machine_the_set_is_its_owner() -> None:
    (adopter,) = CAPI_MACHINE["metadata"]["ownerReferences"]
    for owners in ([CLUSTER_OWNER, adopter], [adopter, CLUSTER_OWNER]):
        mirror = mirrored(cluster_api=changed(CAPI_MACHINE, metadata__ownerReferences=owners))
        assert [(owner["kind"], owner["name"]) for owner in mirror["metadata"]["ownerReferences"]] == [
            ("MachineSet", "ms")
        ]
        assert mirror["status"]["conditions"][0]["status"] == "True"


def test_two_owners_of_which_the_cluster_is_the_controller_cannot_be_converted() -> None:
    adopter = {**CAPI_MACHINE["metadata"]["ownerReferences"][0], "controller": False}
    owners = [{**CLUSTER_OWNER, "controller": True}, adopter]
    plan = decided(machine_api=mirrored(), cluster_api=changed(CAPI_MACHINE, metadata__ownerReferences=owners))
    assert condition(plan)["message"] == TOO_MANY
    remedy = "Remove the owner references of the Machine except its controller's."
    assert notes(plan) == [("SynchronizationError", f"{TOO_MANY}. {remedy}")]


def test_a_missing_infra_machine_is_a_condition() -> None:
    plan = decided(machine_api=mirrored(), infra_machine=None)
    assert condition(plan) == {
        "type": "Synchronized",
        "status": "False",
        "severity": "Error",
        "reason": "FailedToGetCAPIInfraResources",
        "message": "failed to fetch Cluster API infra resources: OpenStackMachine w-0-infra, which Machine "
        "openshift-cluster-api/w-0 refers to, does not exist: create it, or correct spec.infrastructureRef of that "
        "Machine; if its instance is gone, delete that Machine",
        "lastTransitionTime": "2026-05-01T12:00:00Z",
    }
    assert isinstance(plan.next, Retry)


def test_a_failure_keeps_the_status_and_the_generation() -> None:
    failing = changed(CAPI_MACHINE, spec__version="v1", metadata__generation=8, status__phase="Failed")
    event, write = decided(machine_api=mirrored(), cluster_api=failing).needed
    assert isinstance(event, Emit)
    assert isinstance(write, Merge)
    assert list(write.patch["status"]) == ["conditions"]


def test_a_failure_is_written_once() -> None:
    failing = changed(CAPI_MACHINE, spec__version="v1")
    once = {"machine_api": mirrored(), "cluster_api": failing}
    again = decided(**after(decided(**once), **once))
    assert again.needed == ()
    assert isinstance(again.next, Retry)


@pytest.mark.parametrize(
    ("owners", "detail"),
    [
        ([{"apiVersion": "v1", "kind": "Pod", "name": n, "uid": n} for n in "pq"], TOO_MANY),
        (
            [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "p"}],
            "unsupported owner kind for owner reference conversion",
        ),
        (
            [{"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "name": "c", "uid": "c"}],
            "unsupported owner kind for owner reference conversion",
        ),
    ],
)
def test_owners_that_cannot_be_converted_are_a_condition_without_retry(owners: list[Tree], detail: str) -> None:
    plan = decided(machine_api=mirrored(), cluster_api=changed(CAPI_MACHINE, metadata__ownerReferences=owners))
    assert (condition(plan)["reason"], condition(plan)["message"]) == ("FailedToConvertCAPIMachineToMAPI", detail)
    assert isinstance(plan.next, Done)


def test_an_owner_without_a_twin_is_a_condition_and_retried() -> None:
    plan = decided(machine_api=mirrored(), machine_api_set=None)
    text = (
        "failed to convert Cluster API machine owner references to Machine API: "
        'could not find Machine API machine set: machinesets.machine.openshift.io "ms" not found'
    )
    assert condition(plan)["message"] == text
    assert plan.next == Retry(text)


def test_an_owner_that_is_the_cluster_is_dropped() -> None:
    owner = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "c", "uid": "c"}
    content, *_ = decided(
        machine_api=mirrored(), cluster_api=changed(CAPI_MACHINE, metadata__ownerReferences=[owner])
    ).needed
    assert isinstance(content, Merge)
    assert content.patch["metadata"] == {"ownerReferences": None}


def test_a_warning_is_an_event_on_the_mirror() -> None:
    tagged = changed(INFRA, spec__image__filter={"name": "rhcos", "tags": ["t"]})
    lossy = decided(machine_api=mirrored(), infra_machine=tagged)
    assert lossy.needed == (), "what was said when it was written is not said again"
    behind = changed(mirrored(), status__phase="Provisioned")
    (warning,) = [a for a in decided(machine_api=behind, infra_machine=tagged).actions if isinstance(a, Emit)]
    assert (warning.type, warning.reason) == ("Warning", "ConversionWarning")
    assert warning.target.kind is mapi.Machine
    assert warning.note.startswith("spec.image.filter.tags: Invalid value:")


@pytest.mark.parametrize("authority", ["Migrating", "Both"])
def test_another_authority_is_left_alone(authority: str) -> None:
    mirror = changed(mirrored(), status__authoritativeAPI=authority)
    assert decided(machine_api=mirror, cluster_api=changed(CAPI_MACHINE, spec__version="v1")).needed == ()


def test_an_empty_authority_is_filled_from_spec_in_the_one_status_write() -> None:
    (write,) = decided(machine_api=changed(mirrored(), status__authoritativeAPI=None)).needed
    assert isinstance(write, Merge)
    assert write.patch == {"status": {"authoritativeAPI": "ClusterAPI"}}


def test_a_mirror_that_cannot_be_read_is_told_in_an_event() -> None:
    broken = changed(mirrored(), spec__lifecycleHooks="none")
    plan = decided(machine_api=broken)
    ((reason, note),) = notes(plan)
    assert reason == "SynchronizationError"
    assert "lifecycleHooks" in note
    assert len(plan.actions) == 1


def test_a_source_that_cannot_be_read_is_a_condition_without_retry() -> None:
    plan = decided(machine_api=mirrored(), cluster_api=changed(CAPI_MACHINE, spec="none"))
    assert condition(plan)["reason"] == "FailedToConvertCAPIMachineToMAPI"
    assert "spec" in condition(plan)["message"]
    assert isinstance(plan.next, Done)


def test_an_infra_machine_that_cannot_be_read_is_a_condition_that_names_the_field() -> None:
    plan = decided(machine_api=mirrored(), infra_machine=changed(INFRA, spec__ports="all"))
    assert condition(plan)["reason"] == "FailedToGetCAPIInfraResources"
    assert "ports" in condition(plan)["message"]


def test_every_write_is_to_what_was_observed() -> None:
    plan = decided(
        machine_api=mirrored(), cluster_api=changed(CAPI_MACHINE, metadata__finalizers=[], status__phase="Failed")
    )
    finalizer, status = plan.needed
    assert (finalizer.target.kind, finalizer.target.uid, finalizer.target.resource_version) == (
        capi.Machine,
        "capi-uid",
        "70",
    )
    assert (status.target.kind, status.target.uid) == (mapi.Machine, "new-mapi-uid")
