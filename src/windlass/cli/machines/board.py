"""Both sides, followed: a board that always has the present rows and knows which ones changed.

Each side is kept by a `windlass.kube.reflector`, which survives restarts of the API server, expired versions and CRDs
that come and go. The board announces only rows whose content differs; lists and echoes that change nothing say nothing.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from typing import Any, Generic, NoReturn

from windlass.api import capi, mapi
from windlass.api.meta import K
from windlass.cli import complaints
from windlass.cli.machines.read import Found, Listing, look
from windlass.kube.client import Client
from windlass.kube.object import Object
from windlass.kube.reflector import Reflector, Stage
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.overview import Row, row

TROUBLE_AFTER = 2.0
"""Seconds between looks at how the reflectors are doing; a hiccup shorter than that is not worth a word."""


class Side(Generic[K]):
    """The sink of one reflector: the objects of one kind by name. Tells `changed` of every name that it touches."""

    def __init__(
        self, client: Client, kind: type[K], namespace: str, *, first: Listing, changed: Callable[[str], None]
    ) -> None:
        self.resource = kind.RESOURCE.name
        self.found: dict[str, Found] = {item.metadata.name: item for item in first.items}
        self.in_trouble = first.trouble is not None
        self.reflector = Reflector(client, kind, self, namespace=namespace)
        self._changed = changed

    def replace(self, objects: Mapping[Any, Object[K]], version: str) -> None:
        before = self.found
        self.found = {item.name: look(item) for item in objects.values()}
        for name in before.keys() | self.found.keys():
            self._changed(name)

    rewind = replace

    def put(self, new: Object[K]) -> None:
        self.found[new.name] = look(new)
        self._changed(new.name)

    def delete(self, last: Object[K]) -> None:
        self.found.pop(last.name, None)
        self._changed(last.name)

    def reach(self, version: str) -> None:
        """Nothing to do: a board does not resume."""


class Board:
    """All machines of both sides as they are now, beginning with the `first` look. Run `runs` beside what reads it."""

    def __init__(self, client: Client, places: Namespaces, first: Sequence[Listing]) -> None:
        self.changed = asyncio.Event()
        self._touched: dict[str, None] = {}
        self._shown: dict[str, Row] = {}
        left, right = first
        self._machine_api = Side(client, mapi.Machine, places.machine_api, first=left, changed=self._touch)
        self._cluster_api = Side(client, capi.Machine, places.cluster_api, first=right, changed=self._touch)
        for present in self.rows():
            self._touch(present.name)

    @property
    def runs(self) -> list[Callable[[], Coroutine[Any, Any, NoReturn]]]:
        return [self._machine_api.reflector.run, self._cluster_api.reflector.run, self._tell_troubles]

    def rows(self) -> list[Row]:
        """Every machine there is, by name."""
        return [self._row(name) for name in sorted(self._machine_api.found.keys() | self._cluster_api.found.keys())]

    async def changes(self) -> AsyncIterator[list[Row]]:
        """The rows that changed, in batches, the first with everything; a machine that is gone has no side any more."""
        while True:
            await self.changed.wait()
            self.changed.clear()
            touched, self._touched = sorted(self._touched), {}
            batch = [fresh for name in touched if (fresh := self._row(name)) != self._shown.get(name)]
            for fresh in batch:
                if fresh.gone:
                    self._shown.pop(fresh.name, None)
                else:
                    self._shown[fresh.name] = fresh
            if batch:
                yield batch

    def _row(self, name: str) -> Row:
        return row(name, self._machine_api.found.get(name), self._cluster_api.found.get(name))

    def _touch(self, name: str) -> None:
        self._touched[name] = None
        self.changed.set()

    async def _tell_troubles(self) -> NoReturn:
        while True:
            await asyncio.sleep(TROUBLE_AFTER)
            for side in (self._machine_api, self._cluster_api):
                trouble = _trouble(side.reflector)
                if trouble and not side.in_trouble:
                    complaints.warn(f"{side.resource}: {trouble}")
                elif not trouble and side.in_trouble:
                    complaints.say("info", f"{side.resource}: followed again")
                side.in_trouble = bool(trouble)


def _trouble(reflector: Reflector[Any]) -> str:
    pulse = reflector.pulse
    if pulse.stage is Stage.NOT_SERVED:
        return "the API server does not serve this kind; waiting for its CustomResourceDefinition"
    return pulse.error if pulse.failures else ""
