"""What holds the drain of a node, by its Pods and their budgets."""

from typing import Any

import pytest

from windlass.api.core import Pod
from windlass.api.meta import Condition
from windlass.api.policy import PodDisruptionBudget
from windlass.update_status.causes.drains import drain_causes, long_drains, to_look_into, unread_drains
from windlass.update_status.report import Cause, CauseKind, Level, Node, Phase, Reference, Report
from windlass.update_status.sources import Unknown, Workload
from windlass.update_status.times import HOUR, MINUTE, SECOND

from ..text import reports
from .workload import DRAINED, LONG, NOW, at, budget, draining, pod, ready, unready

NODE = Reference("", "nodes", "n1")
UNMANAGED = pod(owner="")
SEVERAL = (budget("a", allowed=1), budget("b", allowed=1))
RECOVERS = budget(healthy=2, desired=2, expected=3)


def drained(*nodes: Node) -> Report:
    return reports.report(None, reports.pool("worker", *(nodes or (draining(),))))


def found(
    pods: Any, budgets: Any = (), *, nodes: tuple[str, ...] = ("n1",), report: Report | None = None
) -> list[Cause]:
    workload = Workload(nodes=nodes, pods=pods, budgets=budgets)
    return [*drain_causes(report or drained(), workload, now=NOW)]


def reference(one: Pod | PodDisruptionBudget) -> Reference:
    group = one.RESOURCE.group
    return Reference(group, one.RESOURCE.plural, one.metadata.name, one.metadata.namespace)


@pytest.mark.parametrize(
    ("pods", "budgets", "kinds"),
    [
        # It is evicted, whatever holds it.
        ([], [budget()], []),
        ([pod(owner="DaemonSet")], [budget()], []),
        ([pod(owner="DaemonSet", phase="Failed")], [], ["Eviction"]),
        ([pod(static=True)], [budget()], []),
        ([pod("shop-0", "n2")], [budget()], []),
        # It is deleted.
        ([pod(deleted=0.5)], [budget()], []),
        ([pod(deleted=1, grace=120)], [], []),
        ([pod(deleted=1, grace=121)], [], ["GracePeriod"]),
        ([pod(deleted=0, grace=LONG)], [], ["GracePeriod"]),
        ([pod(deleted=-1, grace=LONG)], [], []),
        ([pod(deleted=-1.1)], [], ["Termination"]),
        ([pod(deleted=-1.1, finalizers=["a/b"])], [budget()], ["Termination"]),
        # It is not.
        ([pod()], [], ["Eviction"]),
        ([UNMANAGED], [], ["Eviction"]),
        ([pod()], [budget()], ["PodDisruptionBudget"]),
        ([pod()], [budget(allowed=1)], ["Eviction"]),
        ([pod()], [budget(namespace="other")], ["Eviction"]),
        ([pod()], SEVERAL, ["PodDisruptionBudget"]),
        ([pod(phase="Succeeded")], SEVERAL, ["Eviction"]),
        ([pod(), unready()], [RECOVERS], ["ImagePull"]),
        ([pod(), unready(reason="CrashLoopBackOff")], [RECOVERS], ["PodStart"]),
        ([pod(), unready(), unready("shop-2", "CrashLoopBackOff")], [RECOVERS], ["ImagePull", "PodStart"]),
        ([pod(), unready(labels={})], [RECOVERS], ["PodDisruptionBudget"]),
        ([pod(), unready(namespace="other")], [RECOVERS], ["PodDisruptionBudget"]),
        # Would it start, the budget would still forbid the eviction.
        ([pod(), unready()], [budget(healthy=1, desired=2, expected=2)], ["PodDisruptionBudget"]),
        # One cause for all that it holds.
        ([pod("shop-0"), pod("shop-1")], [budget()], ["PodDisruptionBudget"]),
        ([pod("shop-0"), pod("shop-1")], [], ["Eviction"]),
        ([pod("a", deleted=9, grace=LONG), pod("b"), pod("c", labels={})], [budget()],
         ["GracePeriod", "PodDisruptionBudget", "Eviction"]),
    ],
)  # fmt: skip
def test_the_causes_of_a_drain(pods: list[Pod], budgets: list[PodDisruptionBudget], kinds: list[str]) -> None:
    assert [cause.kind.value for cause in found(tuple(pods), tuple(budgets))] == kinds


def test_a_budget_is_told_with_all_that_waits_for_it() -> None:
    pods = (pod("shop-0"), pod("shop-1", "n2"), pod("shop-2", "n2"))
    (cause,) = found(pods, (budget(),), nodes=("n1", "n2"), report=drained(draining(), draining("n2")))
    assert cause == Cause(
        kind=CauseKind.BUDGET,
        level=Level.WARNING,
        summary="PodDisruptionBudget shop/shop does not allow the eviction of 3 Pods on nodes n1 and n2",
        description="1 of 1 Pods are healthy, and 1 have to be: it never allows an eviction.",
        remedy="Run more Pods than the budget demands, or let it demand fewer.",
        started=DRAINED,
        about=(reference(budget()), *map(reference, pods)),
        affected=(NODE, Reference("", "nodes", "n2")),
    )


def test_a_budget_that_needs_other_pods_names_them() -> None:
    (cause,) = found((pod(), pod("shop-1", "n2", ready("False"))), (RECOVERS,))
    assert cause.description == "2 of 3 Pods are healthy, and 2 have to be. Not ready: shop-1."
    assert cause.remedy == "See why the other Pods are not ready."


@pytest.mark.parametrize(
    ("since", "minutes", "status", "started"),
    [
        (DRAINED, -5, "False", NOW - 5 * MINUTE),
        (DRAINED, -500, "False", DRAINED),
        (DRAINED, -5, "True", DRAINED),
        (None, -5, "False", None),
    ],
)
def test_a_budget_holds_a_drain_since_both_are_there(
    since: int | None, minutes: float, status: str, started: int | None
) -> None:
    said = Condition(type="DisruptionAllowed", status=status, reason="R", last_transition_time=at(minutes))
    (cause,) = found((pod(),), (budget(condition=said),), report=drained(draining(since=since)))
    assert cause.started == started


def test_a_pod_elsewhere_that_cannot_pull_is_the_cause() -> None:
    (cause,) = found((pod(), unready(), unready("shop-2")), (RECOVERS,))
    assert cause.summary == (
        "Pod shop/shop-1 cannot pull its image, so PodDisruptionBudget shop does not allow the eviction of "
        "Pod shop/shop-0 on node n1"
    )
    assert cause.description == (
        "Container app: ImagePullBackOff: Back-off pulling image 1 more does the same.\n"
        "The budget: 2 of 3 Pods are healthy, and 2 have to be."
    )
    assert cause.started == NOW - 30 * MINUTE
    assert [one.name for one in cause.about] == ["shop-1", "shop-2", "shop", "shop-0"]
    assert cause.affected == (NODE,)


def test_several_budgets_of_a_pod_are_told_together() -> None:
    (cause,) = found((pod(),), SEVERAL)
    assert cause.summary == "Pod shop/shop-0 on node n1 is counted by several PodDisruptionBudgets: shop/a and shop/b"
    assert [one.name for one in cause.about] == ["a", "b", "shop-0"]


@pytest.mark.parametrize(
    ("finalizers", "why"),
    [
        ((), "it was deleted, and its kubelet has not reported the end of its containers"),
        (("a/b",), "finalizer a/b keeps it"),
        (("a/b", "c"), "finalizers a/b and c keep it"),
    ],
)
def test_a_pod_that_should_have_gone_says_what_keeps_it(finalizers: tuple[str, ...], why: str) -> None:
    (cause,) = found((pod(deleted=-5, finalizers=finalizers),))
    assert (cause.level, cause.started) == (Level.WARNING, NOW - 5 * MINUTE)
    assert cause.summary == f"Pod shop/shop-0 on node n1 has not gone: {why}"


def test_a_grace_period_is_intended_and_says_when_it_ends() -> None:
    (cause,) = found((pod(deleted=50, grace=LONG),))
    assert (cause.level, cause.started) == (Level.INFO, NOW + 50 * MINUTE - HOUR)
    assert cause.summary == "Pod shop/shop-0 on node n1 may take until 2024-02-27T12:50:00Z to end"
    assert cause.description.startswith("Its grace period is 1h: ")


def test_a_pod_without_a_controller_is_named() -> None:
    (cause,) = found((UNMANAGED, pod("shop-1")))
    assert cause.summary == "2 Pods on node n1 have not been evicted"
    assert cause.description.endswith(" No controller would replace shop/shop-0.")
    (cause,) = found((pod(),))
    assert cause.summary == "Pod shop/shop-0 on node n1 has not been evicted"
    assert "controller would" not in cause.description


def test_a_node_that_no_longer_drains_has_no_cause() -> None:
    assert found((pod(),), (budget(),), report=drained(draining(phase=Phase.UPDATING))) == []


@pytest.mark.parametrize(
    ("pods", "budgets", "kinds", "gaps"),
    [
        (Unknown("pods is forbidden"), (budget(),), [], ["pods is forbidden"]),
        ((pod(), pod("x", deleted=-5)), Unknown("no budgets"), ["Termination"], ["no budgets"]),
        (Unknown("timeout"), Unknown("timeout"), [], ["timeout"]),
        (Unknown("one"), Unknown("other"), [], ["one", "other"]),
    ],
)
def test_what_could_not_be_read_is_a_gap_and_never_a_guess(
    pods: Any, budgets: Any, kinds: list[str], gaps: list[str]
) -> None:
    assert [cause.kind.value for cause in found(pods, budgets)] == kinds
    workload = Workload(nodes=("n1",), pods=pods, budgets=budgets)
    assert [*unread_drains(workload)] == [f"what holds the drain of n1: {why}" for why in gaps]


@pytest.mark.parametrize(
    ("node", "long"),
    [
        (draining(since=NOW - 2 * MINUTE), False),
        (draining(since=NOW - 2 * MINUTE - SECOND), True),
        (draining(since=None), False),
        (draining(since=None, degraded=True), True),
        (draining(since=None, first_seen=NOW - 3 * MINUTE), True),
        (draining(since=NOW, first_seen=NOW - 3 * MINUTE), False),
        (draining(phase=Phase.UPDATING), False),
        (draining(phase=Phase.PENDING, degraded=True), False),
    ],
)
def test_pods_are_read_for_nodes_that_drain_for_long(node: Node, long: bool) -> None:
    assert long_drains(drained(node), now=NOW) == (("n1",) if long else ())


def test_of_many_drains_the_longest_are_explained() -> None:
    nodes = [draining(f"n{number:02}", since=NOW - (number + 3) * MINUTE) for number in range(20)]
    assert long_drains(drained(*nodes), now=NOW) == tuple(f"n{number:02}" for number in range(19, 3, -1))


@pytest.mark.parametrize(
    ("pods", "budgets", "names"),
    [
        ([pod()], [RECOVERS], ["shop"]),
        ([pod()], [budget()], []),
        ([pod()], [budget(healthy=3, desired=2, expected=3, allowed=1)], []),
        ([pod(deleted=5)], [RECOVERS], []),
        ([pod(owner="DaemonSet")], [RECOVERS], []),
        ([pod(labels={})], [RECOVERS], []),
    ],
)
def test_the_other_pods_of_a_budget_matter_if_it_waits_for_them(
    pods: list[Pod], budgets: list[PodDisruptionBudget], names: list[str]
) -> None:
    assert [one.metadata.name for one in to_look_into(pods, budgets)] == names
