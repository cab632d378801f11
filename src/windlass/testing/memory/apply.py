"""Field ownership: what server-side apply merges and gives up, and what every other write takes from its owners.

Two entries: `apply` (an apply patch) and `update` (create, merge patch, JSON patch). Both take the live object and
return the new one with its managedFields brought up to date. The rules, proved in tests/api/test_memory_honesty.py:

* An apply owns exactly what its body says. What it owned before and no longer says goes, unless somebody else owns it.
* What goes takes along unowned fields below it; a map or list that loses its last entry becomes null.
* Another owner's value is only changed by force; then that owner loses the field.
* An update takes every field it changes from all others, and owns what it changed.
* managedFields given in the body of an update replace the stored ones; `[{}]` clears them, `[]` changes nothing, and
  an object without managedFields is not tracked until the first apply, which books all that is there on
  `before-first-apply`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from windlass.testing.memory.fields import (
    NOTHING,
    Path,
    Paths,
    Side,
    compared,
    from_fields_v1,
    merged,
    named,
    paths,
    printed,
    to_fields_v1,
    without,
)
from windlass.testing.memory.schema import Rules, Shape, Tree

FIRST = "before-first-apply"

_SYSTEM = (
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "generation",
    "managedFields",
    "resourceVersion",
)
_NEVER_OWNED: Paths = frozenset(
    [("f:apiVersion",), ("f:kind",), ("f:metadata",), *(("f:metadata", f"f:{key}") for key in _SYSTEM)]
)


class Manager(Struct, frozen=True):
    """Who writes, and through which endpoint."""

    name: str
    operation: Literal["Apply", "Update"]
    subresource: str = ""


class Owned(Struct, frozen=True):
    """What one manager owns, and since which write."""

    paths: Paths
    api_version: str
    time: str


Owners = dict[Manager, Owned]


class Clash(Exception):
    """An apply without force would change fields of others: `(owner as printed, field)` for each."""

    def __init__(self, fields: list[tuple[str, Path]]) -> None:
        self.fields = fields
        super().__init__(_clash_text(fields))


class Writer(Struct, frozen=True):
    """One write: by whom, when (RFC 3339), to a kind with which rules."""

    rules: Rules
    name: str
    now: str
    subresource: str = ""

    @property
    def side(self) -> Side:
        return Side(split=self.rules.status, status=self.subresource == "status")

    @property
    def shape(self) -> Shape:
        return self.rules.whole

    def owned(self, owned: Paths) -> Owned:
        return Owned(owned - _NEVER_OWNED, self.rules.kind.RESOURCE.api_version, self.now)


def apply(live: Tree, config: Tree, by: Writer, *, force: bool) -> Tree:
    """The object after `by` applied `config` to `live` (`{}` if there is none). Raises Clash."""
    shape, me = by.shape, Manager(by.name, "Apply", by.subresource)
    old, owners = _bare(live), owners_of(live)
    if live and not owners:
        owners = _credited(Manager(FIRST, "Update", by.subresource), {}, old, {}, by)
    last = owners[me].paths if me in owners else NOTHING
    mine = by.side.of(paths(config, shape))
    new = merged(old, config, shape)
    if last:
        everybody = mine.union(*(entry.paths for who, entry in owners.items() if who != me))
        new = _pruned(new, last, everybody, shape)
    change = compared(old, new, shape).only(by.side)
    clashes = [
        (_printed(who, entry), path)
        for who, entry in sorted(owners.items(), key=lambda pair: pair[0].name)
        if who != me
        for path in _ordered(entry.paths & change.changed)
    ]
    if clashes and not force:
        raise Clash(clashes)
    left = _taken(owners, change.changed | change.removed, by=me)
    return _with_owners(new, left | {me: by.owned(mine)})


def update(live: Tree, new: Tree, by: Writer) -> Tree:
    """`new` as written by `by` over `live` (`{}` for a create), with ownership of what changed."""
    me = Manager(by.name, "Update", by.subresource)
    owners = owners_of(live)
    if not by.subresource:
        given = new.get("metadata", {}).get("managedFields")
        if given:
            owners = {} if given == [{}] else owners_of(new)
    after = _bare(new)
    if live and not owners:
        return after
    return _with_owners(after, _credited(me, owners, after, _bare(live), by))


def owners_of(tree: Mapping[str, Any]) -> Owners:
    """managedFields, read."""
    return {
        Manager(entry.get("manager", ""), entry.get("operation", "Update"), entry.get("subresource", "")): Owned(
            from_fields_v1(entry.get("fieldsV1", {})), entry.get("apiVersion", ""), entry.get("time", "")
        )
        for entry in tree.get("metadata", {}).get("managedFields") or ()
        if entry
    }


def same_but_for_times(left: Tree, right: Tree) -> bool:
    """Equality as it decides whether anything is written: times of managedFields do not count."""

    def timeless(tree: Tree) -> dict[Manager, Owned]:
        return {who: replace(entry, time="") for who, entry in owners_of(tree).items()}

    return _bare(left) == _bare(right) and timeless(left) == timeless(right)


def _credited(me: Manager, owners: Owners, new: Tree, old: Tree, by: Writer) -> Owners:
    change = compared(old, new, by.shape).only(by.side)
    before = owners[me].paths if me in owners else NOTHING
    left = _taken(owners, change.changed | change.removed, by=me)
    return left | {me: by.owned((before - change.removed) | change.changed)}


def _taken(owners: Owners, gone: Paths, *, by: Manager) -> Owners:
    return {who: replace(entry, paths=entry.paths - gone) for who, entry in owners.items() if who != by}


def _pruned(new: Tree, last: Paths, everybody: Paths, shape: Shape) -> Tree:
    """`new` less what only the last apply of its manager owned.

    First all of it goes, with everything below; then what others own comes back, then what nobody ever owned.
    """
    gone = named(last, shape)
    there = named(paths(new, shape), shape)
    kept = named(paths(without(new, gone, shape) or {}, shape), shape)
    restored = without(new, there - (kept | named(everybody, shape)), shape) or {}
    kept = named(paths(restored, shape), shape)
    result: Tree = without(new, (there - kept) & gone, shape) or {}
    return result


def _bare(tree: Mapping[str, Any]) -> Tree:
    metadata = {key: value for key, value in tree.get("metadata", {}).items() if key != "managedFields"}
    return {**tree, "metadata": metadata} if "metadata" in tree else dict(tree)


def _with_owners(tree: Tree, owners: Owners) -> Tree:
    entries = [_entry(who, owned) for who, owned in owners.items() if owned.paths]
    entries.sort(key=lambda entry: (entry["operation"], entry["time"], entry["manager"], entry.get("subresource", "")))
    metadata = {**tree.get("metadata", {}), **({"managedFields": entries} if entries else {})}
    return {**tree, "metadata": metadata}


def _entry(who: Manager, owned: Owned) -> Tree:
    return {
        "manager": who.name,
        "operation": who.operation,
        "apiVersion": owned.api_version,
        "time": owned.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": to_fields_v1(owned.paths),
        **({"subresource": who.subresource} if who.subresource else {}),
    }


def _ordered(owned: Iterable[Path]) -> Iterator[Path]:
    """In the server's order: at each level the members first, then what is below the others."""
    return iter(sorted(owned, key=lambda path: [(depth < len(path) - 1, step) for depth, step in enumerate(path)]))


def _printed(who: Manager, owned: Owned) -> str:
    text = f'"{who.name}"'
    if who.subresource:
        text += f' with subresource "{who.subresource}"'
    return text + (f" using {owned.api_version}" if who.operation == "Update" else "")


def _clash_text(fields: list[tuple[str, Path]]) -> str:
    if len(fields) == 1:
        owner, path = fields[0]
        return f"Apply failed with 1 conflict: conflict with {owner}: {printed(path)}"
    text = f"Apply failed with {len(fields)} conflicts:"
    for index, owner in enumerate(dict.fromkeys(owner for owner, _ in fields)):
        lines = "".join(f"\n- {printed(path)}" for who, path in fields if who == owner)
        text += f"{' ' if index == 0 else chr(10)}conflicts with {owner}:{lines}"
    return text
