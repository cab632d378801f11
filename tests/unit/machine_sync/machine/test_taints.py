"""Taints of one machine, with Cluster API's feature gate MachineTaintPropagation on and off, and turned on and off."""

from typing import Any

import pytest
from msgspec.structs import replace

from windlass.kube.control.plan import Create, Emit, Merge, Plan, Retry, WaitFor
from windlass.machine_sync.platforms import OPENSTACK

from .cases import (
    CAPI_MACHINE,
    CAPI_SET,
    MAPI_MACHINE,
    PAUSED,
    Tree,
    changed,
    condition,
    decided,
    notes,
    rounds,
    settled,
    under_machine_api,
    writes,
)
from .migration_cases import asked, under_cluster_api

OFF = OPENSTACK
ON = replace(OPENSTACK, takes_taints=True)
TAINTS = [{"key": "gpu", "value": "a", "effect": "NoSchedule"}, {"key": "edge", "effect": "NoExecute"}]
ALWAYS = [{**taint, "propagation": "Always"} for taint in TAINTS]
TAINTED = changed(MAPI_MACHINE, spec__taints=TAINTS)
FIRST = changed(TAINTED, spec__authoritativeAPI="ClusterAPI", status__authoritativeAPI="ClusterAPI")


ACTS = changed(CAPI_SET, metadata__annotations=None)
IS_PAUSED = changed(CAPI_SET, metadata__annotations={PAUSED: ""})


def under_gate(gate: Any, **case: Any) -> Tree:
    return under_machine_api(**{"machine_api": TAINTED, "cluster_api_set": IS_PAUSED, "platform": gate, **case})


def taints(case: Tree, side: str = "cluster_api") -> Any:
    return case[side]["spec"].get("taints")


def begins(plan: Plan) -> bool:
    return any("Migrating" in str(getattr(action, "patch", "")) for action in plan.needed)


class TestGateOn:
    def test_a_new_mirror_has_the_taints(self) -> None:
        assert taints(under_gate(ON)) == ALWAYS

    def test_nothing_more_is_written(self) -> None:
        assert decided(**under_gate(ON)).needed == ()

    def test_a_changed_taint_is_one_write(self) -> None:
        case = under_gate(ON)
        case["machine_api"] = changed(case["machine_api"], spec__taints=TAINTS[:1], metadata__generation=9)
        first, *_ = rounds(**case)
        assert writes(first) == [("Merge", "cluster_api")]
        assert taints(settled(**case)) == ALWAYS[:1]

    def test_taints_that_are_removed_are_removed_from_the_mirror(self) -> None:
        case = under_gate(ON)
        case["machine_api"] = changed(case["machine_api"], spec__taints=None, metadata__generation=9)
        assert taints(settled(**case)) is None

    def test_propagation_which_the_machine_api_does_not_have_stays_as_the_user_of_cluster_api_set_it(self) -> None:
        case = under_gate(ON)
        once = {**ALWAYS[0], "propagation": "OnInitialization"}
        case["cluster_api"] = changed(case["cluster_api"], spec__taints=[once, ALWAYS[1]])
        assert decided(**case).needed == ()
        renewed = [{**TAINTS[0], "value": "b"}, TAINTS[1]]
        case["machine_api"] = changed(case["machine_api"], spec__taints=renewed, metadata__generation=9)
        assert taints(settled(**case)) == [{**once, "value": "b"}, ALWAYS[1]]

    def test_authority_moves(self) -> None:
        case = asked(under_gate(ON), "ClusterAPI")
        assert any(begins(plan) for plan in rounds(**case))

    def test_the_first_machine_of_cluster_api_has_the_taints(self) -> None:
        case = settled(machine_api=FIRST, cluster_api=None, infra_machine=None, platform=ON)
        assert taints(case) == ALWAYS


class TestGateOff:
    def test_the_mirror_has_everything_but_the_taints_and_an_event_names_the_gate(self) -> None:
        first, *_ = rounds(machine_api=TAINTED, cluster_api=None, infra_machine=None)
        (create,) = [
            action for action in first.needed if isinstance(action, Create) if "clusterName" in str(action.body)
        ]
        assert "taints" not in create.body["spec"]
        (event,) = [action for action in first.needed if isinstance(action, Emit)]
        assert event.reason == "ConversionWarning"
        assert event.note == (
            'spec.taints: Invalid value: [{"key":"gpu","value":"a","effect":"NoSchedule"},'
            '{"key":"edge","effect":"NoExecute"}]: not copied, and authority cannot move to Cluster API: Cluster API '
            "takes taints only with its feature gate MachineTaintPropagation: turn the gate on and run machine-sync "
            "with --machine-taint-propagation, or remove the taints"
        )

    def test_the_machine_is_in_sync_and_nothing_more_is_written(self) -> None:
        case = under_gate(OFF)
        assert case["machine_api"]["status"]["conditions"][-1]["status"] == "True"
        assert decided(**case).needed == ()

    def test_authority_does_not_move_and_the_plan_says_why(self) -> None:
        case = asked(under_gate(OFF), "ClusterAPI")
        plans = rounds(**case)
        assert not any(begins(plan) for plan in plans)
        last = decided(**settled(**case)).next
        assert isinstance(last, WaitFor)
        assert "its taints to be in Cluster API before authority moves" in str(last)
        assert "MachineTaintPropagation" in str(last)

    def test_authority_moves_once_the_taints_are_removed(self) -> None:
        case = settled(**asked(under_gate(OFF), "ClusterAPI"))
        case["machine_api"] = changed(case["machine_api"], spec__taints=None, metadata__generation=9)
        assert any(begins(plan) for plan in rounds(**case))

    def test_no_first_machine_of_cluster_api_is_made_since_its_mirror_would_lose_them_too(self) -> None:
        plan = decided(machine_api=FIRST, cluster_api=None, infra_machine=None)
        assert writes(plan) == [("Merge status", "machine_api")]
        assert condition(plan)["reason"] == "FailedToConvertMAPIMachineToCAPI"
        assert "MachineTaintPropagation" in condition(plan)["message"]
        assert isinstance(plan.next, Retry)


class TestTheGateChanges:
    def test_a_mirror_is_completed_by_one_write_when_it_is_turned_on(self) -> None:
        case = {**under_gate(OFF), "platform": ON}
        first, *_ = rounds(**case)
        assert writes(first) == [("Merge", "cluster_api")]
        (write,) = [action for action in first.needed if isinstance(action, Merge)]
        assert write.patch == {"spec": {"taints": ALWAYS}}

    def test_the_taints_are_taken_off_a_mirror_when_it_is_turned_off_so_that_the_webhook_admits_it(self) -> None:
        case = {**under_gate(ON), "platform": OFF}
        first, *_ = rounds(**case)
        assert writes(first) == [("Merge", "cluster_api")]
        (write,) = [action for action in first.needed if isinstance(action, Merge)]
        assert write.patch == {"spec": {"taints": None}}
        assert [reason for reason, _ in notes(first)] == ["ConversionWarning"]
        assert taints(settled(**case), "machine_api") == TAINTS


class TestClusterApiIsAuthoritative:
    @pytest.mark.parametrize("gate", [OFF, ON])
    def test_the_mirror_in_the_machine_api_has_the_taints_whatever_the_gate_is_here(self, gate: Any) -> None:
        case = settled(cluster_api=changed(CAPI_MACHINE, spec__taints=ALWAYS), platform=gate)
        assert taints(case, "machine_api") == TAINTS
        assert decided(**case).needed == ()

    def test_the_time_of_a_taint_stays_on_the_mirror_while_the_taint_does(self) -> None:
        case = settled(cluster_api=changed(CAPI_MACHINE, spec__taints=ALWAYS), platform=ON)
        timed = [{**TAINTS[0], "timeAdded": "2026-05-01T12:00:00Z"}, TAINTS[1]]
        case["machine_api"] = changed(case["machine_api"], spec__taints=timed)
        assert decided(**case).needed == ()
        case["cluster_api"] = changed(case["cluster_api"], spec__taints=ALWAYS[1:])
        assert taints(settled(**case), "machine_api") == TAINTS[1:]

    def test_they_are_removed_from_the_mirror_with_the_last_one(self) -> None:
        case = settled(cluster_api=changed(CAPI_MACHINE, spec__taints=ALWAYS), platform=ON)
        case["cluster_api"] = changed(case["cluster_api"], spec__taints=None)
        assert taints(settled(**case), "machine_api") is None

    def test_authority_moves_to_the_machine_api_whatever_the_gate_is_here(self) -> None:
        case = under_cluster_api()
        case["cluster_api"] = changed(case["cluster_api"], spec__taints=ALWAYS)
        assert any(begins(plan) for plan in rounds(**asked(settled(**case), "MachineAPI")))


class TestTheSetActsInClusterApi:
    """It writes the taints of its template to all its machines, mirrors included."""

    def test_its_taints_stay_on_the_mirror(self) -> None:
        case = under_gate(ON, cluster_api_set=ACTS)
        case["cluster_api"] = changed(case["cluster_api"], spec__taints=ALWAYS[:1])
        assert writes(decided(**case)) == []

    def test_a_machine_does_not_move_that_would_lose_its_own(self) -> None:
        case = under_gate(ON, cluster_api_set=ACTS)
        case["cluster_api"] = changed(case["cluster_api"], spec__taints=ALWAYS[:1])
        case = settled(**asked(case, "ClusterAPI"))
        assert '"key":"edge"' in str(decided(**case).next)
        assert '"key":"gpu"' not in str(decided(**case).next)
        assert "If its MachineSet acts in Cluster API, they must be in the template there" in str(decided(**case).next)

    def test_while_it_is_paused_the_machine_has_its_own(self) -> None:
        case = under_gate(ON, cluster_api_set=IS_PAUSED)
        case["cluster_api"] = changed(case["cluster_api"], spec__taints=ALWAYS[:1])
        assert taints(settled(**case)) == ALWAYS
