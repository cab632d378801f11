"""One list of a project, requested once for all who want it at that moment.

The answers to our own requests are laid over it. They may be newer than a list that was under way, so a list replaces
only what is older than its beginning: a resource that was created or deleted since stays created or deleted.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterator
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct


class Identified(Protocol):
    @property
    def id(self) -> str: ...


R = TypeVar("R", bound=Identified)


class _Own(Struct, Generic[R]):
    """An answer of ours, of the time `at`; `item` None: it is gone."""

    item: R | None
    at: float


class ListCache(Generic[R]):
    """`ask` lists all; `mark_of` is the mark of an item, `kin_of` what a mark has in common with others; `hosts_of` are
    the IDs of what an item is attached to; `clock` is monotonic, in seconds. `began`: when the last list began."""

    def __init__(
        self,
        ask: Callable[[], Awaitable[tuple[R, ...]]],
        *,
        mark_of: Callable[[Any], str],
        kin_of: Callable[[str], Collection[str]] = lambda mark: (mark,),
        hosts_of: Callable[[Any], Collection[str]] = lambda _: (),
        clock: Callable[[], float],
    ) -> None:
        self.began = float("-inf")
        self._ask = ask
        self._mark_of = mark_of
        self._kin_of = kin_of
        self._hosts_of = hosts_of
        self._clock = clock
        self._items: dict[str, R] = {}
        self._by_key: dict[Hashable, dict[str, R]] = {}
        self._own: dict[str, _Own[R]] = {}
        self._under_way: tuple[float, asyncio.Task[None]] | None = None

    async def since(self, moment: float) -> None:
        """Return when a list that began at `moment` or later has been read. Raises what asking raises."""
        while self.began < moment:
            if self._under_way is None:
                began = self._clock()
                task = asyncio.create_task(self._read(began))
                task.add_done_callback(_looked_at)
                self._under_way = began, task
            began, task = self._under_way
            if began >= moment:
                await asyncio.shield(task)
            else:
                await asyncio.wait([task])

    def all(self) -> Iterator[R]:
        yield from self._items.values()

    def marked(self, mark: str) -> Iterator[R]:
        """The items with this mark."""
        return (each for each in self.akin(mark) if self._mark_of(each) == mark)

    def akin(self, mark: str) -> Iterator[R]:
        """The items whose mark has a root or a holder in common with `mark`."""
        found: dict[str, R] = {}
        for each in self._kin_of(mark):
            found |= self._by_key.get(each, {})
        yield from found.values()

    def on(self, host: str) -> Iterator[R]:
        """The items that are attached to the resource `host`."""
        yield from self._by_key.get(_on(host), {}).values()

    def get(self, which: str) -> R | None:
        return self._items.get(which)

    def put(self, item: R) -> None:
        """An answer to our own request shows `item`."""
        self._own[item.id] = _Own(item, self._clock())
        self._place(item)

    def drop(self, which: str) -> None:
        """An answer says that this is gone."""
        self._own[which] = _Own(None, self._clock())
        self._remove(which)

    async def _read(self, began: float) -> None:
        try:
            found = await self._ask()
        finally:
            self._under_way = None
        self._own = {which: own for which, own in self._own.items() if own.at >= began}
        self._items, self._by_key = {}, {}
        for item in found:
            if item.id not in self._own:
                self._place(item)
        for own in self._own.values():
            if own.item is not None:
                self._place(own.item)
        self.began = began

    def _place(self, item: R) -> None:
        self._remove(item.id)
        self._items[item.id] = item
        for each in self._keys_of(item):
            self._by_key.setdefault(each, {})[item.id] = item

    def _remove(self, which: str) -> None:
        old = self._items.pop(which, None)
        for each in self._keys_of(old) if old is not None else ():
            self._by_key.get(each, {}).pop(which, None)

    def _keys_of(self, item: R) -> Iterator[Hashable]:
        yield from self._kin_of(self._mark_of(item))
        yield from map(_on, self._hosts_of(item))


def _on(host: str) -> Hashable:
    """Apart from marks, which anybody can make up."""
    return "on", host


def _looked_at(task: "asyncio.Task[None]") -> None:
    """The exception was raised to all who waited; there may be none left."""
    if not task.cancelled():
        task.exception()
