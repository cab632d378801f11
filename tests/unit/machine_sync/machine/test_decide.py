"""Which case a machine is, row by row of the table in `windlass.machine_sync.machine.decide`."""

import msgspec
import pytest

from windlass.api import mapi
from windlass.kube.control.plan import AddFinalizer, Create, Done, Plan, Retry
from windlass.kube.control.seen import NotServedKind
from windlass.machine_sync.machine.decide import decide

from .cases import (
    CAPI_MACHINE,
    CAPI_SET,
    GONE,
    INFRA,
    NOW,
    SYNC,
    Tree,
    changed,
    decided,
    notes,
    snapshot,
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
