"""Reads what holds drains, for nodes that have drained for long.

Nobody caches Pods: there are tens of thousands. They are listed for these nodes alone, at most every PERIOD seconds.
"""

from collections.abc import Iterable
from typing import ClassVar, Final

from windlass.api.meta import K
from windlass.kube.clock import Clock
from windlass.kube.control.question import Question
from windlass.kube.control.seen import ListingReader, Present
from windlass.update_status.reading.workload import read_workload
from windlass.update_status.sources import Workload

PERIOD: Final = 20.0
"""Seconds for which an answer counts. While a node drains, the controller looks each minute, and at every change."""


class WhatHolds(Question[Workload], frozen=True):
    """What can hold the drains of these nodes; a list that is refused is Unknown."""

    SYSTEM: ClassVar[str] = "drains"

    nodes: tuple[str, ...]

    def __str__(self) -> str:
        return f"what holds the drain of {', '.join(self.nodes)}"


class DrainsAnswerer:
    """Lists Pods and PodDisruptionBudgets. An answer counts for PERIOD seconds as long as the same nodes drain."""

    def __init__(self, reader: ListingReader, clock: Clock) -> None:
        self._reader = reader
        self._clock = clock
        self._latest = Workload()
        self._asked = 0.0

    async def answer(self, question: WhatHolds, /) -> Workload:
        """Raises KubeErrors if no answer comes."""
        if question.nodes != self._latest.nodes or self._clock.monotonic() - self._asked >= PERIOD:
            self._latest = await read_workload(self._list, question.nodes)
            self._asked = self._clock.monotonic()
        return self._latest

    async def _list(self, kind: type[K], *, label_selector: str = "", field_selector: str = "") -> Iterable[K]:
        found = await self._reader.listed(kind, label_selector=label_selector, field_selector=field_selector)
        return [one.object for one in found if isinstance(one, Present)]
