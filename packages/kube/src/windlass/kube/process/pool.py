"""Shares caches among controllers: one per (kind, namespace, selector), which ends when its last user releases it.

    pool = CachePool(client)
    watch = Watch(Machine, lambda machine: [machine.name], namespace="openshift-machine-api")
    cache = pool.acquire(watch)
    await cache.wait_settled()
    ...
    await pool.release(watch)       # the last one to release it ends it

An index exists while a watch declares it. Watches that use one name for different functions get an index each.

`pool.ledger` passes our own writes to all caches. `pool.report()` gives probes the reason why a cache is unreliable.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeAlias

from msgspec import Struct

from windlass.api.meta import KubernetesObject, Resource
from windlass.kube.cache import INACTIVITY, Cache, Followable, Health
from windlass.kube.clock import Clock
from windlass.kube.control.controller import Index, Watch
from windlass.kube.control.reader import CacheReader
from windlass.kube.logger import Logger
from windlass.kube.process.tasks import end
from windlass.kube.verbs import Api

CacheKey: TypeAlias = tuple[type[KubernetesObject], str | None, str, bool]


class ClusterClient(Followable, Api, Protocol):
    """A client that can follow kinds (for the caches) and knows the verbs (for the reader and the executors)."""

    @property
    def metadata(self) -> Followable:
        """Follows the same kinds without their content."""
        ...


class _Shared(Struct):
    cache: Cache[Any]
    task: asyncio.Task[Any]
    users: int
    needed: int
    indexes: Counter[tuple[str, Index]]


class Figures(Struct, frozen=True):
    """The metrics of one cache."""

    kind: str
    namespace: str
    synced: bool
    objects: int
    age: float | None


def _key(watch: Watch[Any]) -> CacheKey:
    return watch.kind, watch.namespace, watch.label_selector, watch.metadata_only


class CachePool:
    """Caches over `client`.

    `inactivity`: seconds of silence after which a watch is dead. `on_crash` is called when a cache ends by itself,
    which is a bug.
    """

    def __init__(
        self,
        client: ClusterClient,
        *,
        inactivity: float = INACTIVITY,
        clock: Clock | None = None,
        on_crash: Callable[[BaseException], None] | None = None,
    ) -> None:
        self.ledger = CacheReader(client)
        self._client = client
        self._inactivity = inactivity
        self._clock = clock
        self._on_crash = on_crash
        self._shared: dict[CacheKey, _Shared] = {}
        self._log = Logger(__name__)

    def acquire(self, watch: Watch[Any]) -> Cache[Any]:
        """The cache for `watch`, started if it does not run yet. Release it once for each time it was acquired."""
        shared = self._shared.get(_key(watch))
        if shared is None:
            shared = self._shared[_key(watch)] = self._start(watch)
        for name, index in watch.indexes.items():
            if not shared.indexes[name, index]:
                shared.cache.add_index((name, index), index)
            shared.indexes[name, index] += 1
        shared.users += 1
        shared.needed += not watch.optional
        return shared.cache

    async def release(self, watch: Watch[Any]) -> None:
        """Release what `acquire(watch)` gave; the last release ends the cache."""
        shared = self._shared.get(_key(watch))
        if shared is None:
            raise ValueError(f"this pool has no cache of {watch}: it was released too often")
        shared.users -= 1
        shared.needed -= not watch.optional
        for name, index in watch.indexes.items():
            shared.indexes[name, index] -= 1
            if not shared.indexes[name, index]:
                shared.cache.remove_index((name, index))
                del shared.indexes[name, index]
        if not shared.users:
            del self._shared[_key(watch)]
            self.ledger.remove(shared.cache)
            await end(shared.task)

    async def close(self) -> None:
        """End all caches."""
        ending = list(self._shared.values())
        self._shared.clear()
        for shared in ending:
            self.ledger.remove(shared.cache)
        await end(*(shared.task for shared in ending))

    def report(self) -> dict[str, str]:
        """The name of each cache, and why it is unreliable now (empty: it is reliable)."""
        troubles: dict[str, list[str]] = {}
        for name, shared in self._named():
            if shared.needed or not shared.cache.forbidden:
                troubles.setdefault(f"cache/{name}", []).append(shared.cache.health.trouble)
        return {name: "; ".join(filter(None, each)) for name, each in troubles.items()}

    def interrupted(self) -> list[str]:
        """The caches that are not followed at this moment, each with the reason; unlike `report` without patience."""
        if not self._shared:
            return ["nothing is followed yet"]
        found = []
        for name, shared in self._named():
            health = shared.cache.health
            if health.served and not (shared.cache.forbidden and not shared.needed):
                why = health.pulse.failing or ("" if health.synced else "not listed yet")
                found += [f"{name}: {why}"] if why else []
        return found

    def unserved(self) -> set[Resource]:
        """The kinds that the API server has said not to serve, until they are listed again."""
        return {shared.cache.kind.RESOURCE for shared in self._shared.values() if not shared.cache.served}

    def figures(self) -> Iterator[Figures]:
        """For `Metrics.caches`. Several caches of a kind in a namespace are reported as one, by the worst of them."""
        together: dict[tuple[str, str], list[Health]] = {}
        for shared in self._shared.values():
            place = shared.cache.kind.RESOURCE.name, shared.cache.namespace or ""
            together.setdefault(place, []).append(shared.cache.health)
        for (kind, namespace), healths in together.items():
            yield Figures(
                kind=kind,
                namespace=namespace,
                synced=all(health.synced for health in healths),
                objects=sum(health.objects for health in healths),
                age=max((health.pulse.silent_seconds for health in healths if health.served), default=None),
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
            self.ledger.add(cache)
        task = asyncio.create_task(cache.run(), name=f"cache {watch}")
        task.add_done_callback(self._ended)
        return _Shared(cache, task, 0, 0, Counter())

    def _ended(self, task: asyncio.Task[Any]) -> None:
        if task.cancelled():
            return
        error = task.exception() or RuntimeError("it returned")
        self._log.error("a cache ended by itself", cache=task.get_name(), exc_info=error)
        if self._on_crash:
            self._on_crash(error)
