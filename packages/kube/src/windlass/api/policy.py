"""policy/v1: PodDisruptionBudgets, read to see what forbids an eviction. Source: `k8s.io/api/policy/v1`."""

from typing import ClassVar

from msgspec import Struct, field

from windlass.api.meta import Condition, LabelSelector, ObjectMeta, Resource, always


class PodDisruptionBudgetSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`selector` None selects no Pod. `unhealthy_pod_eviction_policy` "" is IfHealthyBudget.

    (minAvailable and maxUnavailable are not read: the status says what they amount to.)
    """

    selector: LabelSelector | None = None
    unhealthy_pod_eviction_policy: str = ""


class PodDisruptionBudgetStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Numbers of Pods. `observed_generation`: of the budget that they were counted for."""

    observed_generation: int = 0
    disruptions_allowed: int = always(int)
    current_healthy: int = always(int)
    desired_healthy: int = always(int)
    expected_pods: int = always(int)
    conditions: list[Condition] = field(default_factory=list)


class PodDisruptionBudget(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    RESOURCE: ClassVar[Resource] = Resource(
        group="policy", version="v1", kind="PodDisruptionBudget", plural="poddisruptionbudgets"
    )

    metadata: ObjectMeta = always(ObjectMeta)
    spec: PodDisruptionBudgetSpec = always(PodDisruptionBudgetSpec)
    status: PodDisruptionBudgetStatus = always(PodDisruptionBudgetStatus)
