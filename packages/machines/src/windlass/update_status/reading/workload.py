"""Reads what can hold the drains of nodes: their Pods, all budgets, and the Pods of budgets that wait for them.

| request | how often |
|---|---|
| the PodDisruptionBudgets of all namespaces | once |
| the Pods of a node | for each node that drains for long |
| the Pods of a budget | for each budget that forbids an eviction until more of its Pods are ready |
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from windlass.api.core import Pod
from windlass.api.meta import K
from windlass.api.policy import PodDisruptionBudget
from windlass.kube.errors import ApiError, DecodeError
from windlass.kube.label_selectors import as_query
from windlass.update_status.causes.drains import to_look_into
from windlass.update_status.sources import Known, Unknown, Workload


class Ask(Protocol):
    """Lists the objects of all namespaces that the API server selects. Raises ApiError and DecodeError."""

    async def __call__(self, kind: type[K], *, label_selector: str = "", field_selector: str = "") -> Iterable[K]: ...


async def read_workload(ask: Ask, nodes: Sequence[str]) -> Workload:
    """What can hold the drains of `nodes`; nothing is asked without any. What is refused is Unknown."""
    if not nodes:
        return Workload()
    budgets: Known[tuple[PodDisruptionBudget, ...]]
    try:
        budgets = tuple(await ask(PodDisruptionBudget))
    except (ApiError, DecodeError) as error:
        budgets = Unknown(str(error))
    try:
        pods = [pod for node in nodes for pod in await ask(Pod, field_selector=f"spec.nodeName={node}")]
        known = {(pod.metadata.namespace, pod.metadata.name) for pod in pods}
        for budget in () if isinstance(budgets, Unknown) else to_look_into(pods, budgets):
            selector = budget.spec.selector
            labels = "" if selector is None else as_query(selector)
            place = f"metadata.namespace={budget.metadata.namespace}"
            others = await ask(Pod, label_selector=labels, field_selector=place)
            fresh = [pod for pod in others if (pod.metadata.namespace, pod.metadata.name) not in known]
            known |= {(pod.metadata.namespace, pod.metadata.name) for pod in fresh}
            pods += fresh
    except (ApiError, DecodeError) as error:
        return Workload(nodes=tuple(nodes), pods=Unknown(str(error)), budgets=budgets)
    return Workload(nodes=tuple(nodes), pods=tuple(pods), budgets=budgets)
