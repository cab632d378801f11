"""The part of a MachineSet's spec that follows the authority, cut out of the whole, so that the rest stays as it is."""

from collections.abc import Mapping
from typing import Any

from windlass.kube.control.plan import Merge
from windlass.kube.control.seen import Present


def extent(spec: Mapping[str, Any], owned: Mapping[str, Any]) -> dict[str, Any]:
    """`spec` with only the `owned` fields: dotted paths, each with the meaning of an absent field.

    The maps on the path to each field always exist. So a field that is not desired is removed without its neighbours.

    >>> extent({"replicas": 2, "template": {"spec": {"version": "v1"}}}, {"template.spec.minReadySeconds": 0})
    {'template': {'spec': {'minReadySeconds': 0}}}
    """
    result: dict[str, Any] = {}
    for path, default in owned.items():
        *parents, last = path.split(".")
        there: Any = spec
        place = result
        for key in parents:
            there = there.get(key) if isinstance(there, Mapping) else None
            place = place.setdefault(key, {})
        value = there.get(last) if isinstance(there, Mapping) else None
        if (value := default if value is None else value) is not None:
            place[last] = value
    return result


def generation_after(mirror: Present[Any], content: Merge) -> int:
    """The generation that `mirror` has once `content` is written: it counts changes of the spec."""
    return mirror.metadata.generation + ("spec" in content.patch)
