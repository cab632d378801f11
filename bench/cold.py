"""Measures a cold start: a contestant from the start of its process until every object is as it should be.

| figure | how it is taken |
|---|---|
| wall | from the start of the process to the answer of the last write that completed an object, by the audit log |
| writes | everything the contestant wrote but Leases, refused or not, until it was quiet for a second |
| CPU, peak | of the process and all its threads, from /proc, when it was quiet |
"""

import asyncio
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.arena import Arena
from bench.contestant import Contestant
from bench.machine import Noise, NoiseMeter
from bench.requests import Request
from windlass.testing.binaries import to_stderr

QUIET_SECONDS = 1.0
LONGEST = 900.0


@dataclass(frozen=True)
class Entry:
    """A contestant and its command. `user` is its name in the audit log, `extra` goes into its environment."""

    name: str
    user: str
    argv: Sequence[str | Path]
    extra: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Run:
    """The result of one run. `requests` are all that the contestant sent."""

    name: str
    objects: int
    wall: float
    cpu: float
    peak: float
    noise: Noise
    requests: list[Request]
    log: Path

    @property
    def rate(self) -> float:
        """Objects a second."""
        return self.objects / self.wall

    @property
    def writes(self) -> int:
        return sum(request.is_write and not request.is_of_lease for request in self.requests)


async def cold(arena: Arena, entry: Entry, *, objects: int, completes: Callable[[Request], bool]) -> Run:
    """One run. `completes`: is this the kind of write that completes an object? The last one to each object counts."""
    requests = arena.requests(entry.user)
    log = arena.log(entry.name)
    gathered: list[Request] = []
    done: dict[str, float] = {}
    meter = NoiseMeter()
    started = time.time()
    with Contestant(entry.argv, log=log, extra=dict(entry.extra)) as contestant:
        quiet_since = time.monotonic()
        while len(done) < objects or time.monotonic() - quiet_since < QUIET_SECONDS:
            await asyncio.sleep(0.1)
            for request in requests.read():
                gathered.append(request)
                if request.is_write and not request.is_of_lease:
                    quiet_since = time.monotonic()
                    if request.succeeded and completes(request):
                        done[request.object_ref.name] = request.answered.timestamp() - started
            if contestant.ended:
                raise RuntimeError(f"{entry.name} ended with {len(done)} of {objects} done: {contestant.last_words()}")
            if time.time() - started > LONGEST:
                raise RuntimeError(f"{entry.name}: {len(done)} of {objects} done after {LONGEST:.0f} s; see {log}")
        used, noise = contestant.usage, meter.read()
    run = Run(entry.name, objects, max(done.values()), used.cpu, used.peak, noise, gathered, log)
    to_stderr(f"{run.name}: {objects} in {run.wall:.1f} s; others used {noise.others:.2f} cores")
    return run


def median(runs: Iterable[Run], figure: Callable[[Run], float]) -> float:
    return statistics.median(map(figure, runs))


def spread(runs: Iterable[Run], figure: Callable[[Run], float]) -> str:
    """`5.9 (5.8-6.4)`: the median and the range."""
    values = sorted(map(figure, runs))
    return f"{statistics.median(values):.1f} ({values[0]:.1f}-{values[-1]:.1f})"
