"""Those who watch: Windlass's own caches of what the story is about, and word when anything changes."""

import asyncio
from collections.abc import Mapping
from typing import Any

from windlass.api import capi, capo, mapi
from windlass.api.meta import K, KubernetesObject
from windlass.kube.cache import Cache
from windlass.kube.client import Client
from windlass.kube.control.seen import Present, seen
from windlass.machine_sync.constants import CLUSTER_API_NAMESPACE, MACHINE_API_NAMESPACE
from windlass.testing.simulators.instances import SELECTOR, Instance, InstanceRecord, instance_of

_WATCHED: Mapping[type[KubernetesObject], str] = {
    capi.Cluster: CLUSTER_API_NAMESPACE,
    capi.Machine: CLUSTER_API_NAMESPACE,
    capi.MachineSet: CLUSTER_API_NAMESPACE,
    capo.OpenStackMachine: CLUSTER_API_NAMESPACE,
    mapi.Machine: MACHINE_API_NAMESPACE,
    mapi.MachineSet: MACHINE_API_NAMESPACE,
    InstanceRecord: CLUSTER_API_NAMESPACE,
}


class Audience:
    """Watches from when it is made until `leave`. `changed` is set at every change."""

    def __init__(self, client: Client) -> None:
        self.changed = asyncio.Event()
        self._caches: dict[type[KubernetesObject], Cache[Any]] = {}
        for kind, namespace in _WATCHED.items():
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

    def instances(self) -> tuple[Instance, ...]:
        """What the simulated cloud has made."""
        records = self.see(InstanceRecord).values()
        return tuple(instance_of(record.object) for record in records if SELECTOR in record.metadata.labels)

    async def leave(self) -> None:
        """Stop watching."""
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)
