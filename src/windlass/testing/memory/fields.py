"""Sets of field paths: what a manager owns, what a write changed, what an apply gives up.

A path is a tuple of steps in the notation of `fieldsV1`: `f:<key>` into a map, `k:{"type":"Ready"}` to the item of a
keyed list, `v:"x"` to a value of a set. A path in a set means that its value is owned; owning an item or a map entry
itself is a path of its own (`.` in fieldsV1), owning what is below it are others.

The functions here are the algebra that server-side apply is made of (Kubernetes: "Server-Side Apply" and its design,
KEP 555): `paths` of a value, `compared` two values, `merged` one into the other, `without` some paths, and `named`,
which makes declared parents members.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from windlass.testing.memory.schema import Shape, Tree

Step: TypeAlias = str
Path: TypeAlias = tuple[Step, ...]
Paths: TypeAlias = frozenset[Path]

NOTHING: Paths = frozenset()


class Malformed(Exception):
    """An apply body that the server cannot read as typed fields; the message is the server's."""


def step_of(shape: Shape, item: Any) -> Step:
    """How the item of a granular list is addressed."""
    if shape.keys:
        chosen = {key: item[key] for key in sorted(shape.keys) if isinstance(item, Mapping) and key in item}
        return "k:" + json.dumps(chosen, separators=(",", ":"))
    return "v:" + json.dumps(item, separators=(",", ":"))


def paths(value: Any, shape: Shape) -> Paths:
    """Everything that a manager owns who applies `value`."""
    found: set[Path] = set()
    _collect(value, shape, (), found)
    return frozenset(found)


def _collect(value: Any, shape: Shape, here: Path, found: set[Path]) -> None:
    if isinstance(value, Mapping) and not shape.atomic:
        for key, inner in value.items():
            below = (*here, f"f:{key}")
            _collect(inner, shape.at(key), below, found)
            if inner is None or inner == {} or key not in shape.fields:
                found.add(below)
    elif isinstance(value, list) and shape.granular:
        for item in value:
            below = (*here, step_of(shape, item))
            _collect(item, shape.item, below, found)
            found.add(below)
    elif here and not (value is None and shape.type in ("object", "array")):
        found.add(here)


def named(owned: Paths, shape: Shape) -> Paths:
    """`owned`, and every declared field on the way to a member."""
    out = set(owned)
    for path in owned:
        at = shape
        for depth, step in enumerate(path[:-1]):
            if step.startswith("f:"):
                key = step[2:]
                if key in at.fields:
                    out.add(path[: depth + 1])
                at = at.at(key)
            else:
                at = at.item
    return frozenset(out)


class Comparison(Struct, frozen=True):
    """What a write did, as paths."""

    added: Paths
    modified: Paths
    removed: Paths

    @property
    def changed(self) -> Paths:
        return self.added | self.modified

    def only(self, keep: "Side") -> "Comparison":
        return Comparison(keep.of(self.added), keep.of(self.modified), keep.of(self.removed))


class Side(Struct, frozen=True):
    """The half of an object that an endpoint writes: with a status subresource, status or everything else."""

    split: bool
    status: bool

    def of(self, owned: Paths) -> Paths:
        if not self.split:
            return owned
        return frozenset(path for path in owned if (path[0] == "f:status") is self.status)


def compared(old: Any, new: Any, shape: Shape) -> Comparison:
    """Field by field, what turns `old` into `new`."""
    added: set[Path] = set()
    modified: set[Path] = set()
    removed: set[Path] = set()
    _compare(old, new, shape, (), (added, modified, removed))
    return Comparison(frozenset(added), frozenset(modified), frozenset(removed))


_Found: TypeAlias = tuple[set[Path], set[Path], set[Path]]


def _compare(old: Any, new: Any, shape: Shape, here: Path, found: _Found) -> None:
    added, modified, removed = found
    if old is _MISSING and new is _MISSING:
        return
    entries = _entries(old, new, shape)
    if entries is None:
        if old is _MISSING:
            added.add(here)
        elif new is _MISSING:
            removed.add(here)
        elif old != new or isinstance(old, bool) is not isinstance(new, bool):
            _replaced(old, shape, here, removed)
            modified.add(here)
        return
    for step, before, after, below in entries:
        _compare(before, after, below, (*here, step), found)
    if here and old is _MISSING:
        added.add(here)
    elif here and new is _MISSING:
        removed.add(here)


def _replaced(old: Any, shape: Shape, here: Path, removed: set[Path]) -> None:
    """A map that becomes something else takes all that was below it along."""
    if isinstance(old, Mapping) and not shape.atomic:
        removed.update((*here, *path) for path in paths(old, shape))


def _entries(old: Any, new: Any, shape: Shape) -> list[tuple[Step, Any, Any, Shape]] | None:
    """The steps below two values with what stands there on each side; None if they are compared whole."""
    sides = [value for value in (old, new) if value is not _MISSING]
    if shape.atomic:
        return None
    if all(isinstance(value, Mapping) for value in sides):
        before, after = (value if isinstance(value, Mapping) else {} for value in (old, new))
        keys = dict.fromkeys([*before, *after])
        return [(f"f:{k}", before.get(k, _MISSING), after.get(k, _MISSING), shape.at(k)) for k in keys]
    if shape.granular and all(isinstance(value, list) for value in sides):
        before, after = (
            {step_of(shape, item): item for item in value} if isinstance(value, list) else {} for value in (old, new)
        )
        steps = dict.fromkeys([*before, *after])
        return [(s, before.get(s, _MISSING), after.get(s, _MISSING), shape.item) for s in steps]
    return None


class _Missing:
    def __repr__(self) -> str:
        return "missing"


_MISSING = _Missing()


def merged(live: Any, config: Any, shape: Shape) -> Any:
    """`live` with everything that `config` says; lists merged by key keep the order of both as far as they agree."""
    if isinstance(live, Mapping) and isinstance(config, Mapping) and not shape.atomic:
        out = dict(live)
        for key, value in config.items():
            out[key] = merged(live[key], value, shape.at(key)) if key in live else value
        return out
    if isinstance(live, list) and isinstance(config, list) and shape.granular:
        return _merged_list(live, config, shape)
    return config


def _merged_list(live: list[Any], config: list[Any], shape: Shape) -> list[Any]:
    there = {step_of(shape, item): item for item in live}
    wanted = {step_of(shape, item): item for item in config}
    order, asked = list(there), list(wanted)
    out: list[Any] = []
    position = 0
    for index, step in enumerate(asked):
        meeting = next((s for s in asked[index:] if s in there), None)
        while position < len(order) and order[position] != meeting:
            if order[position] not in wanted:
                out.append(there[order[position]])
            position += 1
        if step in there:
            out.append(merged(there[step], wanted[step], shape.item))
            position += 1
        else:
            out.append(wanted[step])
    out.extend(there[step] for step in order[position:] if step not in wanted)
    return out


def without(value: Any, doomed: Paths, shape: Shape) -> Any:
    """`value` less the `doomed` paths. What loses all its entries becomes null, as it does on the server."""
    if shape.atomic or not doomed:
        return None if doomed else value
    if isinstance(value, Mapping):
        kept: Tree = {}
        for key, inner in value.items():
            step = f"f:{key}"
            if (step,) in doomed:
                continue
            below = _below(doomed, step)
            kept[key] = without(inner, below, shape.at(key)) if below else inner
        return kept or None
    if isinstance(value, list) and shape.granular:
        items = []
        for item in value:
            step = step_of(shape, item)
            if (step,) in doomed:
                continue
            below = _below(doomed, step)
            items.append(without(item, below, shape.item) if below else item)
        return items or None
    return None


def _below(doomed: Iterable[Path], step: Step) -> Paths:
    return frozenset(path[1:] for path in doomed if len(path) > 1 and path[0] == step)


def readable(value: Any, shape: Shape, where: str = "") -> None:
    """Raise Malformed if `value` cannot be applied: a wrong type, or two items with one key."""
    expected = {"object": Mapping, "array": list}.get(shape.type)
    if expected is not None and value is not None and not isinstance(value, expected):
        word = "map" if shape.type == "object" else "list"
        raise Malformed(f"{where}: expected {word}, got &{{{value}}}")
    if isinstance(value, Mapping) and not shape.atomic:
        for key, inner in value.items():
            readable(inner, shape.at(key), f"{where}.{key}")
    elif isinstance(value, list) and shape.granular:
        seen: set[Step] = set()
        for index, item in enumerate(value):
            if shape.keys and not (isinstance(item, Mapping) and any(key in item for key in shape.keys)):
                keys = json.dumps(list(shape.keys))
                raise Malformed(
                    f"{where}: element {index}: associative list with keys has an element that omits all key fields "
                    f"{keys} (and doesn't have default values for any key fields)"
                )
            step = step_of(shape, item)
            if step in seen:
                raise Malformed(f"{where}: duplicate entries for key {printed((step,))}")
            seen.add(step)
            readable(item, shape.item, f"{where}{printed((step,))}")


def printed(path: Path) -> str:
    """A path as the server prints it in messages: `.status.conditions[type="Ready"].status`."""
    out = ""
    for step in path:
        kind, text = step[:2], step[2:]
        if kind == "f:":
            out += f".{text}"
        elif kind == "k:":
            pairs = ",".join(f"{key}={json.dumps(value)}" for key, value in json.loads(text).items())
            out += f"[{pairs}]"
        else:
            out += f"[={text}]"
    return out


def to_fields_v1(owned: Paths) -> Tree:
    """The nested form that stands in managedFields."""
    root: Tree = {}
    for path in sorted(owned):
        node = root
        for step in path:
            node = node.setdefault(step, {})
    for path in owned:
        node = root
        for step in path:
            node = node[step]
        if node:
            node["."] = {}
    return root


def from_fields_v1(tree: Mapping[str, Any]) -> Paths:
    """The inverse of `to_fields_v1`."""
    found: set[Path] = set()

    def walk(node: Mapping[str, Any], here: Path) -> None:
        if here and (not node or "." in node):
            found.add(here)
        for step, below in node.items():
            if step != ".":
                walk(below, (*here, _canonical(step)))

    walk(tree, ())
    return frozenset(found)


def _canonical(step: Step) -> Step:
    if step.startswith(("k:", "v:")):
        value = json.loads(step[2:])
        ordered = dict(sorted(value.items())) if isinstance(value, dict) else value
        return step[:2] + json.dumps(ordered, separators=(",", ":"))
    return step
