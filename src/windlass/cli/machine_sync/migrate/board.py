"""The Machines and MachineSets as they are now, and a bell for each that rings when it changes.

Filled by `windlass.kube.cache.reflector`, which survives restarts of the API server; a wait is for a change, never for
a moment to look again. An own write is known to whoever made it: older states than that are not shown.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from windlass.cli.machine_sync.migrate.selection import Subject
from windlass.kube.client.overlay import ordinal
from windlass.kube.control.seen import Absent, Seen, seen
from windlass.kube.object import Object
from windlass.machine_sync.preflight.report import Kind


class Board:
    """What was last heard of each object. Knows nothing of an object until it has been told of it."""

    def __init__(self) -> None:
        self._now: dict[Subject, Object[Any] | None] = {}
        self._bells: dict[Subject, asyncio.Event] = {}

    def latest(self, subject: Subject, *, since: str) -> Seen[Any] | None:
        """How it is now, Absent if it is gone; None if nothing newer than resourceVersion `since` was heard yet."""
        if subject not in self._now:
            return None
        found = self._now[subject]
        if found is None:
            return Absent()
        return None if _order(found.resource_version) < _order(since) else seen(found)

    def bell(self, subject: Subject) -> asyncio.Event:
        """Set with each change; to be cleared before `latest` is asked."""
        return self._bells.setdefault(subject, asyncio.Event())

    def put(self, subject: Subject, found: Object[Any] | None) -> None:
        """It is like this now; None: gone."""
        self._now[subject] = found
        self.bell(subject).set()

    def known(self, kind: Kind) -> list[Subject]:
        return [subject for subject, found in self._now.items() if subject.kind is kind and found is not None]


class Following:
    """The sink of a reflector: passes on to the board what happens to all objects of one kind."""

    def __init__(self, board: Board, kind: Kind) -> None:
        self._board = board
        self._kind = kind

    async def replace(self, objects: Mapping[Any, Object[Any]], version: str) -> None:
        present = {Subject(self._kind, item.name): item for item in objects.values()}
        for subject in self._board.known(self._kind):
            if subject not in present:
                self._board.put(subject, None)
        for subject, item in present.items():
            self._board.put(subject, item)

    rewind = replace

    def put(self, new: Object[Any]) -> None:
        self._board.put(Subject(self._kind, new.name), new)

    def delete(self, last: Object[Any]) -> None:
        self._board.put(Subject(self._kind, last.name), None)

    def reach(self, version: str) -> None:
        """Nothing to do: a board does not resume."""


def _order(version: str) -> int:
    return ordinal(version) or 0
