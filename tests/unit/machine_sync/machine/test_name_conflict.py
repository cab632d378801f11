"""Two machines with one name: the first synchronization may not make one of them the mirror of the other."""

from typing import Any

import pytest

from windlass.kube.control.plan import Done, Plan
from windlass.machine_sync.constants import MIRRORED_LABELS_ANNOTATION

from .cases import (
    AUTHORITY,
    CAPI_MACHINE,
    CLUSTER_API_FINALIZER,
    GONE,
    INFRA,
    MACHINE_API_FINALIZER,
    MAPI_MACHINE,
    PAUSED,
    SYNC,
    Tree,
    after,
    changed,
    condition,
    decided,
    rounds,
    settled,
    under_machine_api,
    writes,
)

RUNS = changed(CAPI_MACHINE, metadata__finalizers=[CLUSTER_API_FINALIZER], spec__providerID="openstack:///other")
"""A Machine that runs in Cluster API and was never mirrored."""
CREATED = changed(
    MAPI_MACHINE, metadata__finalizers=[], metadata__ownerReferences=None, spec__providerID=None, status=None
)
"""What a user has just created in the Machine API. Its authority is the Machine API by default."""
RAN = changed(CREATED, spec__providerID="openstack:///1", spec__authoritativeAPI="ClusterAPI")
"""A Machine that the Machine API ran before the two APIs shared machines."""
MARKED: Tree = {**CAPI_MACHINE["metadata"], "annotations": {AUTHORITY: "MachineAPI"}}
MACHINE_API: Tree = {"authoritativeAPI": "MachineAPI"}


def conflict(**case: Any) -> Plan:
    return decided(**{"cluster_api": RUNS, "machine_api": CREATED, **case})


def is_left_alone(plan: Plan) -> bool:
    """Nothing is written but the condition."""
    return writes(plan) == [("Merge status", "machine_api")] and condition(plan)["reason"] == "NameConflict"


class TestTheMachineApiIsTheAuthority:
    def test_a_machine_that_cluster_api_runs_is_not_taken_over(self) -> None:
        plan = conflict()
        assert is_left_alone(plan)
        assert condition(plan)["message"] == (
            "Cluster API runs a Machine of this name, openshift-cluster-api/w-0, which is no mirror, so nothing is "
            "written to it: set spec.authoritativeAPI of this one to ClusterAPI to make it the mirror, or delete one "
            "of the two"
        )
        assert plan.next == Done()

    def test_no_controller_of_the_machine_api_begins_to_act_on_the_new_one(self) -> None:
        assert "authoritativeAPI" not in settled(cluster_api=RUNS, machine_api=CREATED)["machine_api"]["status"]

    def test_it_is_said_once(self) -> None:
        assert len(rounds(cluster_api=RUNS, machine_api=CREATED)) == 1

    def test_the_remedy_makes_it_the_mirror(self) -> None:
        asked = changed(
            settled(cluster_api=RUNS, machine_api=CREATED)["machine_api"], spec__authoritativeAPI="ClusterAPI"
        )
        there = settled(cluster_api=RUNS, machine_api=asked)
        assert there["machine_api"]["spec"]["providerID"] == "openstack:///other"
        assert there["machine_api"]["status"]["authoritativeAPI"] == "ClusterAPI"

    def test_one_that_has_no_instance_yet_may_get_one(self) -> None:
        neither = {
            "cluster_api": changed(RUNS, spec__providerID=""),
            "machine_api": changed(CREATED, spec__providerID=""),
        }
        assert is_left_alone(conflict(**neither))

    def test_a_mark_without_our_finalizer_is_not_believed(self) -> None:
        assert is_left_alone(conflict(cluster_api=changed(RUNS, metadata__annotations={AUTHORITY: "MachineAPI"})))

    def test_one_that_was_a_mirrored_machine_before_runs_all_the_same(self) -> None:
        assert is_left_alone(conflict(cluster_api=changed(RUNS, metadata__finalizers=[CLUSTER_API_FINALIZER, SYNC])))

    def test_one_that_cannot_be_read_may_run(self) -> None:
        assert is_left_alone(conflict(cluster_api=changed(RUNS, spec__clusterName=7)))

    def test_a_machine_that_was_created_in_cluster_api_beside_one_that_could_not_be_mirrored_is_left_alone(
        self,
    ) -> None:
        plan = conflict(machine_api=MAPI_MACHINE)
        assert is_left_alone(plan)
        assert condition(plan)["message"].endswith("so nothing is written to it: delete one of the two")


@pytest.mark.parametrize(
    ("why", "cluster_api", "machine_api"),
    [
        ("it is the copy of OpenShift's operator", {"metadata__annotations": {PAUSED: ""}}, {}),
        ("its Machine was deleted by force", {"metadata": MARKED}, {}),
        ("both are restored from a backup", {"metadata__annotations": {PAUSED: "", AUTHORITY: "MachineAPI"}}, {}),
        ("the copy was unpaused by a user", {}, {"status": {**MACHINE_API, "synchronizedGeneration": 4}}),
        ("authority has just moved", {}, {"status": {**MACHINE_API, "synchronizedAPI": "MachineAPI"}}),
        ("both name the same instance", {"spec__providerID": "openstack:///1"}, {"spec__providerID": "openstack:///1"}),
    ],
)  # fmt: skip
def test_what_is_one_machine_is_synchronized(why: str, cluster_api: Tree, machine_api: Tree) -> None:
    case = settled(cluster_api=changed(RUNS, **cluster_api), machine_api=changed(CREATED, **machine_api))
    assert case["machine_api"]["status"]["conditions"][0]["reason"] == "ResourceSynchronized", why


def test_a_first_machine_of_cluster_api_is_still_created() -> None:
    there = settled(cluster_api=None, infra_machine=None, machine_api=RAN)
    assert there["cluster_api"]["spec"]["providerID"] == "openstack:///1"


class TestClusterApiIsToBeTheAuthority:
    def test_a_machine_that_has_an_instance_does_not_become_the_mirror_of_another(self) -> None:
        plan = conflict(machine_api=RAN)
        assert is_left_alone(plan)
        assert "this Machine has run in the Machine API" in condition(plan)["message"]

    @pytest.mark.parametrize(
        "machine_api",
        [
            changed(RAN, spec__providerID="openstack:///other"),
            changed(RAN, spec__providerID=None),
            changed(RAN, status={"authoritativeAPI": "ClusterAPI"}),
            changed(RAN, metadata__annotations={MIRRORED_LABELS_ANNOTATION: "a=b"}),
        ],
        ids=[
            "the mirror from a backup",
            "a mirror that a user creates",
            "a mirror that fell behind",
            "a mirror whose status somebody wrote first",
        ],
    )
    def test_a_mirror_that_is_created_again_is_synchronized(self, machine_api: Tree) -> None:
        there = settled(cluster_api=RUNS, machine_api=machine_api)
        assert there["machine_api"]["spec"]["providerID"] == "openstack:///other"


class TestDeletion:
    def test_the_new_one_goes_alone(self) -> None:
        going = changed(CREATED, metadata__deletionTimestamp=GONE["deletionTimestamp"])
        held = changed(going, metadata__finalizers=[MACHINE_API_FINALIZER, SYNC])
        there = after(conflict(machine_api=held), cluster_api=RUNS, machine_api=held)
        assert there == {"cluster_api": RUNS, "machine_api": None, "infra_machine": INFRA}

    def test_one_with_an_instance_is_given_to_its_own_api_to_delete(self) -> None:
        going = changed(RAN, spec__authoritativeAPI="MachineAPI", metadata__deletionTimestamp=GONE["deletionTimestamp"])
        there = settled(
            cluster_api=RUNS, machine_api=changed(going, metadata__finalizers=[MACHINE_API_FINALIZER, SYNC])
        )
        assert there["machine_api"]["status"]["authoritativeAPI"] == "MachineAPI"
        assert there["machine_api"]["metadata"]["finalizers"] == [MACHINE_API_FINALIZER]
        assert there["cluster_api"] == RUNS

    def test_the_other_goes_alone_and_is_not_held_by_us(self) -> None:
        going = changed(RUNS, metadata__deletionTimestamp=GONE["deletionTimestamp"])
        case = {"cluster_api": changed(going, metadata__finalizers=[SYNC]), "machine_api": CREATED}
        there = after(conflict(**case), **case)
        assert there["cluster_api"] is None
        assert there["infra_machine"]["metadata"]["finalizers"] == INFRA["metadata"]["finalizers"][:1]
        assert "deletionTimestamp" not in there["machine_api"]["metadata"]


def test_a_machine_in_sync_has_no_conflict() -> None:
    assert decided(**under_machine_api()).needed == ()
