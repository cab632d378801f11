"""How `observe` looks at objects: from the caches where there are caches, from the server where there are none.

Caches of different kinds lag each other, so "not in the cache" and "not there" are two things. A decision that relies
on an absence asks for it to be confirmed, which costs one live GET, and one that relies on a presence as well looks
live; everything else costs nothing:

    reader = CacheReader(client, [machines, infrastructures])
    machine = await reader.see(Machine, "worker-1", namespace="openshift-machine-api")
    mirror = await reader.see(MapiMachine, "worker-1", namespace="openshift-machine-api", confirm=True)
    match mirror:
        case Absent(confirmed=True): ...        # the API server itself said so, just now

| the kind | `see` reads | an absence is confirmed |
|---|---|---|
| has a cache, synced | the cache; the server with `live`, or after a write of unknown outcome | if asked for |
| has a cache, not synced yet | the server | always |
| has no cache (Secrets) | the server | always |
| is not served, since its cache was told so until it has listed it again | nothing: `NotServedKind` | |

The reader is also the executor's `Ledger`: what became of our writes reaches every cache that may show the object.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from windlass.api.meta import K, KubernetesObject, ObjectMeta
from windlass.kube.cache import Cache
from windlass.kube.errors import DecodeError, NotFound, NotServed
from windlass.kube.object import Object
from windlass.kube.permissions import Permits, require
from windlass.kube.plan import Target
from windlass.kube.seen import Absent, NotServedKind, Seen, Unreadable, seen
from windlass.kube.verbs import Api


class CacheReader:
    """Reads through `caches`, and through `api` what they do not hold. Caches may come and go.

    `permits`: what the server may be asked for; None for everything.
    """

    def __init__(self, api: Api, caches: Iterable[Cache[Any]] = (), *, permits: Permits | None = None) -> None:
        self._api = api
        self._permits = permits
        self._caches: dict[type[KubernetesObject], list[Cache[Any]]] = {}
        for cache in caches:
            self.add(cache)

    def add(self, cache: Cache[Any]) -> None:
        """Read through `cache` from now on. Of several that may hold an object, the one added first is read."""
        self._caches.setdefault(cache.kind, []).append(cache)

    def remove(self, cache: Cache[Any]) -> None:
        """Stop reading through `cache`."""
        caches = self._caches.get(cache.kind, [])
        if cache in caches:
            caches.remove(cache)

    async def see(
        self, kind: type[K], name: str, *, namespace: str | None = None, confirm: bool = False, live: bool = False
    ) -> Seen[K]:
        """What there is under this name.

        Raises KubeErrors when the server had to be asked and did not answer, and Undeclared when it may not be asked.
        """
        cache = self._cache(kind, namespace)
        if cache is not None and not cache.served:
            return NotServedKind(f"{kind.RESOURCE} is not served: {cache.unserved}")
        readable = cache is not None and cache.synced.is_set() and not cache.doubted(name, namespace=namespace)
        if cache is not None and readable and not live:
            found = cache.get(name, namespace=namespace)
            if found is not None or not confirm:
                return seen(found)
        require(self._permits, kind, "get", namespace=namespace, name=name)
        try:
            if cache is None:
                return seen(await self._api.get(kind, name, namespace=namespace))
            return seen(await cache.ask(name, namespace=namespace), confirmed=True)
        except NotServed as error:
            return NotServedKind(f"{kind.RESOURCE} is not served: {error}")
        except NotFound:
            return Absent(confirmed=True)
        except DecodeError as error:
            return Unreadable(ObjectMeta(name=name, namespace=namespace or ""), str(error))

    def cached(self, kind: type[K]) -> Iterator[Object[K]]:
        """Every cached object of the kind; none if there is no cache of it."""
        for cache in self._caches.get(kind, []):
            yield from cache.items()

    def indexed(self, kind: type[K], index: str, value: str) -> list[Object[K]]:
        """The objects for which `index` gives `value`, of all caches of the kind. KeyError without cache or index."""
        caches = self._caches.get(kind)
        if not caches:
            raise KeyError(f"no cache of {kind.RESOURCE} to look up {index!r} in")
        found = {item.key: item for cache in caches for item in cache.indexed(index, value)}
        return list(found.values())

    # the executor's ledger

    def wrote(self, written: Object[Any]) -> None:
        for cache in self._caches.get(written.kind, ()):
            cache.wrote(written)

    def removed(self, target: Target) -> None:
        for cache in self._caches.get(target.kind, ()):
            cache.removed(
                name=target.name,
                namespace=target.namespace,
                uid=target.uid,
                resource_version=target.resource_version,
            )

    def doubt(self, target: Target) -> None:
        for cache in self._caches.get(target.kind, ()):
            cache.doubt(target.name, target.namespace)

    def _cache(self, kind: type[K], namespace: str | None) -> Cache[K] | None:
        caches = self._caches.get(kind, ())
        return next((cache for cache in caches if cache.namespace is None or cache.namespace == namespace), None)
