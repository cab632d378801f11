"""Reads what holds drains, for nodes that have drained for long.

Since when a node drains, its MachineConfigNode or taint says. Where neither does, the object knows it; but that may be
older than the drain, as after a pause of the controller, or for a plan.

Nobody caches Pods: there are tens of thousands. They are listed for these nodes alone, at most every PERIOD seconds.
"""

from collections.abc import Iterable
from typing import Final

from windlass.api.meta import K
from windlass.api.update import UpdateStatus
from windlass.kube.clock import Clock
from windlass.kube.control.seen import ListingReader, Present, Seen
from windlass.update_status.assessment import Problem, assess
from windlass.update_status.causes.drains import MOST_DRAINS, long_drains
from windlass.update_status.document import NothingWritten, read
from windlass.update_status.reading.workload import read_workload
from windlass.update_status.sources import Sources, Workload
from windlass.update_status.times import Moment, of_datetime

PERIOD: Final = 20.0
"""Seconds for which an answer counts. While a node drains, the controller looks each minute, and at every change."""


class Drains:
    """What holds drains now; an answer counts for PERIOD seconds as long as the same nodes drain."""

    def __init__(self, reader: ListingReader, clock: Clock) -> None:
        self._reader = reader
        self._clock = clock
        self._latest = Workload()
        self._asked = 0.0

    async def look(self, stored: Seen[UpdateStatus], sources: Sources) -> Workload:
        """What holds the nodes that have drained for long. Raises KubeErrors if no answer comes."""
        now = of_datetime(self._clock.now())
        nodes = tuple(dict.fromkeys((*_by_object(stored, now), *_by_sources(sources, now))))[:MOST_DRAINS]
        old = self._clock.monotonic() - self._asked >= PERIOD
        if nodes != self._latest.nodes or (nodes and old):
            self._latest = await read_workload(self._ask, nodes)
            self._asked = self._clock.monotonic()
        return self._latest

    async def _ask(self, kind: type[K], *, label_selector: str = "", field_selector: str = "") -> Iterable[K]:
        found = await self._reader.listed(kind, label_selector=label_selector, field_selector=field_selector)
        return [one.object for one in found if isinstance(one, Present)]


def _by_object(stored: Seen[UpdateStatus], now: Moment) -> tuple[str, ...]:
    if not isinstance(stored, Present):
        return ()
    status = stored.object.status
    if status.overview is None or not status.overview.updating:
        return ()
    try:
        return long_drains(read(status, now=now), now=now)
    except NothingWritten:
        return ()


def _by_sources(sources: Sources, now: Moment) -> tuple[str, ...]:
    try:
        report = assess(sources, now=now)
    except Problem:
        return ()
    return long_drains(report, now=now) if report.updating else ()
