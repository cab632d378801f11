"""Watches both sides: an object that always has the present rows and knows which ones changed.

Each kind on each side is kept by a `windlass.kube.cache.reflector`, which survives restarts of the API server, expired
versions and CRDs that are removed and installed again. It announces only rows whose content differs.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Generic, NoReturn, TypeAlias

from windlass.api.meta import K
from windlass.kube.cache.health import FollowStage
from windlass.kube.cache.reflector import Reflector
from windlass.kube.client import Client
from windlass.kube.object import Object
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.inspection.listing import BothSides, Listing, decoded
from windlass.machine_sync.overview import AnyKind, AnyRow, Found

TROUBLE_AFTER = 2.0
"""Seconds between checks of the reflectors; shorter interruptions are not reported."""

Report: TypeAlias = Callable[[str, str], None]
"""Gets a resource and why it cannot be watched; an empty reason means that it is watched again."""

Place: TypeAlias = tuple[int, str]
"""The position of a row: number of the kind, name."""


class FollowedKind(Generic[K]):
    """The sink of one reflector: the objects of one kind by name. Calls `changed` with each name that changes."""

    def __init__(
        self, client: Client, kind: type[K], namespace: str, *, first: Listing, changed: Callable[[str], None]
    ) -> None:
        self.resource = kind.RESOURCE.name
        self.found: dict[str, Found] = {item.metadata.name: item for item in first.items}
        self.in_trouble = first.trouble is not None
        self.reflector = Reflector(client, kind, self, namespace=namespace)
        self._changed = changed

    async def replace(self, objects: Mapping[Any, Object[K]], version: str) -> None:
        before = self.found
        self.found = {item.name: decoded(item) for item in objects.values()}
        for name in before.keys() | self.found.keys():
            self._changed(name)

    rewind = replace

    def put(self, new: Object[K]) -> None:
        self.found[new.name] = decoded(new)
        self._changed(new.name)

    def delete(self, last: Object[K]) -> None:
        self.found.pop(last.name, None)
        self._changed(last.name)

    def reach(self, version: str) -> None:
        """Nothing to do: live rows do not resume."""


class Pair:
    """One kind in both APIs."""

    def __init__(self, client: Client, places: Namespaces, look: BothSides, *, changed: Callable[[str], None]) -> None:
        kind: AnyKind = look.kind
        self.kind = kind
        self.machine_api = FollowedKind(
            client, kind.machine_api, places.machine_api, first=look.machine_api, changed=changed
        )
        self.cluster_api = FollowedKind(
            client, kind.cluster_api, places.cluster_api, first=look.cluster_api, changed=changed
        )

    def __iter__(self) -> Iterator[FollowedKind[Any]]:
        return iter((self.machine_api, self.cluster_api))

    def names(self) -> list[str]:
        return sorted(self.machine_api.found.keys() | self.cluster_api.found.keys())

    def row(self, name: str) -> AnyRow:
        return self.kind.row(name, self.machine_api.found.get(name), self.cluster_api.found.get(name))


class LiveRows:
    """All rows as they are now, beginning with the `first` look. Run `runs` beside the reader of the rows.

    `report` hears of watches that fail for longer than a moment.
    """

    def __init__(self, client: Client, places: Namespaces, first: Sequence[BothSides], *, report: Report) -> None:
        self._report = report
        self.changed = asyncio.Event()
        self._touched: set[Place] = set()
        self._shown: dict[Place, AnyRow] = {}
        self._pairs = [
            Pair(client, places, look, changed=partial(self._touch, number)) for number, look in enumerate(first)
        ]
        for number, pair in enumerate(self._pairs):
            for name in pair.names():
                self._touch(number, name)

    @property
    def runs(self) -> list[Callable[[], Coroutine[Any, Any, NoReturn]]]:
        return [*(side.reflector.run for pair in self._pairs for side in pair), self._tell_troubles]

    def rows(self) -> list[AnyRow]:
        """All rows, by kind and name."""
        return [pair.row(name) for pair in self._pairs for name in pair.names()]

    async def changes(self) -> AsyncIterator[list[AnyRow]]:
        """The rows that changed, in batches; the first batch has all rows. A row whose objects are gone has no
        sides."""
        while True:
            await self.changed.wait()
            self.changed.clear()
            touched, self._touched = sorted(self._touched), set()
            batch = []
            for place in touched:
                number, name = place
                fresh = self._pairs[number].row(name)
                if fresh == self._shown.get(place):
                    continue
                if fresh.gone:
                    # It was created and deleted between two batches: do not show it.
                    if self._shown.pop(place, None) is None:
                        continue
                else:
                    self._shown[place] = fresh
                batch.append(fresh)
            if batch:
                yield batch

    def _touch(self, number: int, name: str) -> None:
        self._touched.add((number, name))
        self.changed.set()

    async def _tell_troubles(self) -> NoReturn:
        while True:
            await asyncio.sleep(TROUBLE_AFTER)
            for pair in self._pairs:
                for side in pair:
                    self._tell_trouble(side)

    def _tell_trouble(self, side: FollowedKind[Any]) -> None:
        trouble = _trouble(side.reflector)
        if bool(trouble) != side.in_trouble:
            self._report(side.resource, trouble)
        side.in_trouble = bool(trouble)


def _trouble(reflector: Reflector[Any]) -> str:
    pulse = reflector.pulse
    if pulse.stage is FollowStage.NOT_SERVED:
        return "the API server does not serve this kind; waiting for its CustomResourceDefinition"
    return pulse.failing
