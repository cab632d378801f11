"""Finds what holds the drain of a node: the causes of its Pods, of which the drain waits for each.

| a Pod on the node | cause |
|---|---|
| of a DaemonSet, or static | none: it stays |
| deleted; its grace period, of more than 2 minutes, is not over | GracePeriod |
| deleted; its grace period has been over for more than a minute | Termination: finalizers, or the kubelet |
| deleted, otherwise | none: it ends |
| several budgets count it | PodDisruptionBudget: Kubernetes evicts no such Pod |
| its budget forbids the eviction, and another Pod of that cannot pull or start | ImagePull, PodStart |
| its budget forbids the eviction | PodDisruptionBudget |
| otherwise | Eviction: it should have been evicted |

A budget is one cause for all Pods and nodes that wait for it. Pods and budgets are read for nodes that drain for longer
than `PATIENCE`: a drain takes seconds if nothing holds it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from windlass.api.core import Pod
from windlass.api.policy import PodDisruptionBudget
from windlass.update_status.causes.budgets import budgets_of, counts, forbids, is_ready, needs_no_budget, refusal
from windlass.update_status.causes.holds import (
    Placed,
    late_pod,
    refusing_budget,
    several_budgets,
    slow_pod,
    unevicted_pods,
    unstarted_pods,
)
from windlass.update_status.causes.names import listed, name_of
from windlass.update_status.causes.starts import why_not_started
from windlass.update_status.report import Cause, Phase, Report
from windlass.update_status.sources import Unknown, Workload
from windlass.update_status.times import MINUTE, SECOND, Duration, Moment, moment

PATIENCE: Final[Duration] = 2 * MINUTE
"""A drain, and a grace period, that is longer is worth a cause."""
LATE: Final[Duration] = MINUTE
"""So much later than its grace period a Pod may be gone."""
MOST_DRAINS: Final = 16
"""Nodes whose Pods are read: a request for each."""

_MIRROR: Final = "kubernetes.io/config.mirror"


def long_drains(report: Report, *, now: Moment, seen: Mapping[str, Moment] | None = None) -> tuple[str, ...]:
    """The nodes that drain for longer than PATIENCE, or are degraded while they drain: the longest first, so many.

    `seen`: when drains were seen first, by the names of nodes, for those of which the report does not say since when.
    """
    found = []
    for node in (node for pool in report.pools for node in pool.nodes if node.phase is Phase.DRAINING):
        since = next((one for one in (node.since, node.first_seen) if one is not None), (seen or {}).get(node.name))
        if node.degraded or (since is not None and now - since > PATIENCE):
            found.append((now if since is None else since, node.name))
    return tuple(name for _, name in sorted(found)[:MOST_DRAINS])


def to_look_into(pods: Iterable[Pod], budgets: Iterable[PodDisruptionBudget]) -> list[PodDisruptionBudget]:
    """The budgets that forbid the eviction of one of `pods` until other Pods, elsewhere, are ready."""
    held = [pod for pod in pods if _is_to_go(pod) and not pod.metadata.deletion_timestamp]
    return [
        budget
        for budget in sorted(budgets, key=name_of)
        if refusal(budget).recovers and any(counts(budget, pod) and forbids(budget, pod) for pod in held)
    ]


def unread_drains(workload: Workload) -> Iterator[str]:
    """Why it is not known what holds drains."""
    unread = [one.reason for one in (workload.pods, workload.budgets) if isinstance(one, Unknown)]
    return (f"what holds the drain of {listed(workload.nodes)}: {reason}" for reason in dict.fromkeys(unread))


def drain_causes(report: Report, workload: Workload, *, now: Moment) -> tuple[Cause, ...]:
    """What holds the nodes of `workload` that are still being drained."""
    pods = () if isinstance(workload.pods, Unknown) else sorted(workload.pods, key=name_of)
    draining = {node.name: node for pool in report.pools for node in pool.nodes if node.phase is Phase.DRAINING}
    placed = [
        Placed(pod, draining[name])
        for name in workload.nodes
        if name in draining
        for pod in pods
        if pod.spec.node_name == name and _is_to_go(pod)
    ]
    found = [cause for one in placed if one.pod.metadata.deletion_timestamp for cause in _ending(one, now)]
    if isinstance(workload.budgets, Unknown):
        return tuple(found)
    refused: dict[tuple[str, ...], list[Placed]] = {}
    unexplained: dict[str, list[Placed]] = {}
    budgets = {name_of(budget): budget for budget in sorted(workload.budgets, key=name_of)}
    for one in placed:
        if one.pod.metadata.deletion_timestamp:
            continue
        if holding := _holding(one.pod, budgets.values()):
            refused.setdefault(tuple(map(name_of, holding)), []).append(one)
        else:
            unexplained.setdefault(one.node.name, []).append(one)
    for names, waiting in refused.items():
        found += _of_budgets([budgets[name] for name in names], waiting, pods, now)
    return (*found, *map(unevicted_pods, unexplained.values()))


def _is_to_go(pod: Pod) -> bool:
    """Whether a drain evicts the Pod."""
    if _MIRROR in pod.metadata.annotations:
        return False
    finished = pod.status.phase in ("Succeeded", "Failed")
    return finished or not any(one.controller and one.kind == "DaemonSet" for one in pod.metadata.owner_references)


def _ending(one: Placed, now: Moment) -> Iterator[Cause]:
    end = moment(one.pod.metadata.deletion_timestamp)
    grace = (one.pod.metadata.deletion_grace_period_seconds or 0) * SECOND
    if now <= end:
        if grace > PATIENCE:
            yield slow_pod(one, end, grace)
    elif now > end + LATE:
        yield late_pod(one, end)


def _holding(pod: Pod, budgets: Iterable[PodDisruptionBudget]) -> list[PodDisruptionBudget]:
    """The budgets because of which the Pod is not evicted."""
    if needs_no_budget(pod):
        return []
    found = budgets_of(pod, budgets)
    return found if len(found) > 1 or any(forbids(budget, pod) for budget in found) else []


def _of_budgets(
    budgets: Sequence[PodDisruptionBudget], waiting: Sequence[Placed], pods: Sequence[Pod], now: Moment
) -> Iterator[Cause]:
    if len(budgets) > 1:
        yield several_budgets(budgets, waiting)
        return
    (budget,) = budgets
    unready = [pod for pod in pods if counts(budget, pod) and not is_ready(pod)] if refusal(budget).recovers else []
    found = [(pod, trouble) for pod in unready if (trouble := why_not_started(pod, now=now)) is not None]
    if not found:
        yield refusing_budget(budget, waiting, unready)
    for kind in dict.fromkeys(trouble.kind for _, trouble in found):
        yield unstarted_pods([one for one in found if one[1].kind is kind], budget, waiting)
