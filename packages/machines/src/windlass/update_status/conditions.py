"""Finds a condition; `windlass.kube.conditions` would load asyncio, which reports from files do without."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from windlass.api.meta import Condition, PlainCondition

C = TypeVar("C", Condition, PlainCondition)


def find(conditions: Iterable[C], name: str) -> C | None:
    """The first condition of type `name`, or None."""
    return next((one for one in conditions if one.type == name), None)


def find_last(conditions: Sequence[C], name: str) -> C | None:
    """The last condition of type `name`: of operators it is the last that counts."""
    return find(reversed(conditions), name)
