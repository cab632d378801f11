"""What the programs show of themselves during a soak, and what is wrong with it.

A program is judged by its own metrics and its log: how late its event loop was, how much memory it had, whether it ran
all the time, and whether a defect showed. Memory is that of the last third of the soak against the second third: the
first third fills caches.
"""

import asyncio
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from aiohttp import ClientError

from bench.contestant import Contestant
from tests.program import Program

LAG: Final = 0.1
"""Seconds that the event loop may be late."""
LATE: Final = 0.01
"""The share of measurements in which it may be later, beside that of a process that does nothing."""
GROWTH: Final = 1.10
"""How many times the memory of the second third the last third may have."""
PERIOD: Final = 2.0
_IDLE: Final = """
import time
while True:
    began = time.monotonic()
    time.sleep(0.5)
    print(time.monotonic() - began - 0.5, flush=True)
"""
_LOG: Final = re.compile(r"Traceback \(most recent call last\)|never retrieved|was never awaited")


class Measured:
    """A program and what it showed. `memory`: seconds of the soak, and MB."""

    def __init__(self, name: str, program: Program) -> None:
        self.name = name
        self.program = program
        self.memory: list[tuple[float, float]] = []
        self.starts = set[float]()
        self.unanswered = 0
        self._before: dict[str, float] = {}
        self._last: dict[str, float] = {}

    async def watch(self) -> None:
        """Look again and again, until cancelled."""
        began = time.monotonic()
        while True:
            try:
                found = await self.program.figures()
            except (ClientError, OSError):
                # Strangers at the port: the next look.
                self.unanswered += 1
            else:
                self._before, self._last = self._before or found, found
                self.starts.add(found["process_start_time_seconds"])
                self.memory.append((time.monotonic() - began, found["process_resident_memory_bytes"] / 2**20))
            await asyncio.sleep(PERIOD)

    def late(self, seconds: float) -> float:
        """The share of measurements in which the event loop was later; `seconds` is a bound of the histogram."""
        within = self._since(f'windlass_loop_lag_seconds_bucket{{le="{seconds}"}}')
        return 1 - within / self._since("windlass_loop_lag_seconds_count")

    def _since(self, name: str) -> float:
        return self._last[name] - self._before.get(name, 0.0)

    def thirds(self) -> list[float]:
        """Mean memory of each third, in MB."""
        end = self.memory[-1][0]
        bounds = [0.0, end / 3, end * 2 / 3, end]
        return [
            statistics.fmean(memory for at, memory in self.memory if low <= at <= high)
            for low, high in pairwise(bounds)
        ]

    async def wrong(self, *, idle: float, timed: bool) -> list[str]:
        """What must not be. `idle`: how often a process that does nothing was late.

        `timed`: the soak was long enough for lag and memory to mean something.
        """
        found = []
        if (code := await self.program.exit_code()) is not None:
            found.append(f"it ended with {code}")
        if len(self.starts) != 1:
            found.append(f"it was started {len(self.starts)} times")
        if panics := sum(value for name, value in self._last.items() if "_panics_total" in name):
            found.append(f"{panics:g} reconciles ended by a defect")
        if traces := _LOG.findall(self.program.log.read_text(errors="replace")):
            found.append(f"{len(traces)} times in its log: {traces[0]}")
        if timed and (late := self.late(LAG)) > LATE + idle:
            found.append(f"the event loop was more than {LAG:g} s late in {late:.1%} of measurements")
        if timed and (thirds := self.thirds())[2] > GROWTH * thirds[1]:
            found.append(f"memory grew: {thirds} MB")
        return [f"{self.name}: {one}" for one in found]

    def figures(self) -> dict[str, Any]:
        """For the reader of a run."""
        return {
            "later than": {f"{bound:g} s": f"{self.late(bound):.2%}" for bound in (0.025, 0.05, LAG, 0.25, 0.5, 1.0)},
            "MB": [round(each) for each in self.thirds()],
            "CPU": round(self._since("process_cpu_seconds_total"), 1),
            "unanswered": self.unanswered,
            "log KB": Path(self.program.log).stat().st_size >> 10,
        }


@contextmanager
def idle(folder: Path) -> Iterator[Callable[[], float]]:
    """A process that does nothing but sleep. Yields how often it was late, as `Measured.late` says it of a program.

    A machine that is busy with other things delays it as it delays the programs.
    """
    log = folder / "idle.log"
    with Contestant([sys.executable, "-c", _IDLE], log=log):

        def late() -> float:
            seconds = [float(line) for line in log.read_text().splitlines()]
            return sum(each > LAG for each in seconds) / len(seconds)

        yield late
