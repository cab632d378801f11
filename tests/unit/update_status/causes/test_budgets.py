"""What the API server answers to an eviction, by the budget of the Pod."""

import pytest

from windlass.api.core import Pod
from windlass.api.meta import Condition, LabelSelector
from windlass.api.policy import PodDisruptionBudget
from windlass.update_status.causes.budgets import counts, forbids, refusal

from .workload import budget, pod, ready

UNREADY = pod("shop-0", "n1", ready("False"))
FAILED = Condition(type="DisruptionAllowed", status="False", reason="SyncFailed", message="no scale of kind Shop")


@pytest.mark.parametrize(
    ("budget", "pod", "forbidden"),
    [
        (budget(), pod(), True),
        (budget(allowed=1), pod(), False),
        (budget(allowed=1, changed=True), pod(), True),
        (budget(), pod(phase="Pending"), False),
        (budget(), pod(phase="Succeeded"), False),
        (budget(), pod(phase="Failed"), False),
        (budget(), pod(phase="Unknown"), True),
        (budget(healthy=0), UNREADY, True),
        (budget(healthy=1), UNREADY, False),
        (budget(healthy=0, desired=0), UNREADY, True),
        (budget(healthy=0, policy="AlwaysAllow"), UNREADY, False),
        (budget(healthy=0, policy="IfHealthyBudget"), UNREADY, True),
        (budget(policy="AlwaysAllow"), pod(), True),
        (budget(healthy=0, policy="AlwaysAllow"), pod("shop-0", "n1", ready("Unknown")), False),
    ],
)
def test_a_budget_forbids_what_kubernetes_refuses(budget: PodDisruptionBudget, pod: Pod, forbidden: bool) -> None:
    assert forbids(budget, pod) is forbidden


@pytest.mark.parametrize(
    ("budget", "counted"),
    [
        (budget(), True),
        (budget(namespace="other"), False),
        (budget(selector=LabelSelector()), True),
        (budget(selector=None), False),
        (budget(selector=LabelSelector(match_labels={"app": "other"})), False),
        (budget(selector=LabelSelector(match_labels={"-": ""})), False),
    ],
)
def test_a_budget_counts_the_pods_of_its_namespace_that_it_selects(budget: PodDisruptionBudget, counted: bool) -> None:
    assert counts(budget, pod()) is counted


@pytest.mark.parametrize(
    ("budget", "why", "recovers"),
    [
        (budget(), "1 of 1 Pods are healthy, and 1 have to be: it never allows an eviction.", False),
        (budget(healthy=2, desired=3, expected=3), "2 of 3 Pods are healthy, and 3 have to be: it never", False),
        (budget(healthy=2, desired=2, expected=3), "2 of 3 Pods are healthy, and 2 have to be.", True),
        (budget(changed=True), "The budget was changed, and its Pods have not been counted since.", False),
        (budget(condition=FAILED), "Kubernetes cannot count its Pods: no scale of kind Shop", False),
    ],
)
def test_a_refusal_says_what_has_to_change(budget: PodDisruptionBudget, why: str, recovers: bool) -> None:
    found = refusal(budget)
    assert found.why.startswith(why)
    assert found.remedy
    assert found.recovers is recovers
