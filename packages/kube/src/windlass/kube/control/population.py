"""All objects of a kind at one moment, for decisions that look at the whole cluster.

    nodes = await reader.see_all(Node)
    if isinstance(nodes, NotServedKind): ...
    for node in nodes.readable: ...                 # typed, decoded when reached
    for broken in nodes.unreadable: ...             # metadata, and why

A population does not change when its cache does, so it may be part of a snapshot. It is ordered by namespace and name,
so equal clusters give equal plans.

What a rule needs of each object is often small. A memo keeps that, and forgets it with the object:

    FACTS = Memo(lambda node: facts(read(node)))    # a pure function; `read` as in `windlass.kube.control.seen`
    nodes.each(FACTS)                               # in the order of names; computed for changed objects only

Of 500 Nodes of 13 KB that costs 0.4 ms if one has changed.

Cost: taking a population copies and sorts references (4 ms for 5,000 objects). Each version of an object is decoded
once, when it is reached (13 us for 1 KB). The result is kept while the cache holds the object, for at most 8,192
objects with 32 MB of JSON together; reading it again costs 1 us. A controller that reads everything should coalesce
its wake-ups (`Controller.pace`).
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

from windlass.api.meta import K
from windlass.kube.control.memo import Memo
from windlass.kube.control.seen import Present, Unreadable, read
from windlass.kube.object import Object

T = TypeVar("T")

# Apart from the memo of single looks, which one pass over a large kind would empty.
_DECODED: Memo[Present[Any] | Unreadable] = Memo(read, objects=8192, size=2**25)


class Population(Sequence[Present[K] | Unreadable], Generic[K]):
    """See the module. An immutable sequence; two are equal if they hold the same objects in the same versions."""

    __slots__ = ("_found",)

    def __init__(self, found: Iterable[Object[K]] = ()) -> None:
        self._found = tuple(sorted(found, key=lambda each: (each.namespace or "", each.name)))

    @property
    def readable(self) -> Iterator[K]:
        """The typed view of each object that has the shape of its type."""
        return (each.object for each in self if isinstance(each, Present))

    @property
    def unreadable(self) -> Iterator[Unreadable]:
        """The objects that do not have the shape of their type."""
        return (each for each in self if isinstance(each, Unreadable))

    def each(self, memo: Memo[T]) -> tuple[T, ...]:
        """The result of `memo` for each object."""
        return tuple(map(memo, self._found))

    def __len__(self) -> int:
        return len(self._found)

    @overload
    def __getitem__(self, index: int) -> Present[K] | Unreadable: ...
    @overload
    def __getitem__(self, index: slice) -> "Population[K]": ...
    def __getitem__(self, index: int | slice) -> "Present[K] | Unreadable | Population[K]":
        if isinstance(index, slice):
            return Population(self._found[index])
        return _DECODED(self._found[index])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Population) and self._versions() == other._versions()

    def __hash__(self) -> int:
        return hash(self._versions())

    def __repr__(self) -> str:
        return f"<Population of {len(self)}>"

    def _versions(self) -> tuple[tuple[str, str], ...]:
        return tuple((each.uid, each.resource_version) for each in self._found)
