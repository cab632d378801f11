"""Two MachineSets of one name: a machine of one of them gets no mirror that belongs to the other."""

from typing import Any

import pytest

from windlass.kube.control.plan import Done, Plan

from .cases import (
    AUTHORITY,
    CAPI_MACHINE,
    CAPI_SET,
    GONE,
    MAPI_MACHINE,
    MAPI_SET,
    PAUSED,
    SYNC,
    Tree,
    after,
    changed,
    condition,
    decided,
    mirrored,
    settled,
    under_machine_api,
    writes,
)

OTHER = changed(MAPI_SET, spec={"authoritativeAPI": "MachineAPI", "replicas": 0})
"""What somebody has created in the Machine API with the name of a MachineSet that Cluster API runs."""
DEEP = changed(MAPI_SET, spec={"authoritativeAPI": "MachineAPI", "replicas": "0"})
"""The same, and it cannot be read."""
FIRST = changed(MAPI_MACHINE, spec__authoritativeAPI="ClusterAPI", status__authoritativeAPI="ClusterAPI")
"""A Machine of that set that is to begin in Cluster API."""


def apart(**case: Any) -> Tree:
    return {"machine_api_set": OTHER, "cluster_api_set": CAPI_SET, **case}


def says_so(plan: Plan, reason: str) -> bool:
    """Nothing is written but the condition."""
    said = condition(plan)
    assert said["message"].startswith(
        "MachineSet ms of the Machine API and MachineSet ms of Cluster API are two sets, so a machine of one of them "
        "gets no mirror that belongs to the other"
    )
    return writes(plan) == [("Merge status", "machine_api")] and said["reason"] == reason


class TestAMachineOfTheSetOfClusterApi:
    @pytest.mark.parametrize("other", [OTHER, DEEP], ids=["read", "unreadable"])
    def test_it_gets_no_mirror_which_the_other_set_would_delete(self, other: Tree) -> None:
        plan = decided(**apart(machine_api_set=other))
        assert plan.needed == ()
        assert isinstance(plan.next, Done)

    def test_its_mirror_is_not_given_to_the_other_set(self) -> None:
        mirror = changed(mirrored(), metadata__ownerReferences=None)
        plan = decided(**apart(machine_api=mirror))
        assert says_so(plan, "FailedToConvertCAPIMachineToMAPI")

    def test_it_stays_when_the_other_set_deletes_its_mirror(self) -> None:
        going = mirrored()
        going["metadata"] |= GONE
        case = apart(machine_api=going, cluster_api=CAPI_MACHINE)
        there = after(decided(**case), **case)
        assert "deletionTimestamp" not in there["cluster_api"]["metadata"]
        assert there["machine_api"] is None

    @pytest.mark.parametrize(
        ("machine_api_set", "cluster_api_set"),
        [
            (changed(OTHER, spec__authoritativeAPI="ClusterAPI"), CAPI_SET),
            (changed(OTHER, status={"synchronizedGeneration": 3}), CAPI_SET),
            (OTHER, changed(CAPI_SET, metadata__annotations={PAUSED: ""})),
            (changed(DEEP, metadata__finalizers=[SYNC]), CAPI_SET),
            (DEEP, changed(CAPI_SET, metadata__annotations={AUTHORITY: "MachineAPI"}, metadata__finalizers=[SYNC])),
        ],
        ids=["its mirror", "synchronized before", "paused", "unreadable, held", "unreadable, of a mirror"],
    )
    def test_a_machine_of_a_set_that_is_mirrored_gets_its_mirror(
        self, machine_api_set: Tree, cluster_api_set: Tree
    ) -> None:
        case = {"machine_api_set": machine_api_set, "cluster_api_set": cluster_api_set}
        assert ("Create", "machine_api") in writes(decided(**case))

    def test_a_machine_without_a_set_has_nothing_to_do_with_them(self) -> None:
        """Its mirror has been adopted by the set of the Machine API, and stays its replica."""
        source = changed(CAPI_MACHINE, metadata__ownerReferences=None)
        plan = decided(**apart(machine_api=mirrored(), cluster_api=source))
        assert "two sets" not in str(plan)


class TestAMachineOfTheSetOfTheMachineApi:
    def test_it_gets_no_mirror_which_the_other_set_would_count(self) -> None:
        plan = decided(**apart(machine_api=MAPI_MACHINE, cluster_api=None, infra_machine=None))
        assert says_so(plan, "FailedToConvertMAPIMachineToCAPI")

    def test_cluster_api_gets_no_first_machine_of_the_other_set(self) -> None:
        plan = decided(**apart(machine_api=FIRST, cluster_api=None, infra_machine=None))
        assert says_so(plan, "FailedToConvertMAPIMachineToCAPI")

    def test_it_stays_when_the_other_set_deletes_its_mirror(self) -> None:
        case = under_machine_api()
        case["cluster_api"] = changed(case["cluster_api"], metadata={**case["cluster_api"]["metadata"], **GONE})
        case |= apart()
        there = after(decided(**case), **case)
        assert "deletionTimestamp" not in there["machine_api"]["metadata"]
        assert there["cluster_api"] is None

    def test_its_mirror_is_not_given_to_the_other_set(self) -> None:
        """The set of the Machine API has just adopted a machine that had no set."""
        there = under_machine_api(machine_api=changed(MAPI_MACHINE, metadata__ownerReferences=None))
        plan = decided(**{**there, **apart(machine_api=MAPI_MACHINE)})
        assert says_so(plan, "FailedToConvertMAPIMachineToCAPI")

    def test_it_can_be_deleted(self) -> None:
        going = changed(MAPI_MACHINE, metadata={**MAPI_MACHINE["metadata"], **GONE, "finalizers": [SYNC]})
        there = settled(**apart(machine_api=going, cluster_api=None, infra_machine=None))
        assert there["machine_api"] is None
