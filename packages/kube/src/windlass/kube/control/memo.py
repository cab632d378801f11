"""Memoises the results of decoding objects, as long as the objects are referenced elsewhere.

Every machine's round reads the same few objects (its cluster, its MachineSets), and its own more than once, so the last
results are kept. A result is dropped with its object: that of a single GET goes as soon as the caller drops the object.
Nothing is kept of confidential kinds (Secrets).

    memo = Memo(decode, objects=256, size=2**22)
    memo(found) is memo(found)          # as long as `found` lives, and 256 others or 4 MB have not come since

A cache holds one object for each version that it shows, so `Memo(project)` computes once for each uid and
resourceVersion, and forgets the objects that are gone or have changed (`Population.each`).
"""

import sys
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, TypeVar
from weakref import ref

from windlass.kube.object import Object

T = TypeVar("T")


class Memo(Generic[T]):
    """`decode`, but the last `objects` results are kept, of objects that have at most `size` bytes of JSON together.

    Without these limits the results of all objects are kept that somebody else holds: for results that are small.
    """

    def __init__(
        self, decode: Callable[[Object[Any]], T], *, objects: int = sys.maxsize, size: int = sys.maxsize
    ) -> None:
        self._decode = decode
        self._objects = objects
        self._size = size
        self._kept: OrderedDict[ref[Object[Any]], tuple[T, int]] = OrderedDict()
        self.size = 0
        """Bytes of JSON of the objects whose results are kept."""

    def __len__(self) -> int:
        return len(self._kept)

    def __call__(self, found: Object[Any]) -> T:
        key = ref(found)
        known = self._kept.get(key)
        if known is not None:
            self._kept.move_to_end(key)
            return known[0]
        result = self._decode(found)
        size = len(found.raw)
        if size <= self._size and not found.kind.RESOURCE.confidential:
            self._kept[ref(found, self._forget)] = result, size
            self.size += size
            while len(self._kept) > self._objects or self.size > self._size:
                self._forget(next(iter(self._kept)))
        return result

    def _forget(self, key: "ref[Object[Any]]") -> None:
        _, size = self._kept.pop(key, (None, 0))
        self.size -= size
