"""Reads objects for `observe`: from the caches where there are caches, otherwise from the server.

Each controller has its own reader, over the caches and indexes that its watches declare. It does not use caches of the
same kinds that other controllers declare with other selectors.

    manager.start(lambda reader: widget_controller(reader, namespace="shop"))

Caches of different kinds lag each other, so an object that is not in the cache may exist. A decision that relies on an
absence must confirm it, which costs one live GET. A decision that also relies on a presence must read live. All other
reads cost nothing:

    machine = await reader.see(Machine, "worker-1", namespace="openshift-machine-api")
    mirror = await reader.see(MapiMachine, "worker-1", namespace="openshift-machine-api", confirm=True)
    match mirror:
        case Absent(confirmed=True): ...        # the API server itself said so, just now

| the kind | `see` reads | an absence is confirmed |
|---|---|---|
| has a cache, synced | the cache; the server with `live`, or when a write left the cache in doubt | if asked for |
| has only a cache with a selector | the same; the server for what is not in the selection | always |
| has a cache, not synced yet | the server | always |
| has no cache (Secrets) | the server | always |
| is not served now, as far as its cache knows | nothing: `NotServedKind` | |

Caches are shared, so a cache may be in doubt because of another controller's write. A controller that may not get the
object does not write it (`Controller` refuses that), so it goes on with the cache: the watch will bring the change.

A decision about all objects reads a whole kind at once (`see_all`).

Without a manager, pass the caches yourself: `CacheReader(client, [machines, infrastructures])`. A reader is also a
`Ledger` for the executor: it passes the results of our writes to each of its caches that may show the object.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from windlass.api.meta import K, KubernetesObject
from windlass.kube.cache import Cache
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.permissions import Declared, Permits, not_indexed, not_watched, require
from windlass.kube.control.plan import Target
from windlass.kube.control.population import Population
from windlass.kube.control.seen import ForbiddenKind, NotServedKind, Seen, answered, seen
from windlass.kube.errors import NotServed, Status
from windlass.kube.object import Object
from windlass.kube.verbs import Api


class _Part(Struct):
    """A cache, and the names under which its indexes are known here (None: their own)."""

    cache: Cache[Any]
    indexes: Mapping[str, Hashable] | None = None
    metadata_only: bool = False
    optional: bool = False


class CacheReader:
    """Reads through `caches`, and through `api` what they do not hold. Caches may be added and removed.

    `permits`: the requests that are allowed; None for all.
    """

    def __init__(self, api: Api, caches: Iterable[Cache[Any]] = (), *, permits: Permits | None = None) -> None:
        self._api = api
        self._permits = permits
        self._controller = ""
        self._parts: dict[type[KubernetesObject], list[_Part]] = {}
        for cache in caches:
            self.add(cache)

    def only(self, controller: Controller[Any, Any]) -> None:
        """Read for `controller` from now on: requests that it does not declare are refused."""
        self._controller = controller.name
        self._permits = Declared(controller.declared)

    def add(self, cache: Cache[Any], watch: Watch[Any] | None = None) -> None:
        """Read through `cache` from now on, by the indexes that `watch` declares (without one: by all it has).

        Of several caches that may hold an object, one without selectors is read, else the one added first.
        """
        part = _Part(cache)
        if watch is not None:
            part = _Part(
                cache,
                {name: (name, index) for name, index in watch.indexes.items()},
                watch.metadata_only,
                watch.optional,
            )
        parts = self._parts.setdefault(cache.kind, [])
        parts.append(part)
        parts.sort(key=lambda part: part.cache.selected)

    def remove(self, cache: Cache[Any]) -> None:
        """Stop reading through `cache`."""
        parts = self._parts.get(cache.kind, [])
        parts[:] = [part for part in parts if part.cache is not cache]

    async def see(
        self, kind: type[K], name: str, *, namespace: str | None = None, confirm: bool = False, live: bool = False
    ) -> Seen[K]:
        """The object of this name, or why there is none.

        Raises KubeErrors when a live read was needed and failed, and Undeclared when it is not permitted.
        """
        cache = self._cache(kind, namespace)
        if cache is not None and not cache.served:
            return NotServedKind(f"{kind.RESOURCE} is not served: {cache.unserved}")
        readable = cache is not None and cache.synced.is_set() and not self._must_ask(cache, name, namespace)
        if cache is not None and readable and not live:
            found = cache.get(name, namespace=namespace)
            if found is not None or not (confirm or cache.selected):
                return seen(found)
        require(self._permits, kind, "get", namespace=namespace, name=name)
        if cache is None:
            return await answered(self._api.get(kind, name, namespace=namespace), kind, name, namespace=namespace)
        return await answered(cache.ask(name, namespace=namespace), kind, name, namespace=namespace)

    async def listed(
        self, kind: type[K], *, label_selector: str = "", field_selector: str = "", namespace: str | None = None
    ) -> list[Seen[K]]:
        """The objects that the API server selects now, such as the Pods of a Node, which nobody should cache.

        Raises KubeErrors, and Undeclared if listing is not permitted.
        """
        require(self._permits, kind, "list", namespace=namespace)
        found = await self._api.list(
            kind, namespace=namespace, label_selector=label_selector, field_selector=field_selector
        )
        return [seen(each) for each in found.items]

    async def see_all(
        self, kind: type[K], *, namespace: str | None = None, metadata_only: bool = False
    ) -> Population[K] | NotServedKind | ForbiddenKind:
        """All objects of a kind that is watched, or those in `namespace`, as they are at one moment.

        `metadata_only`: of a kind whose watch says so; the objects have only their metadata.

        Waits until the caches of the kind are filled, and reads each object live that a write of unknown outcome
        concerns, if that is permitted. Otherwise it does not yield to the event loop, so populations of several kinds
        that are taken one after the other show one moment too. For a kind that is watched with a selector, it returns
        the selected objects, and for one that is watched as optional and may not be listed, why. Raises Undeclared if
        the kind is not watched, and KubeErrors if the server did not answer.
        """
        parts = self._parts.get(kind, []) if metadata_only else self._whole(kind)
        parts = [part for part in parts if part.metadata_only == metadata_only]
        if not parts:
            raise not_watched(self._controller, kind, metadata_only=metadata_only)
        caches: list[Cache[K]] = [part.cache for part in parts]
        for part, cache in zip(parts, caches, strict=True):
            if part.optional:
                await cache.answered.wait()
                if cache.forbidden:
                    return ForbiddenKind(cache.forbidden)
            if not cache.settled.is_set():
                await cache.wait_settled()
            if not cache.served:
                return NotServedKind(f"{kind.RESOURCE} is not served: {cache.unserved}")
            for place, name in cache.doubts:
                if self._must_ask(cache, name, place):
                    await cache.ask(name, namespace=place)
        found = {item.key: item for cache in caches for item in cache.items(namespace)}
        return Population(found.values())

    def cached(self, kind: type[K]) -> Iterator[Object[K]]:
        """Every cached object of the kind, once; none if there is no cache of it."""
        yield from {item.key: item for part in self._whole(kind) for item in part.cache.items()}.values()

    def indexed(self, kind: type[K], index: str, value: str) -> list[Object[K]]:
        """The objects for which `index` gives `value`, for decisions. Undeclared if no watch of the kind has the index.

        Raises NotServed while the kind is not served: its objects are unknown then.
        """
        for part in self._parts.get(kind, ()):
            if not part.cache.served:
                text = f"{kind.RESOURCE} is not served: {part.cache.unserved}"
                raise NotServed(Status("Failure", text, "NotFound", 404))
        return self.known(kind, index, value)

    def known(self, kind: type[K], index: str, value: str) -> list[Object[K]]:
        """The same, for waking keys: while the kind is not served, it returns the last known objects."""
        found: dict[Any, Object[K]] = {}
        declared = False
        for part in self._parts.get(kind, ()):
            name: Hashable = index if part.indexes is None else part.indexes.get(index)
            if name is not None:
                declared = True
                found |= {item.key: item for item in part.cache.indexed(name, value)}
        if not declared:
            raise not_indexed(self._controller, kind, index)
        return list(found.values())

    # the executor's ledger

    def wrote(self, written: Object[Any]) -> None:
        for part in self._whole(written.kind):
            part.cache.wrote(written)

    def removed(self, target: Target) -> None:
        for part in self._parts.get(target.kind, ()):
            part.cache.removed(
                name=target.name,
                namespace=target.namespace,
                uid=target.uid,
                resource_version=target.resource_version,
            )

    def doubt(self, target: Target) -> None:
        for part in self._whole(target.kind):
            part.cache.doubt(target.name, target.namespace)

    def _must_ask(self, cache: Cache[Any], name: str, namespace: str | None) -> bool:
        """A write left the cache in doubt about the object, perhaps one by this controller."""
        if not cache.doubted(name, namespace=namespace):
            return False
        return self._permits is None or self._permits(cache.kind, "get", namespace=namespace, name=name)

    def _whole(self, kind: type[KubernetesObject]) -> list[_Part]:
        return [part for part in self._parts.get(kind, ()) if not part.metadata_only]

    def _cache(self, kind: type[K], namespace: str | None) -> Cache[K] | None:
        caches = (part.cache for part in self._whole(kind))
        return next((cache for cache in caches if cache.namespace is None or cache.namespace == namespace), None)
