"""Computes the JSON merge patch (RFC 7386) that turns the plain tree `observed` into `desired`.

Maps are merged key by key and a key that is no longer desired is sent as null; everything else, lists included, is
replaced whole. A null in either tree means the same as an absent key, as it does for the API server.
"""

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any

import msgspec
from msgspec import Struct

_canonical = msgspec.json.Encoder(order="deterministic").encode

_LEAVES = (str, int, float, type(None))
_NO_MAPS = (*_LEAVES, list)
"""Checked first: most values have these types, and a check for Mapping costs ten times as much."""


def merge_patch(observed: Mapping[str, Any], desired: Mapping[str, Any]) -> dict[str, Any]:
    """The smallest merge patch that turns `observed` into `desired`; empty if they are equal."""
    return {} if _identical(observed, desired) else _merge_patch(observed, desired)


def _merge_patch(observed: Mapping[str, Any], desired: Mapping[str, Any]) -> dict[str, Any]:
    patch: dict[str, Any] = {}
    for key, wanted in desired.items():
        if wanted is None:
            continue
        there: Any = observed.get(key)
        if there is wanted:
            continue
        if are_maps(there, wanted):
            if inner := _merge_patch(there, wanted):
                patch[key] = inner
        elif there is None or not _same(there, wanted):
            patch[key] = wanted
    for key, there in observed.items():
        if there is not None and desired.get(key) is None:
            patch[key] = None
    return patch


def same(left: Any, right: Any) -> bool:
    """Equality of plain trees where null and absent are the same, and `1` and `True` are not."""
    return _identical(left, right) or _same(left, right)


def _identical(left: Any, right: Any) -> bool:
    """Whether both are the same JSON but for the order of keys: a quick yes for most objects in sync.

    Python's own `==` would be quicker still, and takes `1` for `True`.
    """
    try:
        return _canonical(left) == _canonical(right)
    except (TypeError, ValueError, OverflowError, RecursionError):  # no tree that msgspec can write
        return False


def _same(left: Any, right: Any) -> bool:
    if left is right:
        return True
    if isinstance(left, _LEAVES):
        return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)
    if isinstance(left, list):
        return isinstance(right, list) and len(left) == len(right) and all(map(_same, left, right))
    if not are_maps(left, right):
        return bool(left == right)
    for key, value in left.items():
        if value is not None and ((there := right.get(key)) is None or not _same(value, there)):
            return False
    return all(value is None or left.get(key) is not None for key, value in right.items())


def are_maps(left: Any, right: Any) -> bool:
    if isinstance(left, dict) and isinstance(right, dict):
        return True
    if isinstance(left, _NO_MAPS) or isinstance(right, _NO_MAPS):
        return False
    return isinstance(left, Mapping) and isinstance(right, Mapping)


class FieldChange(Struct, frozen=True):
    """One field that a write changes; `before` or `after` is None where the field is absent."""

    path: str
    before: Any
    after: Any

    def __str__(self) -> str:
        if self.before is None:
            return f"+ {self.path}: {self.after!r}"
        if self.after is None:
            return f"- {self.path}: {self.before!r}"
        return f"~ {self.path}: {self.before!r} -> {self.after!r}"


def changes(observed: Any, desired: Any, *, path: str = "") -> Iterator[FieldChange]:
    """Field by field, what differs between two plain trees; items of lists are named by index."""
    if isinstance(observed, Mapping) and isinstance(desired, Mapping):
        for key in [*desired, *(key for key in observed if key not in desired)]:
            yield from changes(observed.get(key), desired.get(key), path=f"{path}.{key}" if path else key)
    elif isinstance(observed, list) and isinstance(desired, list):
        inner = [*_item_changes(observed, desired, path)]
        # Nulls at the end of a list are items too, but look like a missing item at their index.
        yield from inner if inner or len(observed) == len(desired) else [FieldChange(path, observed, desired)]
    elif (observed is None) != (desired is None) or not same(observed, desired):
        yield FieldChange(path, observed, desired)


def _item_changes(observed: list[Any], desired: list[Any], path: str) -> Iterator[FieldChange]:
    for index, (before, after) in enumerate(zip_longest(observed, desired)):
        yield from changes(before, after, path=f"{path}[{index}]")
