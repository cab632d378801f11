"""Deletion under Cluster API authority, row by row of the table in `windlass.machine_sync.machine.deletion`."""

from typing import Any

import pytest

from windlass.api import capi, capo, mapi
from windlass.kube.plan import Delete, Plan, RemoveFinalizers, WaitFor

from .cases import (
    CAPI_MACHINE,
    CAPI_SET,
    CLUSTER_API_FINALIZER,
    GONE,
    INFRA,
    INFRA_FINALIZER,
    MACHINE_API_FINALIZER,
    MAPI_SET,
    SYNC,
    Tree,
    changed,
    decided,
)

MIRROR: Tree = {
    "metadata": {
        "name": "w-0",
        "namespace": "openshift-machine-api",
        "uid": "mapi-uid",
        "resourceVersion": "5",
        "finalizers": [MACHINE_API_FINALIZER, SYNC],
        "ownerReferences": [
            {"apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "name": "ms", "uid": "mapi-ms-uid"}
        ],
    },
    "spec": {"authoritativeAPI": "ClusterAPI"},
    "status": {"authoritativeAPI": "ClusterAPI"},
}
LONE = changed(MIRROR, metadata__ownerReferences=None)


def going(tree: Tree, **fields: Any) -> Tree:
    return changed(tree, metadata__deletionTimestamp=GONE["deletionTimestamp"], **fields)


def steps(plan: Plan) -> list[tuple[str, str]]:
    names = {capi.Machine: "cluster_api", mapi.Machine: "machine_api", capo.OpenStackMachine: "infra"}
    return [
        (type(action).__name__, names[action.target.kind])  # type: ignore[index]
        for action in plan.needed
        if isinstance(action, Delete | RemoveFinalizers)
    ]


def test_ms24_deleting_the_mirror_deletes_the_machine() -> None:
    plan = decided(machine_api=going(LONE))
    assert steps(plan) == [("Delete", "cluster_api")]
    assert plan.needed[0].target.uid == "capi-uid"


def test_deleting_the_mirror_with_its_own_machine_set_lets_it_go_and_keeps_the_machine() -> None:
    for machine_api_set in (None, going(MAPI_SET), changed(MAPI_SET, metadata__uid="made-anew")):
        plan = decided(machine_api=going(MIRROR), machine_api_set=machine_api_set)
        assert steps(plan) == [
            ("RemoveFinalizers", "infra"),
            ("RemoveFinalizers", "cluster_api"),
            ("RemoveFinalizers", "machine_api"),
        ]


@pytest.mark.parametrize("cluster_api_set", [None, going(CAPI_SET), changed(CAPI_SET, metadata__uid="made-anew")])
def test_when_both_machine_sets_go_the_machine_goes_too(cluster_api_set: Tree | None) -> None:
    assert steps(decided(machine_api=going(MIRROR), machine_api_set=None, cluster_api_set=cluster_api_set)) == [
        ("Delete", "cluster_api")
    ]


def test_deleting_the_mirror_alone_while_its_set_stays_deletes_the_machine() -> None:
    assert steps(decided(machine_api=going(MIRROR))) == [("Delete", "cluster_api")]


def test_deleting_the_machine_deletes_the_mirror_and_waits_for_the_infra_provider() -> None:
    plan = decided(cluster_api=going(CAPI_MACHINE), machine_api=MIRROR, infra=going(INFRA))
    assert steps(plan) == [("Delete", "machine_api")]
    assert plan.next == WaitFor("the infrastructure provider to delete w-0-infra")


def test_nothing_is_done_twice_while_waiting() -> None:
    assert decided(cluster_api=going(CAPI_MACHINE), machine_api=going(MIRROR), infra=going(INFRA)).needed == ()


def test_the_infra_machine_goes_when_its_provider_is_done() -> None:
    plan = decided(
        cluster_api=going(CAPI_MACHINE), machine_api=going(MIRROR), infra=going(INFRA, metadata__finalizers=[SYNC])
    )
    assert steps(plan) == [("RemoveFinalizers", "infra")]
    assert plan.next == WaitFor("Cluster API to finish deleting the machine")


def test_mirror_and_machine_go_together_when_cluster_api_is_done() -> None:
    plan = decided(cluster_api=going(CAPI_MACHINE, metadata__finalizers=[SYNC]), machine_api=going(MIRROR), infra=None)
    assert steps(plan) == [("RemoveFinalizers", "machine_api"), ("RemoveFinalizers", "cluster_api")]
    off_mirror, _ = plan.needed
    assert isinstance(off_mirror, RemoveFinalizers)
    assert off_mirror.desired == []


def test_finalizers_of_others_stay_on_the_mirror() -> None:
    mirror = going(MIRROR, metadata__finalizers=["example.com/mine", MACHINE_API_FINALIZER, SYNC])
    plan = decided(cluster_api=going(CAPI_MACHINE, metadata__finalizers=[SYNC]), machine_api=mirror, infra=None)
    off_mirror = plan.needed[0]
    assert isinstance(off_mirror, RemoveFinalizers)
    assert off_mirror.desired == ["example.com/mine"]


def test_a_machine_being_deleted_without_a_mirror_loses_our_finalizers() -> None:
    plan = decided(cluster_api=going(CAPI_MACHINE), infra=INFRA)
    assert steps(plan) == [("RemoveFinalizers", "infra"), ("RemoveFinalizers", "cluster_api")]
    kept = [action.desired for action in plan.needed if isinstance(action, RemoveFinalizers)]
    assert kept == [[INFRA_FINALIZER], [CLUSTER_API_FINALIZER]]


def test_a_mirror_being_deleted_without_a_machine_is_let_go() -> None:
    assert steps(decided(cluster_api=None, machine_api=going(MIRROR), infra=None)) == [
        ("RemoveFinalizers", "machine_api")
    ]


def test_a_mirror_is_not_let_go_while_an_infra_machine_is_left() -> None:
    assert decided(cluster_api=None, machine_api=going(MIRROR)).needed == ()
    assert decided(cluster_api=None, machine_api=going(MIRROR), infra=going(INFRA)).needed == ()


def test_an_infra_machine_that_only_we_hold_is_let_go_before_the_mirror() -> None:
    plan = decided(cluster_api=None, machine_api=going(MIRROR), infra=going(INFRA, metadata__finalizers=[SYNC]))
    assert steps(plan) == [("RemoveFinalizers", "infra")]


def test_deletion_needs_no_infra_cluster_and_no_valid_references() -> None:
    broken = changed(CAPI_MACHINE, spec__clusterName="", metadata__finalizers=[SYNC])
    plan = decided(cluster_api=going(broken), machine_api=going(MIRROR), infra=None, infra_cluster=None)
    assert steps(plan) == [("RemoveFinalizers", "machine_api"), ("RemoveFinalizers", "cluster_api")]


def test_a_machine_that_cannot_be_read_can_still_be_deleted() -> None:
    broken = changed(CAPI_MACHINE, spec="none", metadata__finalizers=[SYNC])
    plan = decided(cluster_api=going(broken), machine_api=going(MIRROR), infra=None)
    assert steps(plan) == [("RemoveFinalizers", "machine_api"), ("RemoveFinalizers", "cluster_api")]
