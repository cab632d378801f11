"""Tells what holds a drain: the cause for each row of the table in `drains`."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from windlass.api.core import Pod
from windlass.api.policy import PodDisruptionBudget
from windlass.update_status.causes.budgets import refusal
from windlass.update_status.causes.names import budget_reference, listed, name_of, node_reference, pod_reference
from windlass.update_status.causes.starts import Trouble
from windlass.update_status.conditions import find
from windlass.update_status.report import Cause, CauseKind, Level, Node, Reference
from windlass.update_status.times import Duration, Moment, known_moment, rfc3339, short


class Placed(Struct, frozen=True):
    """A Pod on a node that drains."""

    pod: Pod
    node: Node


def slow_pod(one: Placed, end: Moment, grace: Duration) -> Cause:
    """It ends by itself, later."""
    return Cause(
        kind=CauseKind.GRACE_PERIOD,
        level=Level.INFO,
        summary=f"{_pods([one])} may take until {rfc3339(end)} to end",
        description=f"Its grace period is {short(grace)}: so long its containers may take to end by themselves.",
        remedy=f"Wait, or ask the owner of namespace {one.pod.metadata.namespace} whether the Pod may end sooner.",
        started=end - grace,
        about=(pod_reference(one.pod),),
        affected=(node_reference(one.node),),
    )


def late_pod(one: Placed, end: Moment) -> Cause:
    """It should have ended."""
    finalizers = one.pod.metadata.finalizers
    if not finalizers:
        why = "it was deleted, and its kubelet has not reported the end of its containers"
        remedy = f"See whether node {one.node.name} is ready, and the log of its kubelet."
    elif len(finalizers) == 1:
        why = f"finalizer {finalizers[0]} keeps it"
        remedy = "See why the controller that set the finalizer does not remove it: whether it runs, and its log."
    else:
        why = f"finalizers {listed(finalizers)} keep it"
        remedy = "See why the controllers that set the finalizers do not remove them: whether they run, and their logs."
    return Cause(
        kind=CauseKind.TERMINATION,
        level=Level.WARNING,
        summary=f"{_pods([one])} has not gone: {why}",
        description=f"It should have ended by {rfc3339(end)}.",
        remedy=remedy,
        started=end,
        about=(pod_reference(one.pod),),
        affected=(node_reference(one.node),),
    )


def several_budgets(budgets: Sequence[PodDisruptionBudget], waiting: Sequence[Placed]) -> Cause:
    names = list(map(name_of, budgets))
    return Cause(
        kind=CauseKind.BUDGET,
        level=Level.WARNING,
        summary=f"{_pods(waiting)} {_is(waiting)} counted by several PodDisruptionBudgets: {listed(names)}",
        description="Kubernetes evicts no Pod that several budgets count.",
        remedy="Delete all but one of the budgets, or change what they select.",
        started=_drained_since(waiting),
        about=(*map(budget_reference, budgets), *(pod_reference(one.pod) for one in waiting)),
        affected=_nodes(waiting),
    )


def refusing_budget(budget: PodDisruptionBudget, waiting: Sequence[Placed], unready: Sequence[Pod]) -> Cause:
    """`unready`: the Pods that have to get ready."""
    why = refusal(budget)
    names = f" Not ready: {listed([pod.metadata.name for pod in unready])}." if unready else ""
    return Cause(
        kind=CauseKind.BUDGET,
        level=Level.WARNING,
        summary=f"PodDisruptionBudget {name_of(budget)} does not allow the eviction of {_pods(waiting)}",
        description=why.why + names,
        remedy=why.remedy,
        started=_refused_since(budget, waiting),
        about=(budget_reference(budget), *(pod_reference(one.pod) for one in waiting)),
        affected=_nodes(waiting),
    )


def unstarted_pods(
    found: Sequence[tuple[Pod, Trouble]], budget: PodDisruptionBudget, waiting: Sequence[Placed]
) -> Cause:
    """Pods, all of them for the same kind of reason, keep a budget from allowing evictions."""
    (first, trouble), more = found[0], len(found) - 1
    others = f" {more} more {'does' if more == 1 else 'do'} the same." if more else ""
    pulls = trouble.kind is CauseKind.IMAGE_PULL
    return Cause(
        kind=trouble.kind,
        level=Level.WARNING,
        summary=f"Pod {name_of(first)} {trouble.verb}, so PodDisruptionBudget {budget.metadata.name} does not allow "
        f"the eviction of {_pods(waiting)}",
        description=f"{trouble.text}{others}\nThe budget: {refusal(budget).why}",
        remedy="See whether the image exists, and whether the node may pull it." if pulls else "Let the Pod start.",
        started=trouble.since,
        about=(
            *(pod_reference(pod) for pod, _ in found),
            budget_reference(budget),
            *(pod_reference(one.pod) for one in waiting),
        ),
        affected=_nodes(waiting),
    )


def unevicted_pods(waiting: Sequence[Placed]) -> Cause:
    """Pods that stay on one node for no known reason."""
    pods = [one.pod for one in waiting]
    alone = [name_of(pod) for pod in pods if not any(owner.controller for owner in pod.metadata.owner_references)]
    unmanaged = f" No controller would replace {listed(alone)}." if alone else ""
    return Cause(
        kind=CauseKind.EVICTION,
        level=Level.WARNING,
        summary=f"{_pods(waiting)} {'has' if len(waiting) == 1 else 'have'} not been evicted",
        description="No PodDisruptionBudget forbids it now. The Machine Config Operator tries a failed drain again "
        f"after a minute, later after five minutes.{unmanaged}",
        remedy="If it lasts, see the log of machine-config-controller: an admission webhook may refuse the eviction.",
        started=_drained_since(waiting),
        about=tuple(map(pod_reference, pods)),
        affected=_nodes(waiting),
    )


def _drained_since(waiting: Iterable[Placed]) -> Moment | None:
    return min((one.node.since for one in waiting if one.node.since is not None), default=None)


def _refused_since(budget: PodDisruptionBudget, waiting: Iterable[Placed]) -> Moment | None:
    """A budget may forbid evictions for years: it matters since somebody wants one."""
    drained, condition = _drained_since(waiting), find(budget.status.conditions, "DisruptionAllowed")
    if drained is None or condition is None or condition.status != "False":
        return drained
    return max(drained, known_moment(condition.last_transition_time) or drained)


def _pods(waiting: Sequence[Placed]) -> str:
    """`Pod shop/shop-0 on node n1`, `3 Pods on nodes n1 and n2`."""
    nodes = sorted({one.node.name for one in waiting})
    where = f"node{'s' * (len(nodes) > 1)} {listed(nodes)}"
    return f"Pod {name_of(waiting[0].pod)} on {where}" if len(waiting) == 1 else f"{len(waiting)} Pods on {where}"


def _is(waiting: Sequence[Placed]) -> str:
    return "is" if len(waiting) == 1 else "are"


def _nodes(waiting: Iterable[Placed]) -> tuple[Reference, ...]:
    return tuple(dict.fromkeys(node_reference(one.node) for one in waiting))
