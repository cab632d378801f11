"""The Machine API is authoritative: what the mirror in Cluster API becomes, and what is said when it cannot."""

from datetime import timedelta
from typing import Any, Final

import pytest

from windlass.api import capi, mapi
from windlass.kube.clock import rfc3339
from windlass.kube.control.plan import AddFinalizer, Create, Done, Emit, Merge, Plan, Retry, WaitFor
from windlass.machine_sync.constants import BOOKKEEPING

from .aws_cases import on_aws
from .cases import (
    CAPI_MACHINE,
    CAPI_SET,
    CLUSTER_API_FINALIZER,
    INFRA,
    MAPI_MACHINE,
    MAPI_SET,
    NOW,
    PAUSED,
    SYNC,
    Tree,
    after,
    changed,
    condition,
    decided,
    notes,
    rounds,
    settled,
    under_machine_api,
    writes,
)

AUTHORITY, LABELS, ANNOTATIONS, *_ = BOOKKEEPING
ALONE: Tree = {"machine_api": MAPI_MACHINE, "cluster_api": None, "infra_machine": None}
LONE = changed(MAPI_MACHINE, metadata__ownerReferences=None)
PROVIDER_SPEC = "spec__providerSpec__value"


class TestCreation:
    def test_a_machine_without_a_mirror_gets_one_that_is_paused(self) -> None:
        end = settled(**ALONE)
        for side, marks in (("cluster_api", {PAUSED: "", AUTHORITY: "MachineAPI"}), ("infra_machine", {PAUSED: ""})):
            annotations = end[side]["metadata"]["annotations"]
            assert {key: annotations.get(key) for key in (PAUSED, AUTHORITY) if key in annotations} == marks
        assert (
            end["cluster_api"]["spec"]["infrastructureRef"]["name"] == end["infra_machine"]["metadata"]["name"] == "w-0"
        )
        assert end["infra_machine"]["spec"]["flavor"] == "m1.large"
        assert end["machine_api"]["status"]["synchronizedGeneration"] == MAPI_MACHINE["metadata"]["generation"]
        (said,) = end["machine_api"]["status"]["conditions"]
        assert {key: value for key, value in said.items() if key != "lastTransitionTime"} == {
            "type": "Synchronized",
            "status": "True",
            "reason": "ResourceSynchronized",
            "message": "Successfully synchronized MAPI Machine to CAPI",
        }

    def test_it_takes_four_writes_and_true_comes_last(self) -> None:
        made = [write for plan in rounds(**ALONE) for write in writes(plan)]
        assert made == [
            ("Create", "cluster_api"),
            ("Create", "infra_machine"),
            ("Merge status", "cluster_api"),
            ("Merge status", "machine_api"),
        ]

    def test_the_machine_api_is_held_before_there_is_a_mirror(self) -> None:
        first, *_ = rounds(**{**ALONE, "machine_api": changed(MAPI_MACHINE, metadata__finalizers=[])})
        assert writes(first) == [("AddFinalizer", "machine_api"), ("Create", "cluster_api")]

    def test_a_mirror_holds_itself_from_its_creation_on(self) -> None:
        end = settled(**ALONE)
        assert end["cluster_api"]["metadata"]["finalizers"] == [CLUSTER_API_FINALIZER, SYNC]
        assert end["infra_machine"]["metadata"]["finalizers"] == [SYNC]

    @pytest.mark.parametrize(
        "groups",
        [[{"name": "sg"}], [{"uuid": "1"}], [{"filter": {"name": "sg"}}], [{"name": "sg", "filter": {}}], []],
    )
    def test_security_groups_in_the_provider_spec_alone_cause_no_loop(self, groups: list[Tree]) -> None:
        end = settled(**{**ALONE, "machine_api": changed(MAPI_MACHINE, **{f"{PROVIDER_SPEC}__securityGroups": groups})})
        assert end["machine_api"]["status"]["conditions"][0]["status"] == "True"
        assert len(end["infra_machine"]["spec"].get("securityGroups", [])) == len(groups)

    def test_a_machine_without_an_owner_belongs_to_the_cluster_so_that_no_set_adopts_it(self) -> None:
        end = settled(**{**ALONE, "machine_api": LONE})
        assert end["cluster_api"]["metadata"]["ownerReferences"] == [
            {
                "apiVersion": "cluster.x-k8s.io/v1beta2",
                "kind": "Cluster",
                "name": "c",
                "uid": "cluster-uid",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
        assert end["infra_machine"]["metadata"]["ownerReferences"] == [
            {
                "apiVersion": "cluster.x-k8s.io/v1beta2",
                "kind": "Machine",
                "name": "w-0",
                "uid": "new-capi-uid",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
        assert "cluster.x-k8s.io/set-name" not in end["cluster_api"]["metadata"]["labels"]

    @pytest.mark.parametrize(
        ("name", "label"), [("ms", "ms"), ("m" * 63, "m" * 63), ("m" * 64, "hash_NiQWhQ_z"), ("ms.", "hash_KYDR7Q_z")]
    )
    def test_a_machine_of_a_set_belongs_to_the_twin_and_bears_its_name(self, name: str, label: str) -> None:
        owner = {"apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "name": name, "uid": "u"}
        owned = changed(MAPI_MACHINE, metadata__ownerReferences=[owner])
        twin: Tree = {"metadata": {"name": name, "namespace": "openshift-cluster-api", "uid": "twin-uid"}}
        end = settled(**{**ALONE, "machine_api": owned, "cluster_api_set": twin})
        assert end["cluster_api"]["metadata"]["ownerReferences"] == [
            {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet", "name": name, "uid": "twin-uid"}
        ]
        assert end["cluster_api"]["metadata"]["labels"]["cluster.x-k8s.io/set-name"] == label
        assert end["infra_machine"]["metadata"]["labels"]["cluster.x-k8s.io/set-name"] == label

    def test_a_missing_infra_machine_is_made(self) -> None:
        case = {**under_machine_api(), "infra_machine": None}
        first, *_ = rounds(**case)
        assert writes(first) == [("Create", "infra_machine")]
        assert settled(**case)["infra_machine"]["metadata"]["annotations"][PAUSED] == ""


class TestFirstMachineOfClusterApi:
    """Cluster API is authoritative and has no Machine."""

    CASE: Final[Tree] = {
        **ALONE,
        "machine_api": changed(
            MAPI_MACHINE, spec__authoritativeAPI="ClusterAPI", status__authoritativeAPI="ClusterAPI"
        ),
    }

    def test_it_is_made_so_that_its_controllers_act_on_it(self) -> None:
        first, *_ = rounds(**self.CASE)
        assert writes(first) == [("Create", "infra_machine"), ("Create", "cluster_api")]
        for create in first.needed:
            assert isinstance(create, Create)
            assert not {PAUSED, AUTHORITY} & create.body["metadata"].get("annotations", {}).keys()
            assert "status" not in create.body
        assert first.needed[1].body["metadata"]["finalizers"] == [CLUSTER_API_FINALIZER, SYNC]  # type: ignore[attr-defined]

    def test_then_the_machine_api_mirrors_it(self) -> None:
        end = settled(**self.CASE)
        assert end["machine_api"]["status"]["conditions"][0]["message"] == (
            "Successfully synchronized CAPI Machine to MAPI"
        )
        assert end["machine_api"]["spec"]["authoritativeAPI"] == "ClusterAPI"

    def test_before_anything_is_made_for_an_empty_authority_it_is_filled(self) -> None:
        """The Machine API's controllers fill it too, with what spec said when they looked."""
        empty = changed(self.CASE["machine_api"], status__authoritativeAPI=None)
        filled, made, *_ = rounds(**{**self.CASE, "machine_api": empty})
        (write,) = filled.needed
        assert isinstance(write, Merge)
        assert write.patch == {"status": {"authoritativeAPI": "ClusterAPI"}}
        assert ("Create", "cluster_api") in writes(made)

    def test_a_noted_generation_that_is_higher_than_that_of_the_new_machine_goes_down(self) -> None:
        case = {**self.CASE, "machine_api": changed(self.CASE["machine_api"], status__synchronizedGeneration=9)}
        assert settled(**case)["machine_api"]["status"]["synchronizedGeneration"] == 1

    def test_a_set_of_cluster_api_may_adopt_it(self) -> None:
        lone = changed(self.CASE["machine_api"], metadata__ownerReferences=None)
        first, *_ = rounds(**{**self.CASE, "machine_api": lone})
        (owner,) = first.needed[1].body["metadata"]["ownerReferences"]  # type: ignore[attr-defined]
        assert (owner["kind"], owner["controller"]) == ("Cluster", False)

    def test_an_infra_machine_that_is_there_is_taken_if_it_is_what_would_be_made(self) -> None:
        made = settled(**ALONE)["infra_machine"]["spec"]
        there = changed(INFRA, metadata__name="w-0", spec=made)
        first, *_ = rounds(**{**self.CASE, "infra_machine": there})
        assert writes(first) == [("Create", "cluster_api")]

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("identityRef", {"name": "of-somebody", "cloudName": "evil"}),
            ("flavor", "huge"),
            ("providerID", "openstack:///9"),
        ],
    )
    def test_one_that_others_made_otherwise_is_not(self, field: str, value: Any) -> None:
        made = settled(**ALONE)["infra_machine"]["spec"]
        there = changed(INFRA, metadata__name="w-0", spec={**made, field: value})
        plan = decided(**{**self.CASE, "infra_machine": there})
        assert writes(plan) == [("Merge status", "machine_api")]
        assert condition(plan)["reason"] == "FailedToGetCAPIInfraResources"
        assert (
            f"OpenStackMachine w-0 was made beforehand, and differs from what this Machine makes in spec.{field}: "
            in (condition(plan)["message"])
        )

    def test_an_infra_machine_that_is_going_is_waited_for(self) -> None:
        going = changed(INFRA, metadata__name="w-0", metadata__deletionTimestamp="2026-05-01T11:59:00Z")
        assert decided(**{**self.CASE, "infra_machine": going}).needed == ()

    def test_what_cannot_be_converted_is_a_condition_and_nothing_is_made(self) -> None:
        odd = changed(self.CASE["machine_api"], spec__metadata__name="n")
        plan = decided(**{**self.CASE, "machine_api": odd})
        assert writes(plan) == [("Merge status", "machine_api")]
        assert condition(plan)["reason"] == "FailedToConvertMAPIMachineToCAPI"
        assert isinstance(plan.next, Retry)


class TestInSync:
    def test_nothing_is_written(self) -> None:
        assert decided(**under_machine_api()).needed == ()

    def test_a_status_that_says_migrating_leaves_both_alone(self) -> None:
        case = under_machine_api()
        moving = changed(case["machine_api"], status__authoritativeAPI="Migrating", spec__authoritativeAPI="ClusterAPI")
        for infra in (case["infra_machine"], changed(case["infra_machine"], spec__flavor="other")):
            assert decided(**{**case, "machine_api": moving, "infra_machine": infra}).needed == ()

    @pytest.mark.parametrize("part", ["label", "annotation"])
    def test_what_others_put_on_the_mirror_survives(self, part: str) -> None:
        case = under_machine_api()
        for side in ("cluster_api", "infra_machine"):
            case[side]["metadata"].setdefault(f"{part}s", {})["example.com/mine"] = "x"
        assert decided(**case).needed == ()
        case = settled(**{**case, "machine_api": changed(case["machine_api"], **{f"metadata__{part}s": {"new": "y"}})})
        for side in ("cluster_api", "infra_machine"):
            assert case[side]["metadata"][f"{part}s"]["example.com/mine"] == "x"
            assert case[side]["metadata"][f"{part}s"]["new"] == "y"

    @pytest.mark.parametrize("part", ["label", "annotation"])
    def test_what_the_authority_drops_leaves_the_mirror_if_we_put_it_there(self, part: str) -> None:
        labelled = changed(MAPI_MACHINE, **{f"metadata__{part}s": {"a": "1", "b": "2"}})
        case = under_machine_api(machine_api=labelled)
        case = settled(**{**case, "machine_api": changed(case["machine_api"], **{f"metadata__{part}s": {"b": "2"}})})
        for side in ("cluster_api", "infra_machine"):
            assert case[side]["metadata"][f"{part}s"].get("a") is None
            assert case[side]["metadata"][f"{part}s"]["b"] == "2"

    def test_a_label_that_somebody_changed_on_the_mirror_is_put_right(self) -> None:
        case = under_machine_api(machine_api=changed(MAPI_MACHINE, metadata__labels={"a": "1"}))
        case["cluster_api"]["metadata"]["labels"]["a"] = "2"
        assert writes(decided(**case)) == [("Merge", "cluster_api")]
        assert settled(**case)["cluster_api"]["metadata"]["labels"]["a"] == "1"

    @pytest.mark.parametrize("mark", [PAUSED, AUTHORITY])
    def test_a_mark_that_somebody_took_off_the_mirror_is_put_back(self, mark: str) -> None:
        case = under_machine_api()
        del case["cluster_api"]["metadata"]["annotations"][mark]
        assert settled(**case)["cluster_api"]["metadata"]["annotations"][mark] in ("", "MachineAPI")

    def test_an_infra_machine_that_somebody_unpaused_is_paused_again(self) -> None:
        case = under_machine_api()
        del case["infra_machine"]["metadata"]["annotations"][PAUSED]
        assert settled(**case)["infra_machine"]["metadata"]["annotations"][PAUSED] == ""

    def test_the_notes_on_the_machine_api_machine_are_its_own(self) -> None:
        noted = changed(MAPI_MACHINE, metadata__annotations={LABELS: "x=y", ANNOTATIONS: "z", AUTHORITY: "no"})
        annotations = under_machine_api(machine_api=noted)["cluster_api"]["metadata"]["annotations"]
        assert annotations[AUTHORITY] == "MachineAPI"
        assert "x=y" not in annotations[LABELS]
        assert ANNOTATIONS not in annotations


class TestChanges:
    def test_a_change_of_the_spec_is_written_first_and_the_status_with_the_generation_it_gives(self) -> None:
        case = under_machine_api()
        asked = changed(case["machine_api"], spec__providerID="openstack:///2", metadata__generation=5)
        first, second = rounds(**{**case, "machine_api": changed(asked, status__phase="Failed")})
        assert writes(first) == [("Merge", "cluster_api")]
        assert writes(second) == [("Merge status", "cluster_api"), ("Merge status", "machine_api")]
        end = after(second, **after(first, **{**case, "machine_api": changed(asked, status__phase="Failed")}))
        assert end["cluster_api"]["status"]["observedGeneration"] == 2 == end["cluster_api"]["metadata"]["generation"]
        assert end["cluster_api"]["status"]["phase"] == "Failed"
        assert end["machine_api"]["status"]["synchronizedGeneration"] == 5

    def test_a_change_of_the_status_alone_is_one_write(self) -> None:
        case = under_machine_api()
        (plan,) = rounds(**{**case, "machine_api": changed(case["machine_api"], status__phase="Deleting")})
        assert writes(plan) == [("Merge status", "cluster_api")]

    def test_while_the_spec_is_not_in_place_no_status_is_written(self) -> None:
        """Upstream waits for the noted generation, which lets status through while the spec is refused."""
        case = under_machine_api()
        lagging = changed(case["cluster_api"], spec__providerID=None)
        moved = changed(case["machine_api"], status__phase="Failed")
        assert writes(decided(**{**case, "machine_api": moved, "cluster_api": lagging})) == [("Merge", "cluster_api")]

    def test_a_field_of_the_mirror_that_somebody_set_is_put_right(self) -> None:
        case = under_machine_api()
        drifted = changed(case["cluster_api"], spec__providerID="other", spec__bootstrap__dataSecretName="other")
        paused = changed(CAPI_SET, metadata__annotations={PAUSED: ""})
        end = settled(**{**case, "cluster_api": drifted, "cluster_api_set": paused})
        assert end["cluster_api"]["spec"] == case["cluster_api"]["spec"]

    def test_conditions_of_others_on_the_mirror_stay(self) -> None:
        case = under_machine_api()
        paused = {"type": "Paused", "status": "True", "reason": "Paused", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        case["cluster_api"]["status"]["conditions"].append(paused)
        assert decided(**case).needed == ()
        moved = changed(case["machine_api"], status__phase="Failed")
        assert paused in settled(**{**case, "machine_api": moved})["cluster_api"]["status"]["conditions"]

    def test_the_status_that_a_provider_without_a_converted_one_wrote_stays(self) -> None:
        case = under_machine_api()
        case["infra_machine"]["status"] = {"ready": True, "instanceState": "ACTIVE"}
        assert decided(**case).needed == ()


class TestFailures:
    def failing(self, **fields: Any) -> Tree:
        case = under_machine_api()
        return {**case, "machine_api": changed(case["machine_api"], metadata__generation=5, **fields)}

    def test_a_failure_is_an_error_and_keeps_generation_and_status(self) -> None:
        plan = decided(**self.failing(spec__metadata__name="n"))
        event, write = plan.needed
        assert isinstance(write, Merge)
        assert list(write.patch["status"]) == ["conditions"]
        assert isinstance(event, Emit)
        assert event.note.startswith(condition(plan)["message"])
        assert event.note.endswith(
            "Change what is named here in the Machine of the Machine API; until then it is not copied to Cluster API."
        )
        assert (condition(plan)["status"], condition(plan)["severity"]) == ("False", "Error")
        assert condition(plan)["reason"] == "FailedToConvertMAPIMachineToCAPI"
        assert condition(plan)["message"].startswith(
            "failed to convert Machine API machine to Cluster API machine: spec.metadata.name"
        )

    def test_it_is_written_once(self) -> None:
        case = self.failing(spec__metadata__name="n")
        again = decided(**after(decided(**case), **case))
        assert again.needed == ()
        assert isinstance(again.next, Retry)

    @pytest.mark.parametrize(
        ("owners", "detail"),
        [
            (
                [{"apiVersion": "machine.openshift.io/v1", "kind": "ControlPlaneMachineSet", "name": "x", "uid": "x"}],
                "conversion of control plane machines owned by control plane machine set is currently not supported",
            ),
            (
                [{"apiVersion": "v1", "kind": "Pod", "name": n, "uid": n} for n in "pq"],
                "metadata.ownerReferences: Too many: 2: must have at most 1 item",
            ),
            (
                [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "p"}],
                "unsupported owner kind for owner reference conversion",
            ),
            (
                [{"apiVersion": "machine.openshift.io/v1", "kind": "MachineSet", "name": "ms", "uid": "p"}],
                "unsupported owner kind for owner reference conversion",
            ),
        ],
        ids=["ms7-control-plane-machine-set", "ms27-two", "ms27-foreign-kind", "ms27-other-version"],
    )
    def test_owners_that_cannot_be_converted_are_a_condition_without_retry(
        self, owners: list[Tree], detail: str
    ) -> None:
        for case in (ALONE, under_machine_api()):
            plan = decided(**{**case, "machine_api": changed(case["machine_api"], metadata__ownerReferences=owners)})
            assert writes(plan) == [("Merge status", "machine_api")]
            assert (condition(plan)["reason"], condition(plan)["message"]) == (
                "FailedToConvertMAPIMachineToCAPI",
                detail,
            )
            assert isinstance(plan.next, Done)

    def test_an_owner_without_a_twin_is_a_condition_and_retried(self) -> None:
        plan = decided(**{**ALONE, "cluster_api_set": None})
        text = (
            "failed to convert Machine API machine owner references to Cluster API: "
            'could not find Cluster API machine set: machinesets.cluster.x-k8s.io "ms" not found'
        )
        assert condition(plan)["message"] == text
        assert plan.next == Retry(text)

    def test_a_new_machine_waits_a_moment_for_the_mirror_of_its_set(self) -> None:
        def born(seconds: int) -> Tree:
            return changed(MAPI_MACHINE, metadata__creationTimestamp=rfc3339(NOW - timedelta(seconds=seconds)))

        waiting = decided(**{**ALONE, "cluster_api_set": None, "machine_api": born(10)})
        assert waiting == Plan().then(WaitFor("the Cluster API mirror of MachineSet ms", safety=20.0))
        for other in (31, -3600):  # by a clock that is behind the API server's it is not born yet
            late = decided(**{**ALONE, "cluster_api_set": None, "machine_api": born(other)})
            assert condition(late)["reason"] == "FailedToConvertMAPIMachineToCAPI"

    def test_a_machine_whose_set_is_being_deleted_is_no_failure(self) -> None:
        going = changed(MAPI_SET, metadata__deletionTimestamp="2026-05-01T00:00:00Z")
        plan = decided(**{**ALONE, "cluster_api_set": None, "machine_api_set": going})
        assert plan == Plan().then(WaitFor("MachineSet ms to be gone, and the machine with it or without an owner"))

    def test_a_missing_cluster_is_a_condition_and_retried(self) -> None:
        plan = decided(**{**ALONE, "machine_api": LONE, "cluster": None})
        text = (
            "failed to convert Machine API machine owner references to Cluster API: "
            'failed to get Cluster API cluster: clusters.cluster.x-k8s.io "c" not found'
        )
        assert condition(plan)["message"] == text
        assert plan.next == Retry(text)

    def test_a_missing_infrastructure_is_a_condition_and_retried(self) -> None:
        plan = decided(**{**ALONE, "infrastructure": None})
        assert "Infrastructure" in condition(plan)["message"]
        assert isinstance(plan.next, Retry)

    @pytest.mark.parametrize(
        ("field", "text"),
        [
            ("spec__clusterName", "cluster name is empty in Cluster API machine spec"),
            ("spec__infrastructureRef__name", "infrastructure machine reference is invalid or incomplete"),
        ],
    )
    def test_a_reference_of_the_mirror_that_is_empty_is_terminal(self, field: str, text: str) -> None:
        case = under_machine_api()
        plan = decided(**{**case, "cluster_api": changed(case["cluster_api"], **{field: ""})})
        assert condition(plan)["reason"] == "FailedToGetCAPIInfraResources"
        assert condition(plan)["message"] == (
            f"failed to fetch Cluster API infra resources: machine openshift-cluster-api/w-0: {text}"
        )
        assert isinstance(plan.next, Done)

    def test_a_missing_infra_cluster_of_the_mirror_is_retried(self) -> None:
        plan = decided(**{**under_machine_api(), "infra_cluster": None})
        assert condition(plan)["reason"] == "FailedToGetCAPIInfraResources"
        assert isinstance(plan.next, Retry)

    @pytest.mark.parametrize("side", ["cluster_api", "infra_machine"])
    def test_a_mirror_that_cannot_be_read_is_said_and_not_written(self, side: str) -> None:
        case = under_machine_api()
        plan = decided(**{**case, side: changed(case[side], spec="none")})
        assert writes(plan) == [("Merge status", "machine_api")]
        assert "spec" in condition(plan)["message"]
        assert isinstance(plan.next, Done)

    def test_a_warning_is_an_event_and_stops_nothing(self) -> None:
        volume = {"diskSize": 10, "deviceType": "disk"}
        warned = changed(MAPI_MACHINE, **{f"{PROVIDER_SPEC}__rootVolume": volume})
        first, *_ = rounds(**{**ALONE, "machine_api": warned})
        (told,) = [action for action in first.actions if isinstance(action, Emit)]
        assert (told.type, told.reason, told.target.kind) == ("Warning", "ConversionWarning", mapi.Machine)
        assert told.note == (
            'spec.providerSpec.value.rootVolume.deviceType: Invalid value: "disk": '
            "deviceType is silently ignored by MAPO and will not be converted"
        )
        assert settled(**{**ALONE, "machine_api": warned})["infra_machine"]["spec"]["rootVolume"]["sizeGiB"] == 10


def test_on_aws_a_machine_comes_to_rest_with_the_status_of_its_instance() -> None:
    machine = on_aws()["machine_api"]
    provided = {"instanceId": "i-1", "instanceState": "running", "conditions": []}
    end = settled(**{**on_aws(), "machine_api": changed(machine, status__providerStatus=provided)})
    assert end["infra_machine"]["status"]["instanceState"] == "running"
    assert decided(**{**on_aws(), **end}).needed == ()


def test_every_write_is_to_what_was_observed() -> None:
    case = under_machine_api()
    bare = changed(case["machine_api"], metadata__finalizers=[], spec__providerID="openstack:///2")
    hold, content = decided(**{**case, "machine_api": bare}).needed
    assert isinstance(hold, AddFinalizer)
    assert (hold.target.kind, hold.target.uid, hold.target.resource_version) == (mapi.Machine, "mapi-uid", "50")
    assert (content.target.kind, content.target.uid, content.target.resource_version) == (
        capi.Machine,
        "new-capi-uid",
        "1",
    )


def test_events_are_not_repeated_for_a_machine_in_sync() -> None:
    assert notes(decided(**under_machine_api())) == []


def test_an_existing_mirror_keeps_the_name_of_its_infra_machine() -> None:
    """`CAPI_MACHINE` calls its infra machine otherwise than itself: another one would be another instance."""
    end = settled(machine_api=MAPI_MACHINE, cluster_api=CAPI_MACHINE, infra_machine=INFRA)
    assert end["cluster_api"]["spec"]["infrastructureRef"]["name"] == "w-0-infra"
    assert end["infra_machine"]["metadata"]["uid"] == "infra-uid"
