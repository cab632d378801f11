"""Watches the objects of a story: caches of its kinds, and an event that is set when anything changes."""

import asyncio
from collections.abc import Mapping
from typing import Any

from windlass.api.meta import K, KubernetesObject
from windlass.kube.cache import Cache
from windlass.kube.client import Client
from windlass.kube.control.seen import Present, seen


class Watches:
    """Watches the `kinds`, each in its namespace (None: cluster-scoped), until `end`.

    `changed` is set at every change.
    """

    def __init__(self, client: Client, kinds: Mapping[type[KubernetesObject], str | None]) -> None:
        self.changed = asyncio.Event()
        self._caches: dict[type[KubernetesObject], Cache[Any]] = {}
        for kind, namespace in kinds.items():
            cache = self._caches[kind] = Cache(client, kind, namespace=namespace)
            cache.subscribe(lambda _: self.changed.set())
        self._tasks = [
            asyncio.create_task(cache.run(), name=f"watch {cache.kind.RESOURCE}") for cache in self._caches.values()
        ]

    @property
    def unwatched(self) -> tuple[str, ...]:
        """The resources whose first list has not arrived."""
        return tuple(kind.RESOURCE.name for kind, cache in self._caches.items() if not cache.synced.is_set())

    def see(self, kind: type[K]) -> dict[str, Present[K]]:
        """The objects of a kind, by name."""
        found = {item.name: seen(item) for item in self._caches[kind].items()}
        return {name: item for name, item in found.items() if isinstance(item, Present)}

    async def end(self) -> None:
        """Stop watching."""
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)
