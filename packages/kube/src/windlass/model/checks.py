"""What the API server refuses in an object, in its words: metadata, declared types, and rules of single kinds.

As on the server: metadata of all kinds (`of_metadata`), the declared schema (`of_shape`), and rules that compare old
and new (`Rule`, the model's stand-in for CEL), which are not evaluated on an object of wrong types.

`EVENT` is the rule of core Events. The rules of other kinds come from their CRDs, or from a capability.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from windlass.model.schema import METADATA, Check, Shape, Tree

ANNOTATIONS_LIMIT = 262_144
"""Bytes of all keys and values of an object's annotations together."""

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
_NAMES = {dict: "object", list: "array", str: "string", int: "integer", float: "number", bool: "boolean"}

_OWNER_KEYS = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")

_UNCHECKED = (
    "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


def problems(old: Tree | None, new: Tree, *, shape: Shape, checks: tuple[Check, ...], custom: bool) -> list[str]:
    """Everything that is wrong with writing `new` over `old` (None: creating it)."""
    found = [*of_metadata(old, new, custom=custom), *of_shape(new, shape)]
    if any(_hides_rules(problem) for problem in found):
        return [*found, *([_UNCHECKED] if any(isinstance(check, Rule) for check in checks) else [])]
    return [*found, *(problem for check in checks for problem in check(old, new))]


def _hides_rules(problem: str) -> bool:
    """The server does not evaluate rules on an object of which it cannot rely on the types."""
    word = problem.partition(": ")[2].partition(":")[0]
    return word in ("Unsupported value", "Required value", "Too long", "Too many") or "must be of type" in problem


def of_metadata(old: Tree | None, new: Tree, *, custom: bool) -> Iterator[str]:
    """What holds for the metadata of every kind."""
    meta = new["metadata"]
    annotations = meta.get("annotations") or {}
    if sum(len(f"{key}{value}".encode()) for key, value in annotations.items()) > ANNOTATIONS_LIMIT:
        yield f"metadata.annotations: Too long: may not be more than {ANNOTATIONS_LIMIT} bytes"
    yield from _of_owners(meta.get("ownerReferences") or [])
    if not custom:
        for index, name in enumerate(meta.get("finalizers") or []):
            if "/" not in name and name not in ("orphan", "foregroundDeletion", "kubernetes"):
                yield (
                    f'metadata.finalizers[{index}]: Invalid value: "{name}": '
                    "name is neither a standard finalizer name nor is it fully qualified"
                )
    if old is None:
        return
    before = old["metadata"]
    if meta["uid"] != before["uid"]:
        yield f'metadata.uid: Invalid value: "{meta["uid"]}": field is immutable'
    if meta.get("deletionTimestamp") != before.get("deletionTimestamp"):
        yield f'metadata.deletionTimestamp: Invalid value: "{meta.get("deletionTimestamp")}": field is immutable'
    fresh = [name for name in meta.get("finalizers") or [] if name not in (before.get("finalizers") or [])]
    if fresh and before.get("deletionTimestamp"):
        listed = ", ".join(f'"{name}"' for name in fresh)
        yield (
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, "
            f"found new finalizers []string{{{listed}}}"
        )


def _of_owners(owners: list[Any]) -> Iterator[str]:
    for owner in owners:
        if not owner.get("apiVersion"):
            yield 'metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty'
        for key in ("kind", "name", "uid"):
            if not owner.get(key):
                yield f'metadata.ownerReferences.{key}: Invalid value: "": must not be empty'
    leading = [f"{owner.get('kind')}/{owner.get('name')}" for owner in owners if owner.get("controller")]
    if len(leading) > 1:
        in_order = [{key: owner[key] for key in _OWNER_KEYS if key in owner} for owner in owners]
        shown = json.dumps(in_order, separators=(",", ":"))
        yield (
            f"metadata.ownerReferences: Invalid value: {shown}: Only one reference can have Controller set to true. "
            f'Found "true" in references for {leading[0]} and {leading[1]}'
        )


def of_shape(value: Any, shape: Shape, path: str = "") -> Iterator[str]:
    """Where `value` breaks its declared types, enums, keys or distinctness. Metadata is not looked at."""
    if value is None and shape.type and not shape.nullable:
        name = path.rpartition(".")[2]
        yield f'{path}: Invalid value: "null": {name} in body must be of type {shape.type}: "null"'
    elif value is not None and shape.type and not _is(value, shape.type):
        actual = _NAMES.get(type(value), "null")
        yield f'{path}: Invalid value: "{actual}": {path} in body must be of type {shape.type}: "{actual}"'
    elif isinstance(value, Mapping) and shape is not METADATA:
        for key in shape.required:
            if key not in value:
                yield f"{path}.{key}: Required value" if path else f"{key}: Required value"
        for key, inner in value.items():
            yield from of_shape(inner, shape.at(key), f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        yield from _of_list(value, shape, path)
    elif shape.enum and value not in shape.enum:
        allowed = ", ".join(json.dumps(option) for option in shape.enum)
        yield f"{path}: Unsupported value: {json.dumps(value)}: supported values: {allowed}"
    elif shape.minimum is not None and value is not None and value < shape.minimum:
        name = path.rpartition(".")[2]
        yield f"{path}: Invalid value: {value}: {name} in body should be greater than or equal to {shape.minimum}"


def _of_list(items: list[Any], shape: Shape, path: str) -> Iterator[str]:
    seen: set[str] = set()
    for index, item in enumerate(items):
        here = f"{path}[{index}]"
        absent = [key for key in shape.keys if not (isinstance(item, Mapping) and key in item)]
        for key in absent:
            if key in shape.item.required:
                continue
            yield f"{here}.{key}: Required value"
        if shape.granular and not absent:
            named = {key: item[key] for key in sorted(shape.keys)} if shape.keys else item
            text = json.dumps(named, separators=(",", ":"))
            if text in seen:
                yield f"{here}: Duplicate value: {text}"
            seen.add(text)
        yield from of_shape(item, shape.item, here)


def _is(value: Any, name: str) -> bool:
    return isinstance(value, _TYPES.get(name, (object,))) and (name == "boolean" or not isinstance(value, bool))


def undeclared(value: Any, shape: Shape, path: str = "") -> Iterator[str]:
    """Paths of keys that strict field validation refuses."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            here = f"{path}.{key}" if path else key
            if shape.closed and key not in shape.fields and not shape.atomic:
                yield here
            else:
                yield from undeclared(inner, shape.at(key), here)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from undeclared(item, shape.item, f"{path}[{index}]")


def without_declared_nulls(value: Any, shape: Shape) -> Any:
    """`value` as the server decodes it: null in a declared field is an absent field; elsewhere null is data."""
    if isinstance(value, Mapping):
        return {
            key: without_declared_nulls(inner, shape.at(key))
            for key, inner in value.items()
            if inner is not None or key not in shape.fields
        }
    if isinstance(value, list):
        return [without_declared_nulls(item, shape.item) for item in value]
    return value


class Rule(Struct, frozen=True):
    """A rule on one place of an object, checked when the place exists: `holds(old, new)`, the values there.

    A transition rule is only checked when the place existed before too. `at` is a dotted path; `shown` is how the
    server prints the value (`{}` stands for it in JSON), `reported` the path it names if that is another one.
    """

    at: str
    holds: Callable[[Any, Any], bool]
    message: str
    shown: str = "{}: "
    transition: bool = True
    reported: str = ""

    def __call__(self, old: Tree | None, new: Tree) -> Iterator[str]:
        after, before = value_at(new, self.at), value_at(old or {}, self.at)
        if after is None or (self.transition and before is None) or self.holds(before, after):
            return
        yield f"{self.reported or self.at}: Invalid value: {self.shown.format(json.dumps(after))}{self.message}"


def value_at(tree: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path, None if there is none."""
    node: Any = tree
    for key in path.split("."):
        node = node.get(key) if isinstance(node, Mapping) else None
    return node


def _event(_: Tree | None, new: Tree) -> Iterator[str]:
    there, named = new["metadata"].get("namespace", ""), new.get("involvedObject", {}).get("namespace", "")
    if named != there and (named or there != "default"):
        yield f'involvedObject.namespace: Invalid value: "{named}": does not match event.namespace'


EVENT: Check = _event
"""Core Events stand in the namespace of their object, those of cluster-scoped objects in `default`."""
