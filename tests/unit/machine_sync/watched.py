"""The in-memory API server with watches, so that caches can stand on it."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from windlass.api.meta import K
from windlass.kube.client.reading import Page
from windlass.kube.client.watch import INITIAL_EVENTS_END, Event, EventType
from windlass.kube.object import Object
from windlass.model import MemoryApi
from windlass.model import refusals as refuse
from windlass.model.changes import StoredWrite


class WatchedApi(MemoryApi):
    """`windlass.kube.process.pool.ClusterClient` without a network. Selectors are not looked at."""

    @property
    def metadata(self) -> "WatchedApi":
        return self

    async def list_pages(
        self, kind: type[K], *, namespace: str | None = None, **_: Any
    ) -> AsyncGenerator[Page[K], None]:
        self._require_served(kind)
        yield Page(self.listing(kind, namespace), str(self.version), True)

    async def watch(
        self,
        kind: type[K],
        *,
        namespace: str | None = None,
        resource_version: str = "",
        send_initial_events: bool = False,
        **_: Any,
    ) -> AsyncGenerator[Event[K], None]:
        self._require_served(kind)
        told: asyncio.Queue[StoredWrite] = asyncio.Queue()
        end = self.subscribe(told.put_nowait)
        try:
            if send_initial_events:
                for found in self.listing(kind, namespace):
                    yield Event(EventType.ADDED, found)
                yield self._bookmark(kind)
            else:
                for change in self.changes_since(int(resource_version)):
                    told.put_nowait(change)
            while True:
                change = await told.get()
                found = Object.of(kind, change.tree)
                if change.kind.RESOURCE == kind.RESOURCE and namespace in (None, found.namespace):
                    yield Event(EventType(change.happened), found)
        finally:
            end()

    def _require_served(self, kind: type[K]) -> None:
        if kind.RESOURCE not in {served.RESOURCE for served in self.kinds}:
            raise refuse.not_served()

    def _bookmark(self, kind: type[K]) -> Event[K]:
        metadata = {"resourceVersion": str(self.version), "annotations": {INITIAL_EVENTS_END: "true"}}
        return Event(EventType.BOOKMARK, Object.of(kind, {"metadata": metadata}))
