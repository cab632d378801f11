"""Lists a cluster once, as the reader for plans.

It replaces the caches of a running controller and needs fewer permissions: list of the watched kinds and get of the
objects that a decision must confirm, but not watch. It cannot write.

Lists of different kinds are read one after the other, as for caches. A change in between can lead to a plan that the
next observation would not make; a running controller would notice it the same way, by observing again.
"""

from collections.abc import Iterable
from typing import Any

from windlass.api.meta import K, KubernetesObject
from windlass.capability.planning.decider import Decider
from windlass.kube.control.controller import Index
from windlass.kube.control.population import Population
from windlass.kube.control.seen import ForbiddenKind, NotServedKind, Seen, answered, seen
from windlass.kube.errors import Forbidden, NotServed
from windlass.kube.object import NamespacedName, Object
from windlass.kube.together import together
from windlass.kube.verbs import Api


class ClusterListing:
    """The lists and objects that `api` returned. An `PlanReader`."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._listed: dict[tuple[type[KubernetesObject], str | None], dict[NamespacedName, Object[Any]]] = {}
        self._asked: dict[tuple[type[KubernetesObject], NamespacedName], Seen[Any]] = {}
        self._indexes: dict[tuple[type[KubernetesObject], str], Index] = {}
        self._found: dict[tuple[type[KubernetesObject], str], dict[str, list[Object[Any]]]] = {}
        self._not_served: dict[type[KubernetesObject], NotServed] = {}
        self._forbidden: dict[type[KubernetesObject], str] = {}

    @property
    def not_served(self) -> list[str]:
        """A sentence for each kind that the API server does not serve."""
        return [_not_served(kind, error) for kind, error in self._not_served.items()]

    async def take(self, deciders: Iterable[Decider]) -> None:
        """List all kinds that the controllers watch. Raises KubeErrors, but accepts a kind that is not served."""
        watches = [watch for decider in deciders for watch in decider.controller.watches]
        needed = {watch.kind for watch in watches if not watch.optional}
        wanted = {(watch.kind, watch.namespace) for watch in watches}
        await together(self._list(kind, namespace, optional=kind not in needed) for kind, namespace in wanted)

    async def see(
        self, kind: type[K], name: str, *, namespace: str | None = None, confirm: bool = False, live: bool = False
    ) -> Seen[K]:
        """The object of this name: from the list if that is enough, else by one GET that is kept."""
        if kind in self._not_served:
            return NotServedKind(_not_served(kind, self._not_served[kind]))
        listed = self._listed.get((kind, namespace), self._listed.get((kind, None)))
        key = (namespace, name)
        if listed is not None and not live and (key in listed or not confirm):
            return seen(listed.get(key))
        if (kind, key) not in self._asked:
            answer = self._api.get(kind, name, namespace=namespace)
            self._asked[kind, key] = await answered(answer, kind, name, namespace=namespace)
        return self._asked[kind, key]

    async def listed(
        self, kind: type[K], *, label_selector: str = "", field_selector: str = "", namespace: str | None = None
    ) -> list[Seen[K]]:
        """The objects that the server selects now."""
        found = await self._api.list(kind, label_selector=label_selector, field_selector=field_selector)
        return [seen(each) for each in found.items]

    async def see_all(
        self, kind: type[K], *, namespace: str | None = None, metadata_only: bool = False
    ) -> Population[K] | NotServedKind | ForbiddenKind:
        """All listed objects of a kind; `metadata_only` shows their content too."""
        if kind in self._not_served:
            return NotServedKind(_not_served(kind, self._not_served[kind]))
        if kind in self._forbidden:
            return ForbiddenKind(self._forbidden[kind])
        return Population(self.listing(kind, namespace))

    def listing(self, kind: type[K], namespace: str | None = None) -> list[Object[K]]:
        """The listed objects of a kind; none if it was not listed."""
        return [
            found
            for (listed, place), objects in self._listed.items()
            if listed is kind and (namespace is None or place in (None, namespace))
            for found in objects.values()
            if namespace in (None, found.namespace)
        ]

    def add_index(self, kind: type[KubernetesObject], name: str, values: Index) -> None:
        self._indexes[kind, name] = values

    def indexed(self, kind: type[K], index: str, value: str) -> list[Object[K]]:
        """The listed objects for which `index` gives `value`. KeyError without it, NotServed without the kind."""
        if kind in self._not_served:
            raise self._not_served[kind]
        return self.known(kind, index, value)

    def known(self, kind: type[K], index: str, value: str) -> list[Object[K]]:
        """The same; none of a kind that is not served."""
        if (kind, index) not in self._found:
            values, found = self._indexes[kind, index], self._found.setdefault((kind, index), {})
            for each in self.listing(kind):
                for one in values(each):
                    found.setdefault(one, []).append(each)
        return self._found[kind, index].get(value, [])

    async def _list(self, kind: type[KubernetesObject], namespace: str | None, *, optional: bool) -> None:
        try:
            answer = await self._api.list(kind, namespace=namespace)
        except NotServed as error:
            self._not_served[kind] = error
            return
        except Forbidden as error:
            if not optional:
                raise
            self._forbidden[kind] = str(error)
            return
        self._listed[kind, namespace] = {found.key: found for found in answer.items}


def _not_served(kind: type[KubernetesObject], error: NotServed) -> str:
    return f"{kind.RESOURCE} is not served: {error}"
