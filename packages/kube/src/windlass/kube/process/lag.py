"""Measures how late the event loop runs its timers: everything in a controller waits while one callback computes.

A `LoopLag` sets timers one after the other and measures their delay, which is a metric. Liveness fails if the loop was
late by more than `limit` seconds within the last `window` seconds. A kubelet that probes several times before it
restarts the pod therefore tolerates one delay and ends a stall.

    lag = LoopLag(on_beat=metrics.lag)
    task = asyncio.create_task(lag.run())
    ...
    lag.trouble      # "" or "the event loop was 7.2 s late"
"""

from collections import deque
from collections.abc import Callable
from typing import NoReturn

from windlass.kube.clock import Clock, SystemClock


class LoopLag:
    """`period` seconds between beats; `on_beat` is called with the lag of each, in seconds."""

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        period: float = 0.5,
        limit: float = 5.0,
        window: float = 15.0,
        on_beat: Callable[[float], None] | None = None,
    ) -> None:
        self._clock = clock or SystemClock()
        self._period = period
        self._limit = limit
        self._window = window
        self._on_beat = on_beat
        self._due: float | None = None
        self._late: deque[tuple[float, float]] = deque()

    async def run(self) -> NoReturn:
        """Beat until cancelled."""
        while True:
            self._due = self._clock.monotonic() + self._period
            await self._clock.sleep(self._period)
            self.beat()

    def beat(self) -> None:
        """Record that the timer that was due ran now."""
        now = self._clock.monotonic()
        lag = max(now - (self._due if self._due is not None else now), 0.0)
        if lag > self._limit:
            self._late.append((now, lag))
        if self._on_beat:
            self._on_beat(lag)

    @property
    def trouble(self) -> str:
        """Why the process should be considered stuck, or nothing."""
        now = self._clock.monotonic()
        while self._late and self._late[0][0] < now - self._window:
            self._late.popleft()
        # The next beat may be overdue: the caller ran before it.
        overdue = now - self._due if self._due is not None else 0.0
        worst = max([lag for _, lag in self._late] + [overdue])
        return f"the event loop was {worst:.1f} s late (limit {self._limit:g} s)" if worst > self._limit else ""
