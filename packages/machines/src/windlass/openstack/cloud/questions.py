"""Questions to a project: each is asked once for all who want the answer at that moment, and kept as `lookups` says."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

from msgspec import Struct

from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.lookups import SOURCES, listed, matching, pages, request
from windlass.openstack.cloud.query import Answers, Query
from windlass.openstack.cloud.resources import Resource
from windlass.openstack.cloud.wire import Answer

ASKED_JUST_NOW: Final = 10.0
"""Seconds: a list that is older is asked for again if something is not in it."""


class _Kept(Struct):
    """An answer to a query, of the time `at`, until `until`."""

    at: float
    until: float
    found: tuple[Any, ...]


class Questions:
    """See the module. `ask` sends a request; `clock` is monotonic, in seconds."""

    def __init__(self, ask: Callable[..., Awaitable[Answer]], *, project_id: str, clock: Callable[[], float]) -> None:
        self._ask = ask
        self._project_id = project_id
        self._clock = clock
        self._kept: dict[Query, _Kept] = {}
        self._asking: dict[Query, asyncio.Task[tuple[Any, ...]]] = {}

    async def find(self, queries: Iterable[Query]) -> Answers:
        """The answer to each query, asked at the same time; `lookups` says for how long it is kept."""
        asked = tuple(queries)
        found = await self._lists(map(listed, asked))
        answers = {each: _matching(each, found[listed(each)]) for each in asked}
        outdated = [each for each in asked if not answers[each] and self._is_old(listed(each))]
        if outdated:  # it may have been made since
            for each in outdated:
                self._kept.pop(listed(each), None)
            found = await self._lists(map(listed, outdated))
            answers |= {each: _matching(each, found[listed(each)]) for each in outdated}
        return answers

    async def _lists(self, queries: Iterable[Query]) -> dict[Query, tuple[Any, ...] | CloudFailure]:
        lists = tuple(dict.fromkeys(queries))
        return dict(zip(lists, await asyncio.gather(*(self._list(each) for each in lists)), strict=True))

    def _is_old(self, query: Query) -> bool:
        kept = self._kept.get(query)
        return kept is not None and self._clock() - kept.at > ASKED_JUST_NOW

    async def _list(self, query: Query) -> tuple[Any, ...] | CloudFailure:
        kept = self._kept.get(query)
        if kept is not None and kept.until > self._clock():
            return kept.found
        task = self._asking.get(query)
        if task is None:
            task = self._asking[query] = asyncio.create_task(self.read(query))
            task.add_done_callback(lambda _: self._asking.pop(query, None))
        try:
            return await asyncio.shield(task)
        except CloudFailure as failure:
            return failure

    async def read(self, query: Query) -> tuple[Any, ...]:
        """All that is listed for it, asked now. Raises CloudFailure."""
        source, began = SOURCES[query.kind], self._clock()
        first = request(query, project=self._project_id)
        found = await pages(first, source.key, source.type, lambda page: self._ask(page, agent="lookup"))
        if source.kept and found:
            self._kept = {each: kept for each, kept in self._kept.items() if kept.until > self._clock()}
            self._kept[query] = _Kept(began, began + source.kept, found)
        return found


def _matching(query: Query, found: tuple[Any, ...] | CloudFailure) -> tuple[Resource, ...] | CloudFailure:
    return found if isinstance(found, CloudFailure) else matching(query, found)
