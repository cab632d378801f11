"""Reads what holds drains, for nodes that have drained for long by what the object says.

Nobody caches Pods: there are tens of thousands. They are listed for these nodes alone, at most every PERIOD seconds.
"""

from collections.abc import Iterable
from typing import Final

from windlass.api.meta import K
from windlass.api.update import UpdateStatus
from windlass.kube.clock import Clock
from windlass.kube.control.seen import ListingReader, Present, Seen
from windlass.update_status.causes.drains import long_drains
from windlass.update_status.document import NothingWritten, read
from windlass.update_status.reading.workload import read_workload
from windlass.update_status.sources import Workload
from windlass.update_status.times import of_datetime

PERIOD: Final = 20.0
"""Seconds for which an answer counts. While a node drains, the controller looks each minute, and at every change."""


class Drains:
    """What holds drains now; an answer counts for PERIOD seconds as long as the same nodes drain."""

    def __init__(self, reader: ListingReader, clock: Clock) -> None:
        self._reader = reader
        self._clock = clock
        self._latest = Workload()
        self._asked = 0.0

    async def look(self, stored: Seen[UpdateStatus]) -> Workload:
        """What holds the nodes that, by `stored`, have drained for long. Raises KubeErrors if no answer comes."""
        nodes = self._nodes(stored)
        old = self._clock.monotonic() - self._asked >= PERIOD
        if nodes != self._latest.nodes or (nodes and old):
            self._latest = await read_workload(self._ask, nodes)
            self._asked = self._clock.monotonic()
        return self._latest

    def _nodes(self, stored: Seen[UpdateStatus]) -> tuple[str, ...]:
        if not isinstance(stored, Present):
            return ()
        status = stored.object.status
        if status.overview is None or not status.overview.updating:
            return ()
        now = of_datetime(self._clock.now())
        try:
            return long_drains(read(status, now=now), now=now)
        except NothingWritten:
            return ()

    async def _ask(self, kind: type[K], *, label_selector: str = "", field_selector: str = "") -> Iterable[K]:
        found = await self._reader.listed(kind, label_selector=label_selector, field_selector=field_selector)
        return [one.object for one in found if isinstance(one, Present)]
