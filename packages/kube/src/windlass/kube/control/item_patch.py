"""Computes the JSON patch (RFC 6902) that turns the plain tree `observed` into `desired`, item by item in its lists.

A merge patch replaces a list whole: 500 KB for one changed item of 500. Here an item is named by its index, which is
valid only for the list that was observed, so the patch must be sent with a test of the resourceVersion.

Items are aligned by the first of `KEYS` that tells all items of both lists apart, else by position. Nulls and equality
are those of `windlass.kube.control.merge`.
"""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from windlass.kube.control.merge import are_maps, same

KEYS = ("uid", "name", "type", "key")

MOST_OPERATIONS = 10_000
"""The API server refuses longer JSON patches (maxJSONPatchOperations in its patch handler)."""

Operation: TypeAlias = dict[str, Any]


class NoParent(Exception):
    """A map is desired where none was observed. The server may have one there, with fields of other writers."""


def item_patch(observed: Mapping[str, Any], desired: Mapping[str, Any]) -> list[Operation]:
    """The operations in order; empty if the trees are equal. Lists in `observed` must be complete. Raises NoParent."""
    return list(_of_maps(observed, desired, "", in_list=False))


def _of_maps(before: Mapping[str, Any], after: Mapping[str, Any], path: str, *, in_list: bool) -> Iterator[Operation]:
    for key, there in before.items():
        if there is not None and after.get(key) is None:
            yield {"op": "remove", "path": f"{path}/{_escaped(key)}"}
    for key, wanted in after.items():
        there = before.get(key)
        if wanted is None or there is wanted:
            continue
        # An empty map may come from a type, and be absent on the server.
        if not in_list and not there and isinstance(wanted, Mapping) and wanted:
            raise NoParent(f"{path}/{key}")
        yield from _changed(there, wanted, f"{path}/{_escaped(key)}", "add", in_list=in_list)


def _changed(before: Any, after: Any, path: str, op: str, *, in_list: bool) -> Iterator[Operation]:
    if are_maps(before, after):
        yield from _of_maps(before, after, path, in_list=in_list)
    elif isinstance(before, list) and isinstance(after, list) and before and after:
        yield from _of_lists(before, after, path)
    elif not same(before, after):
        yield {"op": op, "path": path, "value": after}


def _of_lists(before: list[Any], after: list[Any], path: str) -> Iterator[Operation]:
    key = next((key for key in KEYS if _tells_apart(key, before) and _tells_apart(key, after)), None)
    if key is not None:
        old, new = {item[key]: item for item in before}, {item[key]: item for item in after}
        if [name for name in old if name in new] == [name for name in new if name in old]:
            yield from _by_name(old, new, path)
            return
    for index, (there, wanted) in enumerate(zip(before, after, strict=False)):
        yield from _item(there, wanted, f"{path}/{index}")
    for index in reversed(range(len(after), len(before))):
        yield {"op": "remove", "path": f"{path}/{index}"}
    for item in after[len(before) :]:
        yield {"op": "add", "path": f"{path}/-", "value": item}


def _by_name(old: Mapping[str, Any], new: Mapping[str, Any], path: str) -> Iterator[Operation]:
    for index, name in reversed([*enumerate(old)]):
        if name not in new:
            yield {"op": "remove", "path": f"{path}/{index}"}
    for index, (name, wanted) in enumerate(new.items()):
        if name in old:
            yield from _item(old[name], wanted, f"{path}/{index}")
        else:
            yield {"op": "add", "path": f"{path}/{index}", "value": wanted}


def _item(before: Any, after: Any, path: str) -> Iterator[Operation]:
    # Most items are equal, and `same` finds that faster than going through their fields.
    if before != after or not same(before, after):
        yield from _changed(before, after, path, "replace", in_list=True)


def _tells_apart(key: str, items: list[Any]) -> bool:
    names = [item.get(key) if isinstance(item, Mapping) else None for item in items]
    return all(isinstance(name, str) for name in names) and len(set(names)) == len(names)


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
