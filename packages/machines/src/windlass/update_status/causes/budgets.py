"""Whether a PodDisruptionBudget forbids the eviction of a Pod, and what would make it allow that.

| situation | the eviction |
|---|---|
| the Pod has ended, or has not started | allowed: budgets do not count |
| the Pod is not ready, and the budget's policy is AlwaysAllow | allowed |
| the Pod is not ready, and the others are as many as have to be | allowed |
| the budget was changed, and its Pods have not been counted since | forbidden |
| the budget allows a disruption | allowed |
| otherwise | forbidden |

Source: `pkg/registry/core/pod/storage/eviction.go` of Kubernetes 1.33.
"""

from collections.abc import Iterable

from msgspec import Struct

from windlass.api.core import Pod
from windlass.api.policy import PodDisruptionBudget
from windlass.kube.label_selectors import selects
from windlass.update_status.conditions import find


class Refusal(Struct, frozen=True):
    """Why a budget forbids evictions: `why`, and what to change. `recovers`: it is enough that Pods get ready."""

    why: str
    remedy: str
    recovers: bool = False


def budgets_of(pod: Pod, budgets: Iterable[PodDisruptionBudget]) -> list[PodDisruptionBudget]:
    """The budgets that count the Pod. The API server evicts none that has several."""
    return [budget for budget in budgets if counts(budget, pod)]


def counts(budget: PodDisruptionBudget, pod: Pod) -> bool:
    """Whether the budget selects the Pod."""
    if budget.metadata.namespace != pod.metadata.namespace:
        return False
    selected = selects(budget.spec.selector)
    return selected is not None and selected(pod.metadata.labels)


def is_ready(pod: Pod) -> bool:
    ready = find(pod.status.conditions, "Ready")
    return ready is not None and ready.status == "True"


def needs_no_budget(pod: Pod) -> bool:
    """Whether the Pod is evicted whatever budgets say."""
    return pod.status.phase in ("Succeeded", "Failed", "Pending")


def forbids(budget: PodDisruptionBudget, pod: Pod) -> bool:
    """Whether the budget, which counts the Pod, forbids its eviction."""
    status = budget.status
    if needs_no_budget(pod):
        return False
    if not is_ready(pod):
        if budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow":
            return False
        if status.current_healthy >= status.desired_healthy > 0:
            return False
    return _is_uncounted(budget) or status.disruptions_allowed <= 0


def refusal(budget: PodDisruptionBudget) -> Refusal:
    """Why the budget forbids evictions."""
    status = budget.status
    failed = find(status.conditions, "DisruptionAllowed")
    if failed is not None and failed.reason == "SyncFailed":
        return Refusal(f"Kubernetes cannot count its Pods: {failed.message}", "Correct the budget.")
    if _is_uncounted(budget):
        return Refusal(
            "The budget was changed, and its Pods have not been counted since.",
            "Wait a minute; then see whether kube-controller-manager runs.",
        )
    have = (
        f"{status.current_healthy} of {status.expected_pods} Pods are healthy, and {status.desired_healthy} have to be"
    )
    if status.desired_healthy >= status.expected_pods:
        return Refusal(
            f"{have}: it never allows an eviction.",
            "Run more Pods than the budget demands, or let it demand fewer.",
        )
    return Refusal(f"{have}.", "See why the other Pods are not ready.", recovers=True)


def _is_uncounted(budget: PodDisruptionBudget) -> bool:
    return budget.status.observed_generation < budget.metadata.generation
