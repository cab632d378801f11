"""Lists the changes of an action, field by field: `spec.replicas` from 2 to 3, never a whole map.

Items of a list that all have a type, or all have a name, are identified by it and not by their index:
`status.conditions[Ready].reason`. A list of plain values is one field. Of a Secret only the names of its data are told;
of `binaryData`, which nobody can read, the sizes.
"""

from base64 import b64decode
from collections.abc import Iterator, Mapping
from typing import Any

from windlass.kube.control.merge import FieldChange, same
from windlass.kube.control.plan import Action, Create, Merge
from windlass.kube.object import Object

_NAMES = ("type", "name")
_DATA = ("data", "stringData")
HIDDEN = "(not shown)"


def field_changes(action: Action) -> tuple[FieldChange, ...]:
    """The changes of `action`, in the order of what is desired. `before` or `after` is None for a field that is not."""
    changes = _all_changes(action)
    return tuple(map(_hidden if action.target.kind.RESOURCE.confidential else _sized, changes))


def shown(found: Object[Any]) -> dict[str, Any]:
    """An object as people may see it: of a Secret only the names of its data."""
    tree = found.tree()
    if not found.kind.RESOURCE.confidential:
        return tree
    return {**tree, **{part: dict.fromkeys(tree[part], HIDDEN) for part in _DATA if tree.get(part)}}


def _hidden(change: FieldChange) -> FieldChange:
    if change.path.split(".")[0] not in _DATA:
        return change
    return FieldChange(change.path, *(None if value is None else HIDDEN for value in (change.before, change.after)))


def _sized(change: FieldChange) -> FieldChange:
    if not change.path.startswith("binaryData."):
        return change
    sizes = (text and f"({len(b64decode(text))} bytes)" for text in (change.before, change.after))
    return FieldChange(change.path, *sizes)


def _all_changes(action: Action) -> tuple[FieldChange, ...]:
    match action:
        case Create():
            return tuple(_changes(None, action.body, ""))
        case Merge():
            return tuple(_changes(action.observed, action.desired, ""))
    return tuple(leaf for change in action.diff() for leaf in _changes(change.before, change.after, change.path))


def _changes(before: Any, after: Any, path: str) -> Iterator[FieldChange]:
    if same(before, after):
        return
    parts = _parts(before, after)
    if parts is None:
        yield FieldChange(path, before, after)
        return
    old, new = parts
    found = [
        change
        for name in [*new, *(name for name in old if name not in new)]
        for change in _changes(old.get(name), new.get(name), f"{path}{name}".removeprefix("."))
    ]
    if found:
        yield from found
    elif isinstance(before, list) and isinstance(after, list):
        # Nothing but the order of a list.
        yield FieldChange(path, [name.strip("[]") for name in old], [name.strip("[]") for name in new])


def _parts(before: Any, after: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Both by the names of their parts, `.key` or `[item]`; None if either is a field of its own."""
    sides = [side for side in (before, after) if side is not None]
    if all(isinstance(side, Mapping) for side in sides) and any(sides):
        return _of_map(before), _of_map(after)
    if all(isinstance(side, list) for side in sides) and _are_maps([item for side in sides for item in side]):
        key = next((key for key in _NAMES if all(_tells_apart(key, side) for side in sides)), None)
        return _of_list(before, key), _of_list(after, key)
    return None


def _of_map(value: Mapping[str, Any] | None) -> dict[str, Any]:
    return {f".{key}": item for key, item in (value or {}).items()}


def _of_list(value: list[Any] | None, key: str | None) -> dict[str, Any]:
    return {f"[{index if key is None else item[key]}]": item for index, item in enumerate(value or [])}


def _are_maps(items: list[Any]) -> bool:
    return bool(items) and all(isinstance(item, Mapping) for item in items)


def _tells_apart(key: str, items: list[Any]) -> bool:
    names = [item.get(key) for item in items]
    return all(isinstance(name, str) and name for name in names) and len(set(names)) == len(names)
