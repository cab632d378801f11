"""Two MachineSets with one name: the first synchronization may not make one of them the mirror of the other."""

from typing import Any

import pytest

from windlass.api import capi, mapi
from windlass.kube.control.plan import Done, Merge, Plan, RemoveFinalizers
from windlass.machine_sync.machine_set.decide import decide

from .cases import (
    AUTHORITY,
    CAPI_SET,
    CLUSTER_API_FINALIZER,
    GONE,
    MAPI_SET,
    NOW,
    PAUSED,
    SYNC,
    Tree,
    changed,
    snapshot,
)

RUNS = changed(CAPI_SET, metadata__finalizers=[CLUSTER_API_FINALIZER])
"""A MachineSet that runs in Cluster API and was never mirrored."""
CREATED = changed(MAPI_SET, metadata__finalizers=[], status=None)
"""What a user has just created, or applied again, in the Machine API."""
RAN = changed(CREATED, spec__authoritativeAPI="ClusterAPI", status={"replicas": 2})
"""A MachineSet that the Machine API ran before the two APIs shared machines."""


def decided(**case: Any) -> Plan:
    return decide(snapshot(**{"cluster_api": RUNS, "machine_api": CREATED, **case}), now=NOW)


def is_left_alone(plan: Plan) -> bool:
    """Nothing is written but the condition, and no controller begins to act."""
    (write,) = (action for action in plan.needed if isinstance(action, Merge))
    status = write.desired["status"]
    said = status["conditions"][-1]
    return write.target.kind is mapi.MachineSet and said["reason"] == "NameConflict" and plan.next == Done()


@pytest.mark.parametrize("finalizers", [[CLUSTER_API_FINALIZER], [CLUSTER_API_FINALIZER, SYNC]])
def test_a_set_that_cluster_api_runs_is_not_taken_over(finalizers: list[str]) -> None:
    plan = decided(cluster_api=changed(RUNS, metadata__finalizers=finalizers))
    assert is_left_alone(plan)
    (write,) = (action for action in plan.needed if isinstance(action, Merge))
    assert "authoritativeAPI" not in write.desired["status"]
    assert write.desired["status"]["conditions"][-1]["message"] == (
        "Cluster API runs a MachineSet of this name, openshift-cluster-api/ms, which is no mirror, so nothing is "
        "written to it: set spec.authoritativeAPI of this one to ClusterAPI to make it the mirror, or delete one of "
        "the two"
    )


def test_a_set_that_was_created_in_cluster_api_beside_one_that_could_not_be_mirrored_is_left_alone() -> None:
    assert is_left_alone(decided(machine_api=MAPI_SET))


def test_a_set_with_machines_does_not_become_the_mirror_of_another() -> None:
    assert is_left_alone(decided(machine_api=RAN))


@pytest.mark.parametrize(
    ("cluster_api", "machine_api"),
    [
        ({"metadata__annotations": {PAUSED: ""}}, {}),
        ({"metadata__annotations": {AUTHORITY: "MachineAPI"}, "metadata__finalizers": [SYNC]}, {}),
        ({}, {"status": {"authoritativeAPI": "MachineAPI", "synchronizedGeneration": 4}}),
        ({}, {"status": {"authoritativeAPI": "MachineAPI", "synchronizedAPI": "MachineAPI"}}),
        ({}, {"spec__authoritativeAPI": "ClusterAPI"}),
    ],
    ids=["of OpenShift's operator", "deleted by force", "unpaused by a user", "just moved", "a mirror"],
)
def test_what_is_one_set_is_synchronized(cluster_api: Tree, machine_api: Tree) -> None:
    plan = decided(cluster_api=changed(RUNS, **cluster_api), machine_api=changed(CREATED, **machine_api))
    assert plan.needed
    assert "NameConflict" not in str(plan)


def test_each_of_the_two_is_deleted_alone() -> None:
    plan = decided(machine_api=changed(CREATED, metadata={**MAPI_SET["metadata"], **GONE}))
    (off,) = plan.needed
    assert isinstance(off, RemoveFinalizers)
    assert (off.target.kind, off.desired) == (mapi.MachineSet, [])
    going = changed(RUNS, metadata={**CAPI_SET["metadata"], **GONE})
    (off,) = (action for action in decided(cluster_api=going).needed if isinstance(action, RemoveFinalizers))
    assert (off.target.kind, off.desired) == (capi.MachineSet, [CLUSTER_API_FINALIZER])
