"""Finds a condition; `windlass.kube.conditions` would load asyncio, which reports from files do without."""

from collections.abc import Iterable
from typing import TypeVar

from windlass.api.meta import Condition, PlainCondition

C = TypeVar("C", Condition, PlainCondition)


def find(conditions: Iterable[C], name: str) -> C | None:
    """The condition of type `name`, or None."""
    return next((one for one in conditions if one.type == name), None)
