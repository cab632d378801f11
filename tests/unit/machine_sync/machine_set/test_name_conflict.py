"""Two MachineSets with one name: the first synchronization may not make one of them the mirror of the other."""

from typing import Any

import pytest

from windlass.api import capi, mapi
from windlass.kube.control.plan import Delete, Done, Merge, Plan, RemoveFinalizers, WaitFor
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


class TestNeverMirrored:
    """The set of Cluster API is paused, so it may become the mirror; until it is, each of the two is deleted alone."""

    PAUSED = changed(RUNS, metadata__annotations={PAUSED: ""})

    def test_the_set_of_the_machine_api_stays(self) -> None:
        unheld = changed(MAPI_SET, metadata__finalizers=[])
        for finalizers in ([CLUSTER_API_FINALIZER], [CLUSTER_API_FINALIZER, SYNC]):
            going = changed(self.PAUSED, metadata={**self.PAUSED["metadata"], **GONE, "finalizers": finalizers})
            plan = decided(machine_api=unheld, cluster_api=going)
            assert [type(action) for action in plan.needed] == [RemoveFinalizers] * (SYNC in finalizers)
            assert plan.next == WaitFor("MachineSet ms of Cluster API, which was never a mirror, to be gone")

    def test_the_mirror_of_an_earlier_set_of_its_name_goes(self) -> None:
        marked = {PAUSED: "", AUTHORITY: "MachineAPI"}
        meta = {**RUNS["metadata"], **GONE, "annotations": marked, "finalizers": [CLUSTER_API_FINALIZER, SYNC]}
        for created, left in (("2026-05-01T11:59:30Z", []), ("2026-05-01T11:58:30Z", [CLUSTER_API_FINALIZER])):
            new = changed(MAPI_SET, metadata={**CREATED["metadata"], "creationTimestamp": created})
            plan = decided(machine_api=new, cluster_api=changed(RUNS, metadata=meta))
            (off,) = (action for action in plan.needed if isinstance(action, RemoveFinalizers))
            assert (off.target.kind, off.desired) == (capi.MachineSet, left)
            assert not any(isinstance(action, Delete) for action in plan.needed)

    def test_it_stays_also_if_somebody_made_another_one_in_the_place_of_its_mirror(self) -> None:
        going = changed(self.PAUSED, metadata={**self.PAUSED["metadata"], **GONE})
        assert decided(machine_api=MAPI_SET, cluster_api=going).needed == ()

    def test_the_set_of_cluster_api_stays(self) -> None:
        going = changed(MAPI_SET, metadata={**MAPI_SET["metadata"], **GONE})
        (off,) = decided(machine_api=going, cluster_api=self.PAUSED).needed
        assert isinstance(off, RemoveFinalizers)
        assert (off.target.kind, off.desired) == (mapi.MachineSet, [])

    def test_a_mirror_goes_with_its_set_and_the_set_with_its_mirror(self) -> None:
        mirror = changed(self.PAUSED, metadata__finalizers=[CLUSTER_API_FINALIZER, SYNC])
        going = changed(MAPI_SET, metadata={**MAPI_SET["metadata"], **GONE})
        (delete, *_) = decided(machine_api=going, cluster_api=mirror).needed
        assert (type(delete), delete.target.kind) == (Delete, capi.MachineSet)
        going = changed(mirror, metadata={**mirror["metadata"], **GONE})
        (delete,) = decided(machine_api=MAPI_SET, cluster_api=going).needed
        assert (type(delete), delete.target.kind) == (Delete, mapi.MachineSet)
