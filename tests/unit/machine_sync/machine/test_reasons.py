"""Writes that the API server refuses: which reason and which words they get, and where."""

from typing import Any

import msgspec

from windlass.kube.control.plan import Outcome, Plan, Result, Retry
from windlass.kube.errors import Forbidden, Status
from windlass.machine_sync.machine.decide import decide

from .cases import (
    CAPI_MACHINE,
    INFRA,
    NOW,
    changed,
    condition,
    mirrored,
    notes,
    snapshot,
)


class TestRefusedWrites:
    def refusal(self, index: int, **case: Any) -> Plan:
        seen = snapshot(**case)
        action = decide(seen, now=NOW).needed[index]
        error = Forbidden(Status(code=403, message="no"))
        return decide(msgspec.structs.replace(seen, last=Outcome((Result(action, error=error),))), now=NOW)

    def test_a_create_that_is_refused_is_an_event(self) -> None:
        text = "unable to ensure Machine API machine: failed to create Machine API machine: no"
        plan = self.refusal(0)
        assert notes(plan) == [("SynchronizationWarning", text)]
        assert plan.next == Retry(text)

    def test_an_update_that_is_refused_is_a_condition_with_its_own_reason(self) -> None:
        plan = self.refusal(0, machine_api=mirrored(), infra_machine=changed(INFRA, spec__flavor="f"))
        assert condition(plan)["reason"] == "FailedToUpdateMAPIMachine"
        assert condition(plan)["message"].endswith("failed to update Machine API machine: no")
        assert isinstance(plan.next, Retry)

    def test_a_finalizer_that_is_refused_blames_the_object_it_was_for(self) -> None:
        bare = {"machine_api": mirrored(), "cluster_api": changed(CAPI_MACHINE, metadata__finalizers=[])}
        assert condition(self.refusal(0, **bare))["reason"] == "FailedToUpdateCAPIMachine"
        bare = {"machine_api": mirrored(), "infra_machine": changed(INFRA, metadata__finalizers=[])}
        assert condition(self.refusal(0, **bare))["reason"] == "FailedToUpdateCAPIInfraMachine"
