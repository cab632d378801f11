"""Keeps our own writes until the watch has shown them.

The answer to a write arrives before its watch event. A controller that relies on the watch alone decides twice: it
creates a second object because it does not see its first. So answers are laid over the stream until the stream has
passed them. A naive overlay has four traps, and each has its rule here:

| trap | rule |
|---|---|
| an answer that arrives late covers something newer | an answer that the stream has passed is ignored |
| a late answer brings a deleted object back | a tombstone drops all answers about its uid, and hides older objects |
| a list begun before the write erases it | an entry is removed only when the *version* of the stream passes it |
| an object taken for deleted still exists | a list or a live read begun after the tombstone was set removes it |

When we remove the last finalizer of an object, it is gone, although the server answers with the object. The answer has
the version before the removal, which the stream may have passed already. Such an answer becomes a tombstone too.

There is at most one entry per key, the newest. It has a uid, so only an object recreated under the same name (another
uid, a later version) replaces the tombstone of its predecessor.

Resource versions are compared as integers, which Kubernetes promises since 1.35 and etcd has always given. Where they
are not integers (an aggregated API server may choose another form) nothing is laid over: only the stream counts.

    overlay = Overlay[Machine]()
    overlay.wrote(answer, position=store.position)
    overlay.view(answer.key, streamed)          # the answer, until the stream has passed it
"""

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import Generic

from msgspec import Struct

from windlass.api.meta import K
from windlass.kube.object import NamespacedName, Object


def ordinal(resource_version: str) -> int | None:
    """A resource version as an integer that orders writes, or None if it is opaque."""
    return int(resource_version) if resource_version.isascii() and resource_version.isdigit() else None


def is_gone(answer: Object[K]) -> bool:
    """The server answered with this object and removed it: it was being deleted, and nothing holds it any more.

    A running grace period (Pods) still holds it, and so do finalizers outside metadata (Namespaces); the server does
    not report a grace period of 0 for those.
    """
    if not answer.deleting:
        return False
    meta = answer.metadata
    return not meta.finalizers and meta.deletion_grace_period_seconds == 0


class Written(Struct, Generic[K], frozen=True):
    """The object as a write (or a live read) returned it."""

    object: Object[K]
    version: int

    @property
    def uid(self) -> str:
        return self.object.uid


class Tombstone(Struct, frozen=True):
    """The object `uid` is gone for good. `version` is the object's last known version: the deletion came later."""

    uid: str
    version: int


class Overlay(Generic[K]):
    """Entries per key, each until the stream has passed it.

    In the methods, `position` is the version that the stream has reached (None: none yet, or opaque), and `streamed` is
    the stream's object for the key. Methods that return bool say whether the entry of the key changed.
    """

    def __init__(self) -> None:
        self._entries: dict[NamespacedName, Written[K] | Tombstone] = {}
        self._due: list[tuple[int, NamespacedName]] = []

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[NamespacedName]:
        return iter(self._entries)

    def view(self, key: NamespacedName, streamed: Object[K] | None) -> Object[K] | None:
        """The object under `key`, own writes included."""
        entry = self._entries.get(key)
        if entry is None:
            return streamed
        if isinstance(entry, Written):
            return entry.object
        return None if streamed is None or self._buries(entry, streamed) else streamed

    def wrote(self, answer: Object[K], *, streamed: Object[K] | None, position: int | None) -> bool:
        version = ordinal(answer.resource_version)
        if is_gone(answer):
            return self.removed(answer.key, answer.uid, version, streamed=streamed, position=position)
        if version is None or (position is not None and version <= position):
            return False
        entry = self._entries.get(answer.key)
        if entry is not None and (
            version <= entry.version or (isinstance(entry, Tombstone) and entry.uid == answer.uid)
        ):
            return False
        self._put(answer.key, Written(answer, version))
        return True

    def removed(
        self, key: NamespacedName, uid: str, version: int | None, *, streamed: Object[K] | None, position: int | None
    ) -> bool:
        """The object `uid`, last known at `version`, is gone. Another object under the same key is not touched."""
        entry = self._entries.get(key)
        if entry is not None and entry.uid != uid and (version is None or entry.version > version):
            return False
        last = version or 0
        if entry is not None and entry.uid == uid:
            last = max(last, entry.version)
        shown = streamed is not None and streamed.uid == uid
        if streamed is not None and shown:
            last = max(last, ordinal(streamed.resource_version) or 0)
        if not shown and position is not None and last <= position:
            return self.drop(key)
        self._put(key, Tombstone(uid, last))
        return True

    def settle(self, key: NamespacedName, streamed: Object[K] | None, position: int | None) -> bool:
        """Remove the entry of `key` if the stream has passed it."""
        entry = self._entries.get(key)
        if entry is None or position is None or position < entry.version:
            return False
        if isinstance(entry, Tombstone) and streamed is not None and self._buries(entry, streamed):
            return False
        del self._entries[key]
        return True

    def passed(self, position: int, streamed: Callable[[NamespacedName], Object[K] | None]) -> list[NamespacedName]:
        """Remove the entries that a stream at `position` has passed; returns their keys.

        A tombstone stays while the stream shows its object, until `settle` is called for the deletion.
        """
        gone: list[NamespacedName] = []
        while self._due and self._due[0][0] <= position:
            _, key = heappop(self._due)
            if self.settle(key, streamed(key), position):
                gone.append(key)
        return gone

    def tombstones(self) -> dict[NamespacedName, Tombstone]:
        """The present tombstones, to pass to `lift` after a list or a live read that begins from now on."""
        return {key: entry for key, entry in self._entries.items() if isinstance(entry, Tombstone)}

    def tombstone(self, key: NamespacedName) -> Tombstone | None:
        """The tombstone of `key`, if there is one now."""
        entry = self._entries.get(key)
        return entry if isinstance(entry, Tombstone) else None

    def lift(self, key: NamespacedName, tombstone: Tombstone | None, shown: Object[K] | None) -> bool:
        """Remove `tombstone` if `shown`, read from the server after the tombstone was set, has its uid.

        Such a read shows only existing objects, so the object was never gone.
        """
        if tombstone is None or shown is None or shown.uid != tombstone.uid or is_gone(shown):
            return False
        return self._entries.get(key) is tombstone and self.drop(key)

    def drop(self, key: NamespacedName) -> bool:
        """Remove the entry of `key`, whatever it is."""
        return self._entries.pop(key, None) is not None

    def clear(self) -> None:
        self._entries.clear()
        self._due.clear()

    def _put(self, key: NamespacedName, entry: Written[K] | Tombstone) -> None:
        self._entries[key] = entry
        heappush(self._due, (entry.version, key))

    @staticmethod
    def _buries(tombstone: Tombstone, streamed: Object[K]) -> bool:
        """The stream shows the deleted object itself, or a predecessor of it under the same name."""
        if streamed.uid == tombstone.uid:
            return True
        version = ordinal(streamed.resource_version)
        return version is not None and version <= tombstone.version
