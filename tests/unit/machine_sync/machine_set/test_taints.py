"""Taints in the template of a set, with Cluster API's feature gate MachineTaintPropagation on and off."""

from typing import Any

import pytest
from msgspec.structs import replace

from windlass.api import capi
from windlass.kube.control.plan import Create, Emit, Merge, Plan, WaitFor
from windlass.machine_sync.machine_set.decide import decide
from windlass.machine_sync.platforms import OPENSTACK

from .cases import BEHIND_CLUSTER_API, CAPI_SET, MAPI_SET, NOW, changed, snapshot
from .world import at_rest, capi_of, mapi_of, synchronized, templates_of

OFF = OPENSTACK
ON = replace(OPENSTACK, takes_taints=True)
TAINTS = [{"key": "gpu", "value": "a", "effect": "NoSchedule"}]
ALWAYS = [{**taint, "propagation": "Always"} for taint in TAINTS]
ONCE = [{**taint, "propagation": "OnInitialization"} for taint in TAINTS]
TAINTED = changed(MAPI_SET, spec__template__spec__taints=TAINTS)
FIRST = changed(TAINTED, spec__authoritativeAPI="ClusterAPI", status__authoritativeAPI="ClusterAPI")


def decided(**case: Any) -> Plan:
    return decide(snapshot(**case), now=NOW)


async def mirrored_without_taints() -> dict[str, Any]:
    """All that there is once the set is in sync with the gate off, for `snapshot`."""
    api = await at_rest(machine_api=TAINTED)
    return {
        "machine_api": mapi_of(api),
        "cluster_api": capi_of(api),
        "templates": tuple(one for one in templates_of(api).values() if one["metadata"].get("labels")),
    }


def with_taints(case: dict[str, Any], taints: Any = ALWAYS) -> dict[str, Any]:
    """The case with these taints on the set of Cluster API."""
    return {**case, "cluster_api": changed(case["cluster_api"], spec__template__spec__taints=taints)}


def asked(case: dict[str, Any]) -> dict[str, Any]:
    """The user asks for Cluster API as the authority."""
    return {**case, "machine_api": changed(case["machine_api"], spec__authoritativeAPI="ClusterAPI")}


def created(plan: Plan) -> list[Any]:
    """The specs of sets of Cluster API that the plan creates."""
    return [one.body["spec"] for one in plan.needed if isinstance(one, Create) and one.target.kind is capi.MachineSet]


def content(plan: Plan) -> list[Any]:
    """The changes of a set of Cluster API, but for its status."""
    return [
        one.patch
        for one in plan.needed
        if isinstance(one, Merge) and not one.part and one.target.kind is capi.MachineSet
    ]


def begins(plan: Plan) -> bool:
    return "Migrating" in str([action.patch for action in plan.needed if isinstance(action, Merge)])


class TestGateOn:
    def test_a_new_mirror_has_the_taints(self) -> None:
        (spec,) = created(decided(machine_api=TAINTED, platform=ON))
        assert spec["template"]["spec"]["taints"] == ALWAYS

    async def test_one_that_was_mirrored_without_them_gets_them_in_one_write(self) -> None:
        case = await mirrored_without_taints()
        assert content(decided(**case, platform=ON)) == [{"spec": {"template": {"spec": {"taints": ALWAYS}}}}]

    @pytest.mark.parametrize("taints", [ALWAYS, ONCE])
    async def test_one_that_has_them_is_not_written_whatever_propagation_its_users_chose(self, taints: Any) -> None:
        case = with_taints(await mirrored_without_taints(), taints)
        assert content(decided(**case, platform=ON)) == []

    async def test_authority_moves(self) -> None:
        assert begins(decided(**asked(with_taints(await mirrored_without_taints())), platform=ON))

    def test_the_first_set_of_cluster_api_has_them(self) -> None:
        (spec,) = created(decided(machine_api=FIRST, platform=ON))
        assert spec["template"]["spec"]["taints"] == ALWAYS


class TestGateOff:
    def test_the_mirror_has_all_but_the_taints_and_an_event_names_the_gate(self) -> None:
        plan = decided(machine_api=TAINTED)
        (spec,) = created(plan)
        assert "taints" not in spec["template"]["spec"]
        (event,) = [action for action in plan.needed if isinstance(action, Emit)]
        assert event.reason == "ConversionWarning"
        assert "feature gate MachineTaintPropagation" in event.note

    async def test_the_set_is_in_sync_and_its_authority_does_not_move(self) -> None:
        case = asked(await mirrored_without_taints())
        assert synchronized(case["machine_api"])["status"] == "True"
        plan = decided(**case)
        assert not begins(plan)
        assert isinstance(plan.next, WaitFor)
        assert "MachineTaintPropagation" in str(plan.next)

    async def test_the_taints_of_earlier_times_are_taken_off_so_that_the_webhook_admits_the_mirror(self) -> None:
        case = with_taints(await mirrored_without_taints())
        assert content(decided(**case)) == [{"spec": {"template": {"spec": {"taints": None}}}}]

    async def test_no_first_set_of_cluster_api_is_made_since_its_mirror_would_lose_them_too(self) -> None:
        plan = decided(machine_api=FIRST)
        assert created(plan) == []
        assert "MachineTaintPropagation" in str(plan.next)
        (write,) = [action for action in plan.needed if isinstance(action, Merge)]
        assert "FailedToConvertMAPIMachineSetToCAPI" in str(write.patch)


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
