"""Pods and budgets of namespace `shop`, and nodes that drain, at NOW."""

from collections.abc import Iterable
from typing import Any

from msgspec import structs

from windlass.api.core import ContainerState, ContainerStateWaiting, ContainerStatus, Pod, PodSpec, PodStatus
from windlass.api.meta import Condition, LabelSelector, ObjectMeta, OwnerReference, PlainCondition
from windlass.api.policy import PodDisruptionBudget, PodDisruptionBudgetSpec, PodDisruptionBudgetStatus
from windlass.update_status.report import Node, Phase
from windlass.update_status.times import HOUR, MINUTE, SECOND, Moment, moment, rfc3339

NOW = moment("2024-02-27T12:00:00Z")
DRAINED = NOW - 10 * MINUTE
"""When the drains of the nodes began."""


def at(minutes: float) -> str:
    """The moment so long after NOW."""
    return rfc3339(NOW + int(minutes * 60) * SECOND)


def draining(name: str = "n1", *, since: Moment | None = DRAINED, **changes: Any) -> Node:
    return structs.replace(Node(name=name, phase=Phase.DRAINING, updating=True, since=since), **changes)


def ready(status: str = "True", minutes: float = -60) -> PlainCondition:
    return PlainCondition(type="Ready", status=status, last_transition_time=at(minutes))


def placed(status: str = "True", minutes: float = -60, message: str = "") -> PlainCondition:
    return PlainCondition(type="PodScheduled", status=status, last_transition_time=at(minutes), message=message)


def waiting(reason: str, message: str = "", name: str = "app") -> ContainerStatus:
    return ContainerStatus(
        name=name, state=ContainerState(waiting=ContainerStateWaiting(reason=reason, message=message))
    )


RUNNING = ContainerStatus(name="app")


def pod(
    name: str = "shop-0",
    node: str = "n1",
    *conditions: PlainCondition,
    phase: str = "Running",
    labels: dict[str, str] | None = None,
    owner: str = "ReplicaSet",
    containers: Iterable[ContainerStatus] = (RUNNING,),
    starting: Iterable[ContainerStatus] = (),
    deleted: float | None = None,
    grace: int = 30,
    finalizers: Iterable[str] = (),
    namespace: str = "shop",
    static: bool = False,
) -> Pod:
    """One that is ready, of a controller of kind `owner` ("": of none).

    `deleted`: in how many minutes its grace period, of `grace` seconds, ends. `starting`: its init containers.
    """
    owners = [OwnerReference(api_version="apps/v1", kind=owner, name="o", uid="u", controller=True)] if owner else []
    return Pod(
        metadata=ObjectMeta(
            name=name,
            namespace=namespace,
            labels={"app": "shop"} if labels is None else labels,
            annotations={"kubernetes.io/config.mirror": "x"} if static else {},
            owner_references=owners,
            deletion_timestamp=None if deleted is None else at(deleted),
            deletion_grace_period_seconds=None if deleted is None else grace,
            finalizers=list(finalizers),
        ),
        spec=PodSpec(node_name=node),
        status=PodStatus(
            phase=phase,
            conditions=list(conditions or (ready(), placed())),
            container_statuses=list(containers),
            init_container_statuses=list(starting),
        ),
    )


def unready(name: str = "shop-1", reason: str = "ImagePullBackOff", **changes: Any) -> Pod:
    """A Pod on another node whose container waits."""
    message = "Back-off pulling image"
    conditions = (ready("False", -30), placed())
    return pod(name, "n9", *conditions, phase="Pending", containers=[waiting(reason, message)], **changes)


def budget(
    name: str = "shop",
    *,
    allowed: int = 0,
    healthy: int = 1,
    desired: int = 1,
    expected: int = 1,
    policy: str = "",
    selector: LabelSelector | None = LabelSelector(match_labels={"app": "shop"}),  # noqa: B008
    namespace: str = "shop",
    changed: bool = False,
    condition: Condition | None = None,
) -> PodDisruptionBudget:
    """One that never allows an eviction; `changed`: after its Pods were counted."""
    return PodDisruptionBudget(
        metadata=ObjectMeta(name=name, namespace=namespace, generation=2),
        spec=PodDisruptionBudgetSpec(selector=selector, unhealthy_pod_eviction_policy=policy),
        status=PodDisruptionBudgetStatus(
            observed_generation=1 if changed else 2,
            disruptions_allowed=allowed,
            current_healthy=healthy,
            desired_healthy=desired,
            expected_pods=expected,
            conditions=[condition] if condition else [],
        ),
    )


LONG = HOUR // SECOND
"""A grace period, in seconds."""
