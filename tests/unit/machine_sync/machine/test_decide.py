"""Which case a machine is, row by row of the table in `windlass.machine_sync.machine.decide`."""

from typing import Any

import msgspec
import pytest

from windlass.api import capi, mapi
from windlass.kube.errors import Forbidden, Status
from windlass.kube.plan import AddFinalizer, Create, Done, Emit, Merge, Outcome, Plan, Result, Retry
from windlass.kube.seen import NotServedKind
from windlass.machine_sync.machine.decide import decide

from .cases import (
    EARLIER,
    GONE,
    INFRA,
    NOW,
    SOURCE,
    SOURCE_SET,
    SYNC,
    Tree,
    carried_out,
    changed,
    snapshot,
)


def decided(**case: Any) -> Plan:
    return decide(snapshot(**case), now=NOW)


def mirrored() -> Tree:
    """The mirror as two rounds leave it: created, then its status written."""
    created = carried_out({}, decided())
    return carried_out(created, decided(mirror=created))


def condition(plan: Plan) -> Tree:
    """The Synchronized condition that the plan writes."""
    (write,) = [action for action in plan.needed if isinstance(action, Merge) and action.part == "status"]
    (found,) = [c for c in write.desired["status"]["conditions"] if c["type"] == "Synchronized"]
    return dict(found)


def notes(plan: Plan) -> list[tuple[str, str]]:
    return [(action.reason, action.note) for action in plan.actions if isinstance(action, Emit)]


class TestNoMirror:
    def test_neither_side_exists(self) -> None:
        assert decided(source=None).needed == ()

    @pytest.mark.parametrize(
        "owners",
        [
            [],
            [{"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineSet", "name": "ms", "uid": "u"}],
            [{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "c", "uid": "u"}],
        ],
    )
    def test_ms10_a_machine_without_a_v1beta2_machine_set_is_independent(self, owners: list[Tree]) -> None:
        assert decided(source=changed(SOURCE, metadata__ownerReferences=owners)).needed == ()

    def test_ms12_a_machine_whose_set_has_no_twin_is_left_alone(self) -> None:
        assert decided(mirror_set=None).needed == ()

    def test_ms13_a_machine_whose_set_has_a_twin_gets_a_mirror(self) -> None:
        plan = decided()
        (create,) = plan.needed
        assert isinstance(create, Create)
        assert create.target.kind is mapi.Machine
        assert (create.target.namespace, create.target.name) == ("openshift-machine-api", "w-0")
        assert create.body["spec"]["authoritativeAPI"] == "ClusterAPI"
        assert create.body["metadata"]["finalizers"] == ["machine.machine.openshift.io", SYNC]
        assert create.body["metadata"]["ownerReferences"] == [
            {
                "apiVersion": "machine.openshift.io/v1beta1",
                "kind": "MachineSet",
                "name": "ms",
                "uid": "mapi-ms-uid",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
        assert "status" not in create.body

    def test_finalizers_come_before_the_mirror(self) -> None:
        plan = decided(source=changed(SOURCE, metadata__finalizers=[]), infra=changed(INFRA, metadata__finalizers=[]))
        assert [type(action) for action in plan.needed] == [AddFinalizer, AddFinalizer, Create]

    def test_a_twin_that_is_being_deleted_gets_no_new_mirrors(self) -> None:
        going: Tree = {"metadata": {"name": "ms", "uid": "mapi-ms-uid", **GONE}}
        assert decided(mirror_set=going).needed == ()

    def test_an_owner_of_an_earlier_set_of_that_name_does_not_count(self) -> None:
        assert decided(source_set=changed(SOURCE_SET, metadata__uid="made-anew")).needed == ()

    def test_a_kind_that_is_not_served_is_said_and_waited_for(self) -> None:
        case = msgspec.structs.replace(snapshot(), mirror=NotServedKind("no CRD"))
        assert decide(case, now=NOW) == Plan.nothing("no CRD")

    def test_ms26_a_reference_that_is_empty_is_an_event_without_retry(self) -> None:
        plan = decided(source=changed(SOURCE, spec__clusterName=""))
        text = "machine openshift-cluster-api/w-0: cluster name is empty in Cluster API machine spec"
        assert notes(plan) == [("SynchronizationError", f"failed to fetch Cluster API infra resources: {text}")]
        assert isinstance(plan.next, Done)

    def test_a_missing_infra_cluster_is_an_event_and_retried(self) -> None:
        plan = decided(infra_cluster=None)
        text = (
            "failed to fetch Cluster API infra resources: failed to get Cluster API infrastructure cluster: "
            'openstackclusters.infrastructure.cluster.x-k8s.io "c" not found'
        )
        assert notes(plan) == [("SynchronizationWarning", text)]
        assert plan.next == Retry(text)

    def test_what_cannot_be_converted_is_an_event_and_retried(self) -> None:
        plan = decided(source=changed(SOURCE, spec__version="v1"))
        text = (
            "failed to convert Cluster API machine to Machine API machine: "
            'spec.version: Invalid value: "v1": version is not supported'
        )
        assert notes(plan) == [("SynchronizationWarning", text)]
        assert plan.next == Retry(text)


class TestMirror:
    def test_a_created_mirror_gets_status_condition_generation_and_authority_in_one_write(self) -> None:
        created = carried_out({}, decided())
        (write,) = decided(mirror=created).needed
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

    def test_ms3_nothing_is_written_when_all_is_in_sync(self) -> None:
        assert decided(mirror=mirrored()).needed == ()

    def test_ms6_a_change_of_the_infra_machine_reaches_the_provider_spec(self) -> None:
        plan = decided(mirror=mirrored(), infra=changed(INFRA, spec__flavor="m1.huge"))
        content, *_ = plan.needed
        assert isinstance(content, Merge)
        assert content.patch["spec"] == {"providerSpec": {"value": {"flavor": "m1.huge"}}}

    def test_a_provider_spec_field_that_is_gone_is_removed(self) -> None:
        keyed = changed(INFRA, spec__sshKeyName="k")
        before = decided(infra=keyed)
        mirror = carried_out({}, before)
        content, *_ = decided(mirror=mirror).needed
        assert isinstance(content, Merge)
        assert content.patch["spec"]["providerSpec"]["value"] == {"keyName": None}

    def test_a_default_that_the_server_set_on_the_infra_machine_writes_nothing(self) -> None:
        with_ref = {"spec__identityRef": {"name": "cloud", "cloudName": "openstack"}}
        mirror = carried_out({}, decided(infra=changed(INFRA, **with_ref)))
        mirror = carried_out(mirror, decided(mirror=mirror, infra=changed(INFRA, **with_ref)))
        defaulted = changed(INFRA, **with_ref, spec__identityRef__type="Secret")
        assert decided(mirror=mirror, infra=defaulted).needed == ()

    def test_the_requested_authority_is_kept(self) -> None:
        asked = changed(mirrored(), spec__authoritativeAPI="MachineAPI")
        assert decided(mirror=asked).needed == ()

    def test_only_the_status_changed(self) -> None:
        plan = decided(mirror=mirrored(), source=changed(SOURCE, status__phase="Failed"))
        (write,) = plan.needed
        assert isinstance(write, Merge)
        assert write.patch == {"status": {"phase": "Failed"}}

    def test_a_status_field_that_is_gone_is_removed(self) -> None:
        (write,) = decided(mirror=mirrored(), source=changed(SOURCE, status__nodeRef=None)).needed
        assert isinstance(write, Merge)
        assert write.patch == {"status": {"nodeRef": None}}

    def test_conditions_and_last_operation_of_others_stay(self) -> None:
        paused = {"type": "Paused", "status": "True", "lastTransitionTime": EARLIER, "reason": "R"}
        mirror = mirrored()
        mirror["status"]["conditions"].insert(0, paused)
        mirror["status"]["lastOperation"] = {"type": "Update"}
        (write,) = decided(mirror=mirror, source=changed(SOURCE, metadata__generation=8)).needed
        assert isinstance(write, Merge)
        assert write.patch == {"status": {"synchronizedGeneration": 8}}

    def test_a_generation_that_went_back_is_not_written(self) -> None:
        assert decided(mirror=mirrored(), source=changed(SOURCE, metadata__generation=1)).needed == ()

    def test_the_transition_time_moves_with_the_status_only(self) -> None:
        mirror = mirrored()
        mirror["status"]["conditions"][0]["lastTransitionTime"] = EARLIER
        mirror["status"]["conditions"][0]["message"] = "in other words"
        assert condition(decided(mirror=mirror))["lastTransitionTime"] == EARLIER
        failing = condition(decided(mirror=mirror, source=changed(SOURCE, spec__version="v1")))
        assert failing["lastTransitionTime"] == "2026-05-01T12:00:00Z"

    def test_ms16_a_missing_infra_machine_is_a_condition(self) -> None:
        plan = decided(mirror=mirrored(), infra=None)
        assert condition(plan) == {
            "type": "Synchronized",
            "status": "False",
            "severity": "Error",
            "reason": "FailedToConvertCAPIMachineToMAPI",
            "message": "failed to convert Cluster API machine to Machine API machine: "
            "unexpected InfraMachine type, expected OpenStackMachine, got <nil>",
            "lastTransitionTime": "2026-05-01T12:00:00Z",
        }
        assert isinstance(plan.next, Retry)

    def test_a_failure_keeps_the_status_and_the_generation(self) -> None:
        failing = changed(SOURCE, spec__version="v1", metadata__generation=8, status__phase="Failed")
        (write,) = decided(mirror=mirrored(), source=failing).needed
        assert isinstance(write, Merge)
        assert list(write.patch["status"]) == ["conditions"]

    def test_a_failure_is_written_once(self) -> None:
        failing = changed(SOURCE, spec__version="v1")
        mirror = carried_out(mirrored(), decided(mirror=mirrored(), source=failing))
        again = decided(mirror=mirror, source=failing)
        assert again.needed == ()
        assert isinstance(again.next, Retry)

    @pytest.mark.parametrize(
        ("owners", "detail"),
        [
            ([{"apiVersion": "v1", "kind": "Pod", "name": n, "uid": n} for n in "pq"], "must have at most 1 item"),
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
    def test_ms27_owners_that_cannot_be_converted_are_a_condition_without_retry(
        self, owners: list[Tree], detail: str
    ) -> None:
        plan = decided(mirror=mirrored(), source=changed(SOURCE, metadata__ownerReferences=owners))
        assert (condition(plan)["reason"], condition(plan)["message"]) == ("FailedToConvertCAPIMachineToMAPI", detail)
        assert isinstance(plan.next, Done)

    def test_an_owner_without_a_twin_is_a_condition_and_retried(self) -> None:
        plan = decided(mirror=mirrored(), mirror_set=None)
        text = (
            "failed to convert Cluster API machine owner references to Machine API: "
            'could not find Machine API machine set: machinesets.machine.openshift.io "ms" not found'
        )
        assert condition(plan)["message"] == text
        assert plan.next == Retry(text)

    def test_an_owner_that_is_the_cluster_is_dropped(self) -> None:
        owner = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "c", "uid": "c"}
        content, *_ = decided(mirror=mirrored(), source=changed(SOURCE, metadata__ownerReferences=[owner])).needed
        assert isinstance(content, Merge)
        assert content.patch["metadata"] == {"ownerReferences": None}

    def test_ms28_a_warning_is_an_event_on_the_mirror(self) -> None:
        tagged = changed(INFRA, spec__image__filter={"name": "rhcos", "tags": ["t"]})
        (warning,) = [a for a in decided(mirror=mirrored(), infra=tagged).actions if isinstance(a, Emit)]
        assert (warning.type, warning.reason) == ("Warning", "ConversionWarning")
        assert warning.target.kind is mapi.Machine
        assert warning.note.startswith("spec.image.filter.tags: Invalid value:")

    @pytest.mark.parametrize("authority", ["Migrating", "Both"])
    def test_ms9_another_authority_is_left_alone(self, authority: str) -> None:
        mirror = changed(mirrored(), status__authoritativeAPI=authority)
        assert decided(mirror=mirror, source=changed(SOURCE, spec__version="v1")).needed == ()

    def test_mg2_an_empty_authority_is_filled_from_spec(self) -> None:
        mirror = changed(mirrored(), spec__authoritativeAPI="MachineAPI", status__authoritativeAPI=None)
        (write,) = decided(mirror=mirror).needed
        assert isinstance(write, Merge)
        assert write.patch == {"status": {"authoritativeAPI": "MachineAPI"}}

    def test_a_mirror_without_its_source_says_so(self) -> None:
        plan = decided(mirror=mirrored(), source=None)
        assert condition(plan)["reason"] == "CAPIMachineNotFound"
        assert condition(plan)["message"] == "Cluster API machine not found"

    def test_a_mirror_that_cannot_be_read_is_told_in_an_event(self) -> None:
        broken = changed(mirrored(), spec__lifecycleHooks="none")
        plan = decided(mirror=broken)
        ((reason, note),) = notes(plan)
        assert reason == "SynchronizationError"
        assert "lifecycleHooks" in note
        assert len(plan.actions) == 1

    def test_a_source_that_cannot_be_read_is_a_condition_without_retry(self) -> None:
        plan = decided(mirror=mirrored(), source=changed(SOURCE, spec="none"))
        assert condition(plan)["reason"] == "FailedToConvertCAPIMachineToMAPI"
        assert "spec" in condition(plan)["message"]
        assert isinstance(plan.next, Done)

    def test_an_infra_machine_that_cannot_be_read_is_a_condition_that_names_the_field(self) -> None:
        plan = decided(mirror=mirrored(), infra=changed(INFRA, spec__ports="all"))
        assert condition(plan)["reason"] == "FailedToGetCAPIInfraResources"
        assert "ports" in condition(plan)["message"]


class TestRefusedWrites:
    def refusal(self, index: int, **case: Any) -> Plan:
        seen = snapshot(**case)
        action = decide(seen, now=NOW).needed[index]
        error = Forbidden(Status(code=403, message="no"))
        return decide(msgspec.structs.replace(seen, last=Outcome((Result(action, error=error),))), now=NOW)

    def test_a_create_that_is_refused_is_an_event(self) -> None:
        text = "unable to ensure Machine API machine: failed to create Machine API machine: no"
        plan = self.refusal(0)
        assert notes(plan) == [("SynchronizationWarning", text)]
        assert plan.next == Retry(text)

    def test_an_update_that_is_refused_is_a_condition_with_its_own_reason(self) -> None:
        plan = self.refusal(0, mirror=mirrored(), infra=changed(INFRA, spec__flavor="f"))
        assert condition(plan)["reason"] == "FailedToUpdateMAPIMachine"
        assert condition(plan)["message"].endswith("failed to update Machine API machine: no")
        assert isinstance(plan.next, Retry)

    def test_a_finalizer_that_is_refused_blames_the_object_it_was_for(self) -> None:
        bare = {"mirror": mirrored(), "source": changed(SOURCE, metadata__finalizers=[])}
        assert condition(self.refusal(0, **bare))["reason"] == "FailedToUpdateCAPIMachine"
        bare = {"mirror": mirrored(), "infra": changed(INFRA, metadata__finalizers=[])}
        assert condition(self.refusal(0, **bare))["reason"] == "FailedToUpdateCAPIInfraMachine"


def test_every_write_is_to_what_was_observed() -> None:
    plan = decided(mirror=mirrored(), source=changed(SOURCE, metadata__finalizers=[], status__phase="Failed"))
    finalizer, status = plan.needed
    assert (finalizer.target.kind, finalizer.target.uid, finalizer.target.resource_version) == (
        capi.Machine,
        "capi-uid",
        "70",
    )
    assert (status.target.kind, status.target.uid) == (mapi.Machine, "mapi-uid")
