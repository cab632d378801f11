"""Which case a machine is, row by row of the table in `windlass.machine_sync.machine.decide`."""

from typing import Any

import msgspec
import pytest

from windlass.api import mapi
from windlass.kube.control.plan import AddFinalizer, Create, Done, Plan, Retry, WaitFor
from windlass.kube.control.seen import NotServedKind
from windlass.machine_sync.machine.decide import decide

from .cases import (
    AUTHORITY,
    CAPI_MACHINE,
    CAPI_SET,
    CLUSTER_API_FINALIZER,
    GONE,
    INFRA,
    MACHINE_API_FINALIZER,
    MAPI_MACHINE,
    NOW,
    PAUSED,
    SYNC,
    Tree,
    after,
    changed,
    decided,
    notes,
    settled,
    snapshot,
    under_machine_api,
    writes,
)


class TestNoMirror:
    def test_neither_side_exists(self) -> None:
        assert decided(cluster_api=None).needed == ()

    @pytest.mark.parametrize(
        "owners",
        [
            [],
            [{"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineSet", "name": "ms", "uid": "u"}],
            [{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "c", "uid": "u"}],
        ],
    )
    def test_a_machine_without_a_v1beta2_machine_set_is_independent(self, owners: list[Tree]) -> None:
        assert decided(cluster_api=changed(CAPI_MACHINE, metadata__ownerReferences=owners)).needed == ()

    def test_a_machine_whose_set_has_no_twin_is_left_alone(self) -> None:
        assert decided(machine_api_set=None).needed == ()

    def test_a_machine_whose_set_has_a_twin_gets_a_mirror(self) -> None:
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
        plan = decided(
            cluster_api=changed(CAPI_MACHINE, metadata__finalizers=[]),
            infra_machine=changed(INFRA, metadata__finalizers=[]),
        )
        assert [type(action) for action in plan.needed] == [AddFinalizer, AddFinalizer, Create]

    def test_a_twin_that_is_being_deleted_gets_no_new_mirrors(self) -> None:
        going: Tree = {"metadata": {"name": "ms", "uid": "mapi-ms-uid", **GONE}}
        assert decided(machine_api_set=going).needed == ()

    def test_an_owner_of_an_earlier_set_of_that_name_does_not_count(self) -> None:
        assert decided(cluster_api_set=changed(CAPI_SET, metadata__uid="made-anew")).needed == ()

    def test_a_kind_that_is_not_served_is_said_and_waited_for(self) -> None:
        case = msgspec.structs.replace(snapshot(), machine_api=NotServedKind("no CRD"))
        assert decide(case, now=NOW) == Plan.nothing("no CRD")

    def test_a_reference_that_is_empty_is_an_event_without_retry(self) -> None:
        plan = decided(cluster_api=changed(CAPI_MACHINE, spec__clusterName=""))
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
        plan = decided(cluster_api=changed(CAPI_MACHINE, spec__version="v1"))
        text = (
            "failed to convert Cluster API machine to Machine API machine: "
            'spec.version: Invalid value: "v1": version is not supported'
        )
        remedy = (
            "Change what is named here in the Machine or infrastructure machine of Cluster API; "
            "until then it is not copied to the Machine API."
        )
        assert notes(plan) == [("SynchronizationWarning", f"{text}. {remedy}")]
        assert plan.next == Retry(text)


MASTER = changed(MAPI_MACHINE, metadata__finalizers=[MACHINE_API_FINALIZER])
"""A Machine that the Machine API runs and that has never been mirrored, because it cannot be converted."""
COPY = changed(
    CAPI_MACHINE,
    metadata__finalizers=[],
    metadata__annotations={PAUSED: ""},
    metadata__ownerReferences=None,
    spec__providerID=None,
)
"""A Machine of its name that a user has made in Cluster API, paused."""
CORE = CLUSTER_API_FINALIZER
FORGED: Tree = {PAUSED: "", AUTHORITY: "MachineAPI"}


def going(tree: Tree, *finalizers: str, **fields: Any) -> Tree:
    return changed(tree, metadata={**tree["metadata"], **GONE, "finalizers": [*finalizers]}, **fields)


class TestUnderTheMachineApi:
    @pytest.mark.parametrize("finalizers", [["example.com/mine"], ["example.com/mine", SYNC]])
    def test_the_deletion_of_what_was_never_its_mirror_does_not_reach_a_machine(self, finalizers: list[str]) -> None:
        case = {"machine_api": MASTER, "cluster_api": going(COPY, *finalizers), "infra_machine": None}
        plan = decided(**case)
        there = after(plan, **case)
        assert there["machine_api"] == MASTER
        assert there["cluster_api"]["metadata"]["finalizers"] == ["example.com/mine"]
        assert plan.next == WaitFor("Machine w-0 of Cluster API, which was never a mirror, to be gone")

    def test_what_somebody_made_in_the_place_of_its_mirror_does_not_reach_it_either(self) -> None:
        case = under_machine_api()
        case["cluster_api"] = going(case["cluster_api"], CLUSTER_API_FINALIZER)
        assert writes(decided(**case)) == []

    @pytest.mark.parametrize(("created", "left"), [("2026-05-01T11:59:30Z", []), ("2026-05-01T11:58:30Z", [CORE])])
    def test_the_mirror_of_an_earlier_machine_of_its_name_goes(self, created: str, left: list[str]) -> None:
        """Whether the mark is forged shows in the times: what is deleted before a Machine is made cannot be meant for
        it."""
        new = changed(MASTER, metadata={**MASTER["metadata"], "creationTimestamp": created})
        copy = going(changed(COPY, metadata__annotations=FORGED), CORE, SYNC)
        case = {"machine_api": new, "cluster_api": copy, "infra_machine": None}
        there = after(decided(**case), **case)
        assert there["machine_api"]["metadata"].get("deletionTimestamp") is None
        assert (there["cluster_api"] or {"metadata": {}})["metadata"].get("finalizers", []) == left

    def test_a_machine_that_cannot_be_read_stays_too(self) -> None:
        broken = changed(MASTER, spec__taints="x")
        case = {"machine_api": broken, "cluster_api": going(COPY, "example.com/mine"), "infra_machine": None}
        assert after(decided(**case), **case)["machine_api"] == broken

    def test_the_deletion_of_a_mirror_does(self) -> None:
        case = under_machine_api()
        case["cluster_api"] = going(case["cluster_api"], CLUSTER_API_FINALIZER, SYNC)
        assert writes(decided(**case)) == [("Delete", "machine_api")]

    def test_also_if_somebody_has_just_removed_our_finalizer_from_the_machine(self) -> None:
        case = under_machine_api()
        case["machine_api"] = changed(case["machine_api"], metadata__finalizers=[MACHINE_API_FINALIZER])
        case["cluster_api"] = going(case["cluster_api"], CLUSTER_API_FINALIZER, SYNC)
        assert writes(decided(**case)) == [("Delete", "machine_api")]

    def test_a_machine_takes_only_its_mirror_along(self) -> None:
        case = {"machine_api": going(MASTER, SYNC), "cluster_api": COPY}
        there = after(decided(**case), **case)
        assert there == {"machine_api": None, "cluster_api": COPY, "infra_machine": INFRA}


class TestUnderClusterApi:
    MIRROR = changed(MAPI_MACHINE, spec__authoritativeAPI="ClusterAPI", status__authoritativeAPI="ClusterAPI")

    def test_a_machine_that_never_became_the_mirror_goes_alone(self) -> None:
        unheld = changed(CAPI_MACHINE, metadata__finalizers=[CLUSTER_API_FINALIZER])
        for source, finalizers in ((unheld, [MACHINE_API_FINALIZER, SYNC]), (CAPI_MACHINE, [MACHINE_API_FINALIZER])):
            case = {"machine_api": going(self.MIRROR, *finalizers), "cluster_api": source}
            there = after(decided(**case), **case)
            assert (there["machine_api"], there["cluster_api"]) == (None, source)

    def test_the_mirror_takes_the_machine_along(self) -> None:
        case = {"machine_api": going(self.MIRROR, MACHINE_API_FINALIZER, SYNC), "cluster_api": CAPI_MACHINE}
        assert writes(decided(**case)) == [("Delete", "cluster_api")]


class TestOnlyClusterApiHasTheMachine:
    @pytest.mark.parametrize(
        ("annotations", "finalizers"),
        [(FORGED, [CLUSTER_API_FINALIZER]), ({AUTHORITY: ""}, [CLUSTER_API_FINALIZER, SYNC])],
        ids=["a mark without our finalizer", "a mark without a pause"],
    )
    def test_hooks_and_the_drain_are_waited_for(self, annotations: Tree, finalizers: list[str]) -> None:
        source = going(CAPI_MACHINE, *finalizers)
        there = settled(machine_api=None, cluster_api=changed(source, metadata__annotations=annotations))
        assert there["cluster_api"]["metadata"]["finalizers"] == [CLUSTER_API_FINALIZER]

    def test_a_left_over_mirror_can_be_deleted(self) -> None:
        left = changed(going(CAPI_MACHINE, CLUSTER_API_FINALIZER, SYNC), metadata__annotations=FORGED)
        assert settled(machine_api=None, cluster_api=left)["cluster_api"] is None

    def test_a_mark_alone_does_not_make_a_machine_a_left_over_copy(self) -> None:
        marked = {"metadata__annotations": {AUTHORITY: "MachineAPI"}, "metadata__finalizers": []}
        alone = changed(CAPI_MACHINE, metadata__ownerReferences=None, **marked)
        assert notes(decided(machine_api=None, cluster_api=alone)) == []

    def test_one_that_is_paused_too_is_never_unpaused(self) -> None:
        """Its set is mirrored, so a Machine whose authority is Cluster API would be made for it."""
        copy = changed(CAPI_MACHINE, metadata__annotations=FORGED, metadata__finalizers=[])
        plan = decided(machine_api=None, cluster_api=copy)
        assert writes(plan) == []
        assert "The copy stays paused" in str(notes(plan))
