"""Merge patches and JSON patches on plain trees, as the API server reads them (RFC 7386, RFC 6902).

Habits of the server are kept: in lists of a merge patch, null entries of maps are dropped too; `replace` of a map key
that is not there adds it; `test` of an absent key against null succeeds.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from windlass.model.schema import copied


class PatchFailed(Exception):
    """A JSON patch that does not fit the object: a failed test, or a path that leads nowhere."""


def merge_patched(tree: Any, patch: Any) -> Any:
    """`tree` after the merge patch: null removes, maps merge, everything else is replaced."""
    if isinstance(patch, list):
        return [merge_patched(None, item) for item in patch]
    if not isinstance(patch, Mapping):
        return patch
    out = dict(tree) if isinstance(tree, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            out.pop(key, None)
        else:
            out[key] = merge_patched(out.get(key), value)
    return out


def json_patched(tree: Any, operations: Sequence[Any]) -> Any:
    """`tree` after the operations in order. Raises PatchFailed; then nothing is changed."""
    out = copied(tree)
    for operation in operations:
        out = _performed(out, operation)
    return out


def _performed(tree: Any, operation: Mapping[str, Any]) -> Any:
    path, value = operation.get("path", ""), copied(operation.get("value"))
    match operation.get("op"):
        case "add":
            _add(tree, path, value)
        case "replace":
            _replace(tree, path, value)
        case "remove":
            _remove(tree, path)
        case "test":
            if _read(tree, path, absent=None) != value:
                raise PatchFailed(f"testing value {path} failed: test failed")
        case "copy":
            _add(tree, path, copied(_read(tree, operation.get("from", ""))))
        case "move":
            _add(tree, path, _remove(tree, operation.get("from", "")))
        case other:
            raise PatchFailed(f"unexpected kind: {other}")
    return tree


_RAISE = object()


def _steps(path: str) -> list[str]:
    if not path.startswith("/"):
        raise PatchFailed(f"path {path!r} does not begin with /")
    return [step.replace("~1", "/").replace("~0", "~") for step in path[1:].split("/")]


def _parent(tree: Any, path: str) -> tuple[Any, str]:
    *above, last = _steps(path)
    node = tree
    for step in above:
        if isinstance(node, dict) and step in node:
            node = node[step]
        elif isinstance(node, list):
            node = node[_index(node, step, path)]
        else:
            node = None
        if not isinstance(node, dict | list):
            raise PatchFailed(f"doc is missing path: {path}")
    return node, last


def _index(items: list[Any], step: str, path: str, *, end: int | None = None) -> int:
    limit = len(items) if end is None else end
    if not step.isdigit() or int(step) >= limit:
        raise PatchFailed(f"invalid index referenced: {path}")
    return int(step)


def _read(tree: Any, path: str, *, absent: Any = _RAISE) -> Any:
    try:
        node, last = _parent(tree, path)
        if isinstance(node, list):
            return node[_index(node, last, path)]
        if last in node:
            return node[last]
    except PatchFailed:
        if absent is _RAISE:
            raise
        return absent
    if absent is _RAISE:
        raise PatchFailed(f"key {path} does not exist")
    return absent


def _add(tree: Any, path: str, value: Any) -> None:
    node, last = _parent(tree, path)
    if isinstance(node, dict):
        node[last] = value
    elif last == "-":
        node.append(value)
    else:
        node.insert(_index(node, last, path, end=len(node) + 1), value)


def _replace(tree: Any, path: str, value: Any) -> None:
    node, last = _parent(tree, path)
    if isinstance(node, dict):
        node[last] = value
    else:
        node[_index(node, last, path)] = value


def _remove(tree: Any, path: str) -> Any:
    node, last = _parent(tree, path)
    if isinstance(node, dict):
        if last not in node:
            raise PatchFailed(f"unable to remove nonexistent key: {path}")
        return node.pop(last)
    return node.pop(_index(node, last, path))
