"""Caches shared by controllers that come and go: one per (kind, namespace, selector), alive while somebody needs it.

    pool = CachePool(client)
    cache = pool.acquire(Watch(Machine, lambda machine: [machine.name], namespace="openshift-machine-api"))
    await cache.wait_settled()
    ...
    await pool.release(cache)       # the last one to release it ends it

`pool.reader` reads through all of them and tells all of them what we wrote. `pool.report()` says for each cache why
nobody should rely on it, if so, for probes.
"""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeAlias

import structlog
from msgspec import Struct

from windlass.api.meta import KubernetesObject
from windlass.kube.cache import INACTIVITY, Cache, Followable
from windlass.kube.clock import Clock
from windlass.kube.controller import Index, Watch
from windlass.kube.permissions import Permits
from windlass.kube.reader import CacheReader
from windlass.kube.tasks import end
from windlass.kube.verbs import Api

CacheKey: TypeAlias = tuple[type[KubernetesObject], str | None, str, bool]


class Cluster(Followable, Api, Protocol):
    """A client that can follow kinds (for the caches) and knows the verbs (for the reader and the executors)."""

    @property
    def metadata(self) -> Followable:
        """Follows the same kinds without their content."""
        ...


class _Shared(Struct):
    cache: Cache[Any]
    task: asyncio.Task[Any]
    users: int
    indexes: dict[str, Index]


class Figures(Struct, frozen=True):
    """What metrics show of one cache."""

    kind: str
    namespace: str
    synced: bool
    objects: int
    age: float | None


class CachePool:
    """Caches over `client`.

    `inactivity`: seconds of silence after which a watch is dead. `on_crash` is told when a cache ends by itself, which
    is a bug. `permits`: what the reader may ask the server for.
    """

    def __init__(
        self,
        client: Cluster,
        *,
        inactivity: float = INACTIVITY,
        clock: Clock | None = None,
        on_crash: Callable[[BaseException], None] | None = None,
        permits: Permits | None = None,
    ) -> None:
        self.reader = CacheReader(client, permits=permits)
        self._client = client
        self._inactivity = inactivity
        self._clock = clock
        self._on_crash = on_crash
        self._shared: dict[CacheKey, _Shared] = {}
        self._log = structlog.stdlib.get_logger(__name__)

    def acquire(self, watch: Watch[Any]) -> Cache[Any]:
        """The cache that `watch` needs, started if nobody had it. Release it once for each time it was acquired.

        ValueError if it has an index of the same name that means something else.
        """
        key = (watch.kind, watch.namespace, watch.label_selector, watch.metadata_only)
        shared = self._shared.get(key)
        if shared is None:
            shared = self._shared[key] = self._start(watch)
        for name, index in watch.indexes.items():
            if name not in shared.indexes:
                shared.cache.add_index(name, index)
                shared.indexes[name] = index
            elif shared.indexes[name] is not index:
                raise ValueError(
                    f"two watches of {watch} declare the index {name!r} by different functions: "
                    "share one function or give them different names"
                )
        shared.users += 1
        return shared.cache

    async def release(self, cache: Cache[Any]) -> None:
        """The caller does not need `cache` any more."""
        for key, shared in self._shared.items():  # noqa: B007 - used after the loop
            if shared.cache is cache:
                break
        else:
            raise ValueError(f"this pool has no such cache of {cache.kind.RESOURCE}: it was released too often")
        shared.users -= 1
        if not shared.users:
            del self._shared[key]
            self.reader.remove(cache)
            await end(shared.task)

    async def close(self) -> None:
        """End all caches."""
        ending = list(self._shared.values())
        self._shared.clear()
        for shared in ending:
            self.reader.remove(shared.cache)
        await end(*(shared.task for shared in ending))

    def report(self) -> dict[str, str]:
        """Name of each cache, and why it cannot be relied on now (empty: it can)."""
        return {f"cache/{name}": shared.cache.health.trouble for name, shared in self._named()}

    def figures(self) -> Iterator[Figures]:
        """For `Metrics.caches`."""
        for shared in self._shared.values():
            health = shared.cache.health
            yield Figures(
                kind=shared.cache.kind.RESOURCE.name,
                namespace=shared.cache.namespace or "",
                synced=health.synced,
                objects=health.objects,
                age=health.pulse.silent_seconds if health.served else None,
            )

    def _named(self) -> Iterator[tuple[str, _Shared]]:
        for (kind, namespace, selector, metadata_only), shared in self._shared.items():
            place = f"@{namespace}" if namespace else ""
            part = "/metadata" if metadata_only else ""
            yield f"{kind.RESOURCE.name}{part}{place}{f'?{selector}' if selector else ''}", shared

    def _start(self, watch: Watch[Any]) -> _Shared:
        cache: Cache[Any] = Cache(
            self._client.metadata if watch.metadata_only else self._client,
            watch.kind,
            namespace=watch.namespace,
            label_selector=watch.label_selector,
            inactivity=self._inactivity,
            clock=self._clock,
        )
        if not watch.metadata_only:
            self.reader.add(cache)
        task = asyncio.create_task(cache.run(), name=f"cache {watch}")
        task.add_done_callback(self._ended)
        return _Shared(cache, task, 0, {})

    def _ended(self, task: asyncio.Task[Any]) -> None:
        if task.cancelled():
            return
        error = task.exception() or RuntimeError("it returned")
        self._log.error("a cache ended by itself", cache=task.get_name(), exc_info=error)
        if self._on_crash:
            self._on_crash(error)
