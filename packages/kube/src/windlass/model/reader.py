"""Looking at the in-memory API server the way `observe` looks at caches: always fresh, or lagging on purpose.

`MemoryReader` has the reading contract of `windlass.kube.control.reader.CacheReader` (`see`, `indexed`, and the
executor's `Ledger`). `LaggingReader` is a cache that lags: kinds are frozen and released, own writes show through the
ice, and a confirmed absence is looked up live.

    reader = LaggingReader(api)
    reader.freeze(OpenStackMachine)          # from here on its changes are not seen
    ...
    reader.release(OpenStackMachine)
"""

from collections.abc import Callable, Iterable
from typing import Any

from windlass.api.meta import K, KubernetesObject, ObjectMeta, Resource
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.permissions import Declared, not_indexed, not_watched, require
from windlass.kube.control.plan import Target
from windlass.kube.control.population import Population
from windlass.kube.control.seen import Absent, NotServedKind, Seen, Unreadable, seen
from windlass.kube.errors import DecodeError, NotFound, NotServed, Status
from windlass.kube.object import Object
from windlass.model import MemoryApi
from windlass.model.selectors import Matches, label_selector

Index = Callable[[Object[Any]], Iterable[str]]


class MemoryReader:
    """A cache without lag over `api`."""

    def __init__(self, api: MemoryApi) -> None:
        self.api = api
        self._indexes: dict[tuple[Resource, str], Index] = {}
        self._controller: Controller[Any, Any] | None = None
        self._watches: list[tuple[Watch[Any], Matches]] = []

    def only(self, controller: Controller[Any, Any]) -> None:
        """Read for this controller from now on, by the indexes of its watches, and refuse what it does not declare.

        It may look at what it watches; a look that may have to ask the server needs the right to `get` as well.
        """
        self._controller = controller
        self._watches = [(watch, label_selector(watch.label_selector)) for watch in controller.watches]

    async def see(
        self, kind: type[K], name: str, *, namespace: str | None = None, confirm: bool = False, live: bool = False
    ) -> Seen[K]:
        """The object of this name, or its absence. An absence is confirmed by a GET if asked for, so faults of gets
        show."""
        self._require_declared(kind, name, namespace, asks=confirm or live)
        if kind.RESOURCE not in {served.RESOURCE for served in self.api.kinds}:
            return NotServedKind(f"{kind.RESOURCE} is not served")
        try:
            found = self.cached(kind, name, namespace=namespace)
            if not live and (found is not None or not confirm):
                return seen(found)
            answer = await self.api.get(kind, name, namespace=namespace)
            self.wrote(answer)  # what the server says is remembered like an own write, as `Cache.ask` does
            return seen(answer, confirmed=True)
        except NotServed as error:
            return NotServedKind(f"{kind.RESOURCE} is not served: {error}")
        except NotFound:
            self.removed(Target(kind, name, namespace))
            return Absent(confirmed=True)
        except DecodeError as error:
            return Unreadable(ObjectMeta(name=name, namespace=namespace or ""), str(error))

    async def listed(
        self, kind: type[K], *, label_selector: str = "", field_selector: str = "", namespace: str | None = None
    ) -> list[Seen[K]]:
        """What the server selects; the cache has no part in it."""
        if self._controller is not None:
            require(Declared(self._controller.declared), kind, "list", namespace=namespace)
        found = await self.api.list(
            kind, namespace=namespace, label_selector=label_selector, field_selector=field_selector
        )
        return [seen(each) for each in found.items]

    async def see_all(
        self, kind: type[K], *, namespace: str | None = None, metadata_only: bool = False
    ) -> Population[K] | NotServedKind:
        """All objects of a kind that are watched, as the cache holds them; `metadata_only` shows their content too."""
        selects = self._selecting(kind, lambda watch: watch.metadata_only == metadata_only)
        if selects is None and self._controller is not None:
            raise not_watched(self._controller.name, kind, metadata_only=metadata_only)
        if kind.RESOURCE not in {served.RESOURCE for served in self.api.kinds}:
            return NotServedKind(f"{kind.RESOURCE} is not served")
        found = self.listing(kind, namespace)
        return Population(found if selects is None else filter(selects, found))

    def cached(self, kind: type[K], name: str, *, namespace: str | None = None) -> Object[K] | None:
        """What the cache holds."""
        return self.api.peek(kind, name, namespace=namespace)

    def listing(self, kind: type[K], namespace: str | None = None) -> list[Object[K]]:
        """All objects of a kind that the cache holds, by namespace and name."""
        return self.api.listing(kind, namespace)

    def add_index(self, kind: type[KubernetesObject], name: str, values: Index) -> None:
        """Make objects findable by what `values` gives for them."""
        self._indexes[kind.RESOURCE, name] = values

    def indexed(self, kind: type[K], index: str, value: str) -> list[Object[K]]:
        """The objects for which `index` gives `value`. NotServed without the kind.

        Without that index, it raises Undeclared; without a controller, KeyError.
        """
        if kind.RESOURCE not in {served.RESOURCE for served in self.api.kinds}:
            raise NotServed(Status("Failure", f"{kind.RESOURCE} is not served", "NotFound", 404))
        return self.known(kind, index, value)

    def known(self, kind: type[K], index: str, value: str) -> list[Object[K]]:
        """The same; none of a kind that is not served: what is not served is not there in the model."""
        if self._controller is None:
            values = self._indexes[kind.RESOURCE, index]
            return [found for found in self.listing(kind) if value in values(found)]
        selects = self._selecting(
            kind, lambda watch: index in watch.indexes, lambda watch, found: value in watch.indexes[index](found)
        )
        if selects is None:
            raise not_indexed(self._controller.name, kind, index)
        return [found for found in self.listing(kind) if selects(found)]

    def _selecting(
        self,
        kind: type[KubernetesObject],
        chosen: Callable[[Watch[Any]], bool],
        also: Callable[[Watch[Any], Object[Any]], bool] = lambda watch, found: True,
    ) -> Callable[[Object[Any]], bool] | None:
        """Whether one of the chosen watches of the kind selects an object; None: there is no such watch."""
        watches = [(watch, matches) for watch, matches in self._watches if watch.kind is kind and chosen(watch)]
        if not watches:
            return None
        return lambda found: any(
            watch.namespace in (None, found.namespace) and matches(found.metadata.labels) and also(watch, found)
            for watch, matches in watches
        )

    def _require_declared(self, kind: type[K], name: str, namespace: str | None, *, asks: bool) -> None:
        if self._controller is None:
            return
        held = any(
            watch.kind is kind
            and watch.namespace in (None, namespace)
            and not (watch.metadata_only or watch.label_selector)
            for watch in self._controller.watches
        )
        if asks or not held:
            require(Declared(self._controller.declared), kind, "get", namespace=namespace, name=name)

    def wrote(self, written: Object[Any]) -> None:
        """Nothing to do: the store has it."""

    def removed(self, target: Target) -> None:
        """Nothing to do."""

    def doubt(self, target: Target) -> None:
        """Nothing to do: every look is fresh."""


class LaggingReader(MemoryReader):
    """A cache whose view of chosen kinds stands still until it is released."""

    def __init__(self, api: MemoryApi) -> None:
        super().__init__(api)
        self._frozen: dict[Resource, dict[tuple[str, str], Object[Any]]] = {}

    def freeze(self, *kinds: type[KubernetesObject]) -> None:
        """See these kinds as they are now, until `release`. A kind that is frozen already stays as it was."""
        for kind in kinds:
            held = {(found.namespace or "", found.name): found for found in self.api.listing(kind)}
            self._frozen.setdefault(kind.RESOURCE, held)

    def release(self, *kinds: type[KubernetesObject]) -> None:
        """See these kinds (all, if none is named) as they are."""
        for resource in [kind.RESOURCE for kind in kinds] or list(self._frozen):
            self._frozen.pop(resource, None)

    def cached(self, kind: type[K], name: str, *, namespace: str | None = None) -> Object[K] | None:
        held = self._frozen.get(kind.RESOURCE)
        if held is None:
            return super().cached(kind, name, namespace=namespace)
        return held.get((namespace or "", name))

    def listing(self, kind: type[K], namespace: str | None = None) -> list[Object[K]]:
        held = self._frozen.get(kind.RESOURCE)
        if held is None:
            return super().listing(kind, namespace)
        return [found for key, found in sorted(held.items()) if namespace in (None, key[0])]

    def wrote(self, written: Object[Any]) -> None:
        held = self._frozen.get(written.kind.RESOURCE)
        if held is not None:
            held[written.namespace or "", written.name] = written

    def removed(self, target: Target) -> None:
        self._frozen.get(target.kind.RESOURCE, {}).pop((target.namespace or "", target.name), None)

    def doubt(self, target: Target) -> None:
        """Look at this object live, once: what is there now is seen from here on."""
        live = self.api.peek(target.kind, target.name, namespace=target.namespace)
        if live is not None:
            self.wrote(live)
        else:
            self.removed(target)
