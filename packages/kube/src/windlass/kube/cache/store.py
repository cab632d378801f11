"""Stores the objects of lists and watches with our own writes laid over them, and indexes the result.

A `Store` receives the objects of lists and watches, and the answers to our own writes. It is synchronous and does no
I/O; `windlass.kube.cache` feeds it. It has two views:

* *reads* (`get`, `items`, `indexed`) see the stream with own writes laid over it (`windlass.kube.client.overlay`);
* *changes*, returned by the methods that read the stream, are the real differences between two states of the stream.
  An own write is not a change, since its writer knows it; its echo in the stream is one.

A list may be long: `replacing` reads it in small steps, and other tasks run between them. They see the state before
the list until the last step, with the own writes made meanwhile.

A stream delivers the writes to a kind in the order of their versions. An event that is not newer than the position
reached is late or repeated, and ignored. A list replaces everything, and only real differences are changes: an object
that was recreated under its name between two watches is a deletion and a creation.

    store = Store[Machine]()
    store.add_index("by-node", lambda machine: [machine.decode().status.node_ref.name])
    store.replace(objects, version="1000")
    store.put(changed)                          # -> [Change(old, new)]
    store.indexed("by-node", "worker-1")
"""

from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping
from typing import Generic, TypeAlias

from msgspec import Struct

from windlass.api.meta import K
from windlass.kube.client.overlay import Overlay, Tombstone, ordinal
from windlass.kube.logger import Logger
from windlass.kube.object import NamespacedName, Object

STEP = 100
"""Objects of a list that are stored in one step: a few milliseconds, decoding for indexes included."""

log = Logger(__name__)

IndexFunction = Callable[[Object[K]], Iterable[str]]
"""The values under which an index finds an object. May raise DecodeError: then it is found under none."""


class Change(Struct, Generic[K], frozen=True):
    """One object was added (`old` None), deleted (`new` None) or changed.

    `initial`: it is part of the first state that the listener is given, so nothing has happened just now and it is
    not urgent.
    """

    old: Object[K] | None
    new: Object[K] | None
    initial: bool = False


class Store(Generic[K]):
    """Objects of one kind by key. `position` is the version that the stream has reached (None: none, or opaque)."""

    def __init__(self) -> None:
        self.position: int | None = None
        self._streamed: dict[NamespacedName, Object[K]] = {}
        self._overlay: Overlay[K] = Overlay()
        self._indexes: dict[Hashable, _Index[K]] = {}
        self._suspects: dict[NamespacedName, Tombstone] = {}

    def __len__(self) -> int:
        """How many objects the stream shows."""
        return len(self._streamed)

    @property
    def pending(self) -> int:
        """How many own writes the stream has not passed yet."""
        return len(self._overlay)

    # reads

    def get(self, key: NamespacedName) -> Object[K] | None:
        return self._overlay.view(key, self._streamed.get(key))

    def items(self, namespace: str | None = None) -> Iterator[Object[K]]:
        """All objects, or all of one namespace, in their present state."""
        keys: Iterable[NamespacedName] = self._streamed
        if self._overlay:
            keys = dict.fromkeys([*self._streamed, *self._overlay])
        found = [self.get(key) for key in keys if namespace is None or key[0] == namespace]
        return iter([item for item in found if item is not None])

    def add_index(self, name: Hashable, values_of: IndexFunction[K]) -> None:
        """Index objects by the values that `values_of` gives for them. Raises ValueError if `name` is taken."""
        if name in self._indexes:
            raise ValueError(f"there is an index {name!r} already")
        index = self._indexes[name] = _Index(name, values_of)
        for item in self.items():
            index.put(item.key, item)

    def remove_index(self, name: Hashable) -> None:
        """Remove this index. Raises KeyError, naming the existing ones, if it is unknown."""
        del self._indexes[self._index(name).name]

    def indexed(self, name: Hashable, value: str) -> list[Object[K]]:
        """The objects for which index `name` gives `value`. Raises KeyError, naming the existing ones, if unknown."""
        index = self._index(name)
        found = [self.get(key) for key in index.keys(value)]
        return [item for item in found if item is not None]

    def _index(self, name: Hashable) -> "_Index[K]":
        index = self._indexes.get(name)
        if index is None:
            raise KeyError(f"no index {name!r}; there is: {', '.join(sorted(map(str, self._indexes))) or 'none'}")
        return index

    # the stream

    def asking(self) -> None:
        """A list is requested now. If it contains an object that was taken for deleted before, that one exists."""
        self._suspects = self._overlay.tombstones()

    def replace(self, objects: dict[NamespacedName, Object[K]], version: str) -> list[Change[K]]:
        """Everything that exists, as listed at `version`. The store keeps `objects`; the caller must not."""
        return _at_once(self.replacing(objects, version))

    def rewind(self, objects: dict[NamespacedName, Object[K]], version: str) -> list[Change[K]]:
        """Like `replace`, after history itself went back (etcd restored from a backup): own writes are void too."""
        return _at_once(self.rewinding(objects, version))

    def replacing(self, objects: dict[NamespacedName, Object[K]], version: str) -> "Steps[K]":
        """`replace`, in steps of `STEP` objects. No other event of the stream may be stored before the last one."""
        before = self._streamed
        changes: list[Change[K]] = []
        for count, (key, new) in enumerate(objects.items(), start=1):
            old = before.get(key)
            if old is not None and old.uid == new.uid and old.resource_version == new.resource_version:
                objects[key] = old
            else:
                changes += _difference(old, new)
            if count % STEP == 0:
                yield
        changes += [Change(old, None) for key, old in before.items() if key not in objects]
        indexes: dict[Hashable, _Index[K]] = {}
        # Others may add or remove an index between two steps.
        while missing := [index for name, index in self._indexes.items() if name not in indexes]:
            for index in missing:
                indexes[index.name] = yield from index.over(objects)
        self._streamed = objects
        self._indexes = {name: indexes[name] for name in self._indexes}
        self.position = ordinal(version)
        self._settle_all()
        return changes

    def rewinding(self, objects: dict[NamespacedName, Object[K]], version: str) -> "Steps[K]":
        """`rewind`, in steps."""
        stale = list(self._overlay)
        self._overlay.clear()
        self.position = None
        for key in stale:
            self._reindex(key)
        return (yield from self.replacing(objects, version))

    def _settle_all(self) -> None:
        suspects, self._suspects = self._suspects, {}
        for key in list(self._overlay):
            streamed = self._streamed.get(key)
            if self.position is None:
                self._overlay.drop(key)
            elif not self._overlay.lift(key, suspects.get(key), streamed):
                self._overlay.settle(key, streamed, self.position)
            self._reindex(key)

    def put(self, new: Object[K]) -> list[Change[K]]:
        """The stream shows `new`, added or modified."""
        return self._streams(new, deleted=False)

    def delete(self, last: Object[K]) -> list[Change[K]]:
        """The stream says that the object is gone; `last` carries the version of its deletion."""
        return self._streams(last, deleted=True)

    def reach(self, version: str) -> None:
        """The stream has shown everything up to `version` (a bookmark)."""
        position = ordinal(version)
        if position is not None and (self.position is None or position > self.position):
            self.position = position
            for key in self._overlay.passed(position, self._streamed.get):
                self._reindex(key)

    def _streams(self, told: Object[K], *, deleted: bool) -> list[Change[K]]:
        key, version = told.key, ordinal(told.resource_version)
        old = self._streamed.get(key)
        if version is None:
            self._overlay.drop(key)
        elif self._is_late(told, version, old=old, deleted=deleted):
            return []
        if not deleted:
            self._streamed[key] = told
        elif old is not None:
            del self._streamed[key]
        self._overlay.settle(key, self._streamed.get(key), version)
        self._reindex(key)
        self.reach(told.resource_version)
        return _difference(old, None if deleted else told)

    def _is_late(self, told: Object[K], version: int, *, old: Object[K] | None, deleted: bool) -> bool:
        # Pages of one list may have different versions (after an expired continue token), so a single object can be
        # newer than the position.
        held = ordinal(old.resource_version) or 0 if old is not None else 0
        if deleted and old is not None and old.uid == told.uid:
            return version < held  # some servers give a deletion the version of the last change
        return version <= max(self.position or 0, held)

    # own writes

    def tombstone(self, key: NamespacedName) -> Tombstone | None:
        """The tombstone to pass to `wrote`, fetched before a live read."""
        return self._overlay.tombstone(key)

    def wrote(self, answer: Object[K], *, despite: Tombstone | None = None) -> None:
        """A write, or a live read that began when the tombstone `despite` existed, was answered with this object."""
        key = answer.key
        if self._overlay.lift(key, despite, answer):
            self._reindex(key)
        if self._overlay.wrote(answer, streamed=self._streamed.get(key), position=self.position):
            self._reindex(key)

    def removed(self, key: NamespacedName, *, uid: str, resource_version: str = "") -> None:
        """The object `uid` is gone. `resource_version` is the last known of it, if one is known."""
        streamed = self._streamed.get(key)
        version = ordinal(resource_version)
        if self._overlay.removed(key, uid, version, streamed=streamed, position=self.position):
            self._reindex(key)

    def _reindex(self, key: NamespacedName) -> None:
        if self._indexes:
            item = self.get(key)
            for index in self._indexes.values():
                index.put(key, item)


Steps: TypeAlias = Generator[None, None, list[Change[K]]]
"""Work in small steps, one for each `next`; it returns the changes at the end."""


def _at_once(steps: "Steps[K]") -> list[Change[K]]:
    try:
        while True:
            next(steps)
    except StopIteration as end:
        changes: list[Change[K]] = end.value
        return changes


def _difference(old: Object[K] | None, new: Object[K] | None) -> list[Change[K]]:
    if old is None and new is None:
        return []
    if old is not None and new is not None and old.uid != new.uid:
        return [Change(old, None), Change(None, new)]
    return [Change(old, new)]


class _Index(Generic[K]):
    """Keys by the values that a function gives for their objects."""

    def __init__(self, name: Hashable, values_of: IndexFunction[K]) -> None:
        self.name = name
        self._function = values_of
        self._keys: dict[str, dict[NamespacedName, None]] = {}
        self._values: dict[NamespacedName, tuple[str, ...]] = {}
        self._known: dict[NamespacedName, tuple[str, str]] = {}

    def keys(self, value: str) -> list[NamespacedName]:
        return list(self._keys.get(value, ()))

    def over(self, objects: Mapping[NamespacedName, Object[K]]) -> Generator[None, None, "_Index[K]"]:
        """The same index over these objects; only objects new to the index are decoded."""
        other: _Index[K] = _Index(self.name, self._function)
        for count, (key, item) in enumerate(objects.items(), start=1):
            identity = (item.uid, item.resource_version)
            known = self._known.get(key) == identity
            other._file(key, identity, self._values.get(key, ()) if known else self._values_of(item))
            if count % STEP == 0:
                yield
        return other

    def put(self, key: NamespacedName, item: Object[K] | None) -> None:
        # The echo of an own write is indexed already: decoding it again would double the cost.
        identity = None if item is None else (item.uid, item.resource_version)
        if identity is not None and self._known.get(key) == identity:
            return
        for value in self._values.pop(key, ()):
            keys = self._keys[value]
            keys.pop(key, None)
            if not keys:
                del self._keys[value]
        self._known.pop(key, None)
        if item is not None and identity is not None:
            self._file(key, identity, self._values_of(item))

    def _file(self, key: NamespacedName, identity: tuple[str, str], values: tuple[str, ...]) -> None:
        for value in values:
            self._keys.setdefault(value, {})[key] = None
        if values:
            self._values[key] = values
        self._known[key] = identity

    def _values_of(self, item: Object[K]) -> tuple[str, ...]:
        try:
            return tuple(dict.fromkeys(self._function(item)))
        except Exception as error:
            # One odd object must not stop the stream of all others.
            log.warning("an index leaves out an object", index=str(self.name), object=repr(item), error=str(error))
            return ()
