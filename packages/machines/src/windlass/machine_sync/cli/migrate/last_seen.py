"""Keeps Machines and MachineSets up to date, and lets a caller wait until one of them changes.

`windlass.kube.cache.reflector` fills it, and survives restarts of the API server; nothing is polled. After an own
write, older states of the object are not shown to its writer.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from windlass.kube.client.overlay import ordinal
from windlass.kube.control.seen import Absent, Seen, seen
from windlass.kube.object import Object
from windlass.machine_sync.cli.migrate.selection import ObjectKey
from windlass.machine_sync.preflight.report import Kind


class LastSeen:
    """The last known state of each object. An object is unknown until the first event about it."""

    def __init__(self) -> None:
        self._now: dict[ObjectKey, Object[Any] | None] = {}
        self._bells: dict[ObjectKey, asyncio.Event] = {}

    def latest(self, key: ObjectKey, *, since: str) -> Seen[Any] | None:
        """Its present state, Absent if it is gone; None if nothing newer than resourceVersion `since` is known yet."""
        if key not in self._now:
            return None
        found = self._now[key]
        if found is None:
            return Absent()
        return None if _order(found.resource_version) < _order(since) else seen(found)

    def bell(self, key: ObjectKey) -> asyncio.Event:
        """Set with each change; clear it before `latest` is called."""
        return self._bells.setdefault(key, asyncio.Event())

    def put(self, key: ObjectKey, found: Object[Any] | None) -> None:
        """Store the present state; None: it is gone."""
        self._now[key] = found
        self.bell(key).set()

    def known(self, kind: Kind) -> list[ObjectKey]:
        return [key for key, found in self._now.items() if key.kind is kind and found is not None]


class Following:
    """The sink of a reflector: stores the states of all objects of one kind."""

    def __init__(self, last_seen: LastSeen, kind: Kind) -> None:
        self._last_seen = last_seen
        self._kind = kind

    async def replace(self, objects: Mapping[Any, Object[Any]], version: str) -> None:
        present = {ObjectKey(self._kind, item.name): item for item in objects.values()}
        for key in self._last_seen.known(self._kind):
            if key not in present:
                self._last_seen.put(key, None)
        for key, item in present.items():
            self._last_seen.put(key, item)

    rewind = replace

    def put(self, new: Object[Any]) -> None:
        self._last_seen.put(ObjectKey(self._kind, new.name), new)

    def delete(self, last: Object[Any]) -> None:
        self._last_seen.put(ObjectKey(self._kind, last.name), None)

    def reach(self, version: str) -> None:
        """Nothing to do: it does not resume."""


def _order(version: str) -> int:
    return ordinal(version) or 0
