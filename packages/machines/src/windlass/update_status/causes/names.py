"""Names objects in texts, and refers to them."""

from collections.abc import Sequence
from typing import Final

from windlass.api.core import Pod
from windlass.api.policy import PodDisruptionBudget
from windlass.update_status.report import Node, Reference

_SHOWN: Final = 3


def name_of(one: Pod | PodDisruptionBudget) -> str:
    """`shop/shop-0`; also the order in which they are told."""
    return f"{one.metadata.namespace}/{one.metadata.name}"


def listed(names: Sequence[str]) -> str:
    """The names in a sentence; of many only the first.

    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c", "d", "e"])
    ('a', 'a and b', 'a, b, c and 2 more')
    """
    shown = [*names[:_SHOWN], *([f"{len(names) - _SHOWN} more"] if len(names) > _SHOWN else [])]
    return " and ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))


def pod_reference(pod: Pod) -> Reference:
    return Reference("", "pods", pod.metadata.name, pod.metadata.namespace)


def budget_reference(budget: PodDisruptionBudget) -> Reference:
    return Reference("policy", "poddisruptionbudgets", budget.metadata.name, budget.metadata.namespace)


def node_reference(node: Node) -> Reference:
    return Reference("", "nodes", node.name)


def operator_reference(name: str) -> Reference:
    return Reference("config.openshift.io", "clusteroperators", name)
