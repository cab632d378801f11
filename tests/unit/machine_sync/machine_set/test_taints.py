"""Taints in the template of a set, with Cluster API's feature gate MachineTaintPropagation on and off."""

from typing import Any

from msgspec.structs import replace

from windlass.api import capi
from windlass.kube.control.plan import Create, Merge, Plan, WaitFor
from windlass.machine_sync.platforms import OPENSTACK

from .cases import BEHIND_CLUSTER_API, CAPI_SET, MAPI_SET, changed
from .test_decide import condition, decided, mirrored, notes, only, said_paused
from .world import at_rest, mapi_of

OFF = OPENSTACK
ON = replace(OPENSTACK, takes_taints=True)
TAINTS = [{"key": "gpu", "value": "a", "effect": "NoSchedule"}]
ALWAYS = [{**taint, "propagation": "Always"} for taint in TAINTS]
ONCE = [{**taint, "propagation": "OnInitialization"} for taint in TAINTS]
TAINTED = changed(MAPI_SET, spec__template__spec__taints=TAINTS)
FIRST = changed(TAINTED, spec__authoritativeAPI="ClusterAPI", status__authoritativeAPI="ClusterAPI")
BY_SPEC = {"spec": {"template": {"spec": {"taints": ALWAYS}}}}


async def mirrored_without_taints() -> dict[str, Any]:
    """In sync with the gate off."""
    return await mirrored(machine_api=TAINTED)


def with_taints(case: dict[str, Any], taints: Any = ALWAYS) -> dict[str, Any]:
    """The case with these taints on the set of Cluster API."""
    return {**case, "cluster_api": changed(case["cluster_api"], spec__template__spec__taints=taints)}


def asked(case: dict[str, Any]) -> dict[str, Any]:
    """The user asks for Cluster API as the authority; the Machine API's controllers act."""
    machine_api = said_paused(case["machine_api"], paused=False)
    return {**case, "machine_api": changed(machine_api, spec__authoritativeAPI="ClusterAPI")}


def content(plan: Plan) -> Any:
    return only(Merge, plan, capi.MachineSet).patch


def begins(plan: Plan) -> bool:
    return "Migrating" in str([action.patch for action in plan.needed if isinstance(action, Merge)])


class TestGateOn:
    def test_a_new_mirror_has_the_taints(self) -> None:
        create = only(Create, decided(machine_api=TAINTED, platform=ON), capi.MachineSet)
        assert create.body["spec"]["template"]["spec"]["taints"] == ALWAYS

    async def test_one_that_was_mirrored_without_them_gets_them_in_one_write(self) -> None:
        case = await mirrored_without_taints()
        assert content(decided(**case, platform=ON)) == BY_SPEC

    async def test_then_nothing_more_is_written_to_its_spec(self) -> None:
        case = with_taints(await mirrored_without_taints())
        assert "spec" not in str([action.patch for action in decided(**case, platform=ON).needed])  # type: ignore[attr-defined]

    async def test_propagation_that_a_user_of_cluster_api_chose_stays(self) -> None:
        case = with_taints(await mirrored_without_taints(), ONCE)
        assert not any(
            action.target.kind is capi.MachineSet and action.subresource == ""
            for action in decided(**case, platform=ON).needed
        )

    async def test_authority_moves(self) -> None:
        case = asked(with_taints(await mirrored_without_taints()))
        assert begins(decided(**case, platform=ON))

    def test_the_first_set_of_cluster_api_has_them(self) -> None:
        create = only(Create, decided(machine_api=FIRST, platform=ON), capi.MachineSet)
        assert create.body["spec"]["template"]["spec"]["taints"] == ALWAYS


class TestGateOff:
    def test_the_mirror_has_all_but_the_taints_and_an_event_names_the_gate(self) -> None:
        plan = decided(machine_api=TAINTED)
        assert "taints" not in only(Create, plan, capi.MachineSet).body["spec"]["template"]["spec"]
        ((reason, note),) = notes(plan)
        assert reason == "ConversionWarning"
        assert "feature gate MachineTaintPropagation" in note

    async def test_the_set_is_in_sync_and_its_authority_does_not_move(self) -> None:
        case = asked(await mirrored_without_taints())
        plan = decided(**case)
        assert not begins(plan)
        assert isinstance(plan.next, WaitFor)
        assert "MachineTaintPropagation" in str(plan.next)

    async def test_the_taints_of_earlier_times_are_taken_off_so_that_the_webhook_admits_the_mirror(self) -> None:
        case = with_taints(await mirrored_without_taints())
        assert content(decided(**case)) == {"spec": {"template": {"spec": {"taints": None}}}}

    def test_no_first_set_of_cluster_api_is_made_since_its_mirror_would_lose_them_too(self) -> None:
        plan = decided(machine_api=FIRST)
        assert [action for action in plan.needed if isinstance(action, Create)] == []
        assert condition(plan)["reason"] == "FailedToConvertMAPIMachineSetToCAPI"
        assert "MachineTaintPropagation" in condition(plan)["message"]


class TestClusterApiIsAuthoritative:
    async def test_the_mirror_has_the_taints_whatever_the_gate_is_here(self) -> None:
        source = changed(CAPI_SET, spec__template__spec__taints=ALWAYS)
        api = await at_rest(machine_api=BEHIND_CLUSTER_API, cluster_api=source)
        mirror = mapi_of(api)
        assert mirror is not None
        assert mirror["spec"]["template"]["spec"]["taints"] == TAINTS

    async def test_the_time_of_a_taint_stays_on_the_mirror_while_the_taint_does(self) -> None:
        timed = [{**TAINTS[0], "timeAdded": "2026-05-01T12:00:00Z"}]
        source = changed(CAPI_SET, spec__template__spec__taints=ALWAYS)
        mirror = changed(BEHIND_CLUSTER_API, spec__template__spec__taints=timed)
        found = mapi_of(await at_rest(machine_api=mirror, cluster_api=source))
        assert found is not None
        assert found["spec"]["template"]["spec"]["taints"] == timed
