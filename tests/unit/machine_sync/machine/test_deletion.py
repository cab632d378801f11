"""Deletion under either authority, row by row of the table in `windlass.machine_sync.machine.deletion`."""

from typing import Any

import pytest
from msgspec.structs import replace

from windlass.api import capi, capo, mapi
from windlass.kube.plan import Delete, Done, Plan, RemoveFinalizers, WaitFor
from windlass.kube.seen import Absent
from windlass.machine_sync.machine.decide import decide

from .cases import (
    CAPI_MACHINE,
    CAPI_SET,
    CLUSTER_API_FINALIZER,
    GONE,
    INFRA,
    INFRA_FINALIZER,
    MACHINE_API_FINALIZER,
    MAPI_SET,
    NOW,
    SYNC,
    Tree,
    changed,
    decided,
    settled,
    snapshot,
    under_machine_api,
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
    plan = decided(cluster_api=None, machine_api=going(MIRROR))
    assert steps(plan) == [("Delete", "infra")]
    assert plan.next == WaitFor("the infrastructure provider to delete w-0-infra")
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


class TestUnderTheMachineApi:
    def test_ms23_deleting_the_mirror_deletes_the_machine(self) -> None:
        case = under_machine_api()
        plan = decided(**{**case, "cluster_api": going(case["cluster_api"])})
        assert steps(plan) == [("Delete", "machine_api")]
        assert plan.next == WaitFor("the Machine API to delete the machine")

    def test_ms22_mirror_and_infra_machine_are_deleted_and_the_machine_api_is_waited_for(self) -> None:
        case = under_machine_api()
        plan = decided(**{**case, "machine_api": going(case["machine_api"])})
        assert steps(plan) == [("Delete", "cluster_api"), ("Delete", "infra")]
        assert plan.next == WaitFor("the Machine API to finish deleting the machine")
        waiting = {side: going(case[side]) for side in ("machine_api", "cluster_api", "infra")}
        assert decided(**{**case, **waiting}).needed == ()

    def test_ms22_when_it_is_done_all_go_the_authority_last(self) -> None:
        case = self.finished()
        plan = decided(**case)
        assert steps(plan) == [
            ("RemoveFinalizers", "infra"),
            ("RemoveFinalizers", "cluster_api"),
            ("RemoveFinalizers", "machine_api"),
        ]
        assert [action.desired for action in plan.needed if isinstance(action, RemoveFinalizers)] == [[], [], []]
        assert settled(**case) == {**case, "machine_api": None, "cluster_api": None, "infra": None}

    def test_finalizers_of_others_stay(self) -> None:
        case = self.finished()
        for side in ("infra", "cluster_api", "machine_api"):
            case[side]["metadata"]["finalizers"].append("example.com/mine")
        plan = decided(**case)
        kept = [action.desired for action in plan.needed if isinstance(action, RemoveFinalizers)]
        assert kept == [["example.com/mine"]] * 3

    def test_without_a_mirror_only_ours_comes_off(self) -> None:
        lone = going(under_machine_api()["machine_api"])
        plan = decided(machine_api=lone, cluster_api=None, infra=None)
        (off,) = plan.needed
        assert isinstance(off, RemoveFinalizers)
        assert off.desired == [MACHINE_API_FINALIZER]
        assert isinstance(plan.next, Done)

    @pytest.mark.parametrize("side", ["cluster_api", "infra"])
    def test_an_absence_that_only_a_cache_knows_is_not_enough(self, side: str) -> None:
        case = {**self.finished(), side: None}
        seen = replace(snapshot(**case), **{side: Absent(confirmed=False)})
        assert decide(seen, now=NOW).needed == ()

    @pytest.mark.parametrize("side", ["cluster_api", "infra"])
    def test_what_is_left_goes_without_the_other(self, side: str) -> None:
        case = {**self.finished(), side: None}
        end = settled(**case)
        assert (end["machine_api"], end["cluster_api"], end["infra"]) == (None, None, None)

    def test_nothing_is_made_for_a_machine_that_is_going(self) -> None:
        case = under_machine_api()
        leaving = going(case["machine_api"], spec__providerSpec__value__flavor="m1.huge")
        assert steps(decided(**{**case, "machine_api": leaving, "infra": None})) == [("Delete", "cluster_api")]

    @pytest.mark.parametrize("authority", ["ClusterAPI", "MachineAPI"])
    def test_a_move_does_not_begin_while_either_side_is_going(self, authority: str) -> None:
        case = under_machine_api()
        asked = changed(case["machine_api"], spec__authoritativeAPI=authority)
        plan = decided(**{**case, "machine_api": going(asked)})
        assert steps(plan) == [("Delete", "cluster_api"), ("Delete", "infra")]

    def test_what_is_not_paused_is_not_stripped_but_finishes_itself(self) -> None:
        """A machine of Cluster API that never became a mirror: its instance is its own."""
        case = self.finished()
        case["infra"] = going(INFRA)
        plan = decided(**case)
        assert (plan.needed, plan.next) == (
            (),
            WaitFor("the infrastructure provider, which is not paused, to delete w-0-infra"),
        )
        case["infra"], case["cluster_api"] = going(INFRA, metadata__finalizers=[SYNC]), going(CAPI_MACHINE)
        plan = decided(**case)
        assert steps(plan) == [("RemoveFinalizers", "infra")]
        assert plan.next == WaitFor("Cluster API, which is not paused, to finish deleting w-0")
        case["infra"], case["cluster_api"] = None, going(CAPI_MACHINE, metadata__finalizers=[SYNC])
        assert steps(decided(**case)) == [("RemoveFinalizers", "cluster_api"), ("RemoveFinalizers", "machine_api")]

    def finished(self) -> Tree:
        """Everything is being deleted, and the Machine API's own controllers are done."""
        case = under_machine_api()
        case["infra"]["metadata"]["finalizers"] = [INFRA_FINALIZER, SYNC]
        case["machine_api"]["metadata"]["finalizers"] = [SYNC]
        return {**case, **{side: going(case[side]) for side in ("machine_api", "cluster_api", "infra")}}


class TestUnreadable:
    """The Machine of the Machine API cannot be read, so nobody knows whose authority it is but by its mirror."""

    def test_a_mirror_of_it_says_so_and_goes_with_it(self) -> None:
        case = self.broken(**under_machine_api())
        plan = decided(**{**case, "machine_api": going(case["machine_api"])})
        assert steps(plan) == [("Delete", "cluster_api"), ("Delete", "infra")]
        end = {side: going(case[side]) for side in ("machine_api", "cluster_api", "infra")}
        end["machine_api"]["metadata"]["finalizers"] = [SYNC]
        assert steps(decided(**{**case, **end})) == [
            ("RemoveFinalizers", "infra"),
            ("RemoveFinalizers", "cluster_api"),
            ("RemoveFinalizers", "machine_api"),
        ]

    def test_deleting_its_mirror_deletes_it(self) -> None:
        case = self.broken(**under_machine_api())
        assert steps(decided(**{**case, "cluster_api": going(case["cluster_api"])})) == [("Delete", "machine_api")]

    def test_a_cluster_api_machine_that_is_no_mirror_is_the_authority(self) -> None:
        case = self.broken(machine_api=MIRROR, cluster_api=CAPI_MACHINE, infra=INFRA)
        assert steps(decided(**{**case, "machine_api": going(case["machine_api"])})) == [("Delete", "cluster_api")]
        gone = {**case, "cluster_api": going(CAPI_MACHINE, metadata__finalizers=[SYNC]), "infra": None}
        assert steps(decided(**{**gone, "machine_api": going(case["machine_api"])})) == [
            ("RemoveFinalizers", "machine_api"),
            ("RemoveFinalizers", "cluster_api"),
        ]

    def test_without_anything_else_it_is_let_go(self) -> None:
        case = self.broken(machine_api=going(MIRROR), cluster_api=None, infra=None)
        (off,) = decided(**case).needed
        assert isinstance(off, RemoveFinalizers)
        assert off.desired == [MACHINE_API_FINALIZER], "nobody knows whether the Machine API has finished"

    def test_an_infra_machine_alone_goes_first(self) -> None:
        case = self.broken(machine_api=going(MIRROR), cluster_api=None, infra=INFRA)
        assert steps(decided(**case)) == [("Delete", "infra")]
        case["infra"] = going(INFRA, metadata__finalizers=[SYNC])
        assert steps(decided(**case)) == [("RemoveFinalizers", "infra")]

    def test_while_nothing_goes_nothing_is_done_but_said(self) -> None:
        plan = decided(**self.broken(**under_machine_api()))
        assert [type(action).__name__ for action in plan.needed] == ["Emit"]

    def broken(self, **case: Any) -> Tree:
        return {**case, "machine_api": changed(case["machine_api"], spec__lifecycleHooks="none")}
