"""Makes typed objects of trees of YAML, as Go programs do, and checks the times that reports depend on.

A field that is missing or null has its zero value; a null in a map of strings is an empty text. A wrong type and a
malformed time are errors that name file, object and field.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeVar

import msgspec

from windlass.api.config import ClusterOperator, ClusterVersion
from windlass.api.core import Node, Pod
from windlass.api.machineconfiguration import MachineConfigNode, MachineConfigPool
from windlass.api.machineosconfig import MachineOSBuild
from windlass.api.meta import K, KubernetesObject
from windlass.api.policy import PodDisruptionBudget
from windlass.kube import decoding
from windlass.update_status.assessment import Problem
from windlass.update_status.times import moment

T = TypeVar("T")

_MAPS_OF_STRINGS: Final = frozenset({"annotations", "labels", "matchLabels"})


def decode(tree: Any, kind: type[K], *, source: str) -> K:
    """The object `tree` as `kind`. Raises Problem."""
    tree = with_zero_values(tree)
    try:
        found = decoding.convert(tree, kind)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).replace("`", "").partition(" - at ")
        where = f"{path.removeprefix('$').removeprefix('.')}: " if path else ""
        raise Problem(f"{source}: {_named(tree, kind)}: {where}{problem[:1].lower()}{problem[1:]}") from None
    check_times(found, source=source)
    return found


def check_times(found: KubernetesObject, *, source: str) -> None:
    """Raises Problem if a time of `found` is none."""
    for field, text in _times(found):
        try:
            if text is not None:
                _strictly(text)
        except ValueError as error:
            name = f"{found.RESOURCE.kind} {found.metadata.name}"
            raise Problem(f"{source}: {name}: {field}: {error}") from None


def with_zero_values(tree: Any) -> Any:
    """`tree` without nulls, as Go takes them.

    >>> with_zero_values({"a": None, "labels": {"b": None}, "items": [None]})
    {'labels': {'b': ''}, 'items': [{}]}
    """
    if isinstance(tree, dict):
        return {
            key: {name: "" if text is None else text for name, text in value.items()}
            if key in _MAPS_OF_STRINGS and isinstance(value, dict)
            else with_zero_values(value)
            for key, value in tree.items()
            if value is not None
        }
    if isinstance(tree, list):
        return [{} if item is None else with_zero_values(item) for item in tree]
    return tree


def _strictly(text: str) -> None:
    if not text:
        raise ValueError("'' is not a time: write it as 2024-02-27T15:42:58Z")
    moment(text)


def _times(found: KubernetesObject) -> Iterator[tuple[str, str | None]]:
    """The times that a report depends on, with their fields."""
    match found:
        case ClusterVersion():
            for index, item in enumerate(found.status.history):
                yield f"status.history[{index}].startedTime", item.started_time
                yield f"status.history[{index}].completionTime", item.completion_time
            yield from _transitions(found.status.conditions)
        case MachineOSBuild():
            yield "metadata.creationTimestamp", found.metadata.creation_timestamp
            yield from _transitions(found.status.conditions)
        case ClusterOperator() | MachineConfigNode() | MachineConfigPool() | PodDisruptionBudget():
            yield from _transitions(found.status.conditions)
        case Node():
            yield from _transitions(found.status.conditions)
            for index, taint in enumerate(found.spec.taints):
                yield f"spec.taints[{index}].timeAdded", taint.time_added
        case Pod():
            yield "metadata.deletionTimestamp", found.metadata.deletion_timestamp
            yield from _transitions(found.status.conditions)


def _transitions(conditions: Iterable[Any]) -> Iterator[tuple[str, str | None]]:
    for index, condition in enumerate(conditions):
        yield f"status.conditions[{index}].lastTransitionTime", condition.last_transition_time


def _named(tree: Any, kind: type[KubernetesObject]) -> str:
    metadata = tree.get("metadata") if isinstance(tree, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return f"{kind.RESOURCE.kind} {name}" if isinstance(name, str) and name else kind.RESOURCE.kind
