"""What we have written and the watch has not shown yet.

The answer to a write is known here before the watch tells of it. Who decides on the watch alone decides twice: it
creates a second object because it does not see its first. So answers are laid over the stream until the stream has
passed them. Doing that naively loses data in three ways, and each has its rule here:

| trap | rule |
|---|---|
| an answer that arrives late covers something newer | an answer that the stream has passed is ignored |
| a late answer brings a deleted object back | a tombstone swallows all answers about its uid, and hides what is older |
| a list begun before the write erases it | an entry goes only when the *version* of the stream passes it |
| an object taken for deleted is there all the same | a list or a look begun after the tombstone was laid lifts it |

An object whose last finalizer we removed is gone although the server answers with an object, and under the version of
the state before, which the stream may have passed already. Such an answer is a tombstone too.

There is at most one entry per key, the newest. It remembers its uid, so an object recreated under the same name
(another uid, a later version) replaces the tombstone of its predecessor, and only then.

Resource versions are compared as integers, which Kubernetes promises since 1.35 and etcd has always given. Where they
are not integers (an aggregated API server may do as it likes) nothing is laid over: the stream alone counts.

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
    """The place of a resource version in the order of writes, or None if it is opaque."""
    return int(resource_version) if resource_version.isascii() and resource_version.isdigit() else None


def is_gone(answer: Object[K]) -> bool:
    """The server answered with this object and removed it: it was to be deleted, and nothing holds it any more.

    A grace period that still runs (Pods) holds it too, and so do finalizers elsewhere than in metadata (Namespaces);
    of those the server does not say that the grace period is 0.
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
    """The object `uid` is gone for good. `version` is the last one known of it: it was deleted later than that."""

    uid: str
    version: int


class Overlay(Generic[K]):
    """Entries per key, each until the stream has passed it.

    `position` in the methods is how far the stream has come (None: nothing seen yet, or opaque), `streamed` what it
    shows for the key. Methods that return bool say whether the entry of the key changed.
    """

    def __init__(self) -> None:
        self._entries: dict[NamespacedName, Written[K] | Tombstone] = {}
        self._due: list[tuple[int, NamespacedName]] = []

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[NamespacedName]:
        return iter(self._entries)

    def view(self, key: NamespacedName, streamed: Object[K] | None) -> Object[K] | None:
        """What there is under `key`, own writes included."""
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
        """Let the entry of `key` go if the stream has passed it."""
        entry = self._entries.get(key)
        if entry is None or position is None or position < entry.version:
            return False
        if isinstance(entry, Tombstone) and streamed is not None and self._buries(entry, streamed):
            return False
        del self._entries[key]
        return True

    def passed(self, position: int, streamed: Callable[[NamespacedName], Object[K] | None]) -> list[NamespacedName]:
        """Let go what a stream at `position` has passed; the keys of the entries that went.

        A tombstone whose object the stream still shows stays, until `settle` hears of the deletion.
        """
        gone: list[NamespacedName] = []
        while self._due and self._due[0][0] <= position:
            _, key = heappop(self._due)
            if self.settle(key, streamed(key), position):
                gone.append(key)
        return gone

    def tombstones(self) -> dict[NamespacedName, Tombstone]:
        """Those that lie now; for `lift`, once the server has answered a question that is asked from now on."""
        return {key: entry for key, entry in self._entries.items() if isinstance(entry, Tombstone)}

    def tombstone(self, key: NamespacedName) -> Tombstone | None:
        """The one of `key`, if there is one now."""
        entry = self._entries.get(key)
        return entry if isinstance(entry, Tombstone) else None

    def lift(self, key: NamespacedName, tombstone: Tombstone | None, shown: Object[K] | None) -> bool:
        """`shown` is what the server answered to a question that was asked when `tombstone` lay already.

        The server answers such questions with what is there, so the object was never gone.
        """
        if tombstone is None or shown is None or shown.uid != tombstone.uid or is_gone(shown):
            return False
        return self._entries.get(key) is tombstone and self.drop(key)

    def drop(self, key: NamespacedName) -> bool:
        """Forget the entry of `key`, whatever it is."""
        return self._entries.pop(key, None) is not None

    def clear(self) -> None:
        self._entries.clear()
        self._due.clear()

    def _put(self, key: NamespacedName, entry: Written[K] | Tombstone) -> None:
        self._entries[key] = entry
        heappush(self._due, (entry.version, key))

    @staticmethod
    def _buries(tombstone: Tombstone, streamed: Object[K]) -> bool:
        """The stream shows the dead object itself, or a predecessor of it under the same name."""
        if streamed.uid == tombstone.uid:
            return True
        version = ordinal(streamed.resource_version)
        return version is not None and version <= tombstone.version
