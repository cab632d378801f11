"""Scale-up: how soon a Machine of the Machine API is there after its Cluster API Machine was created.

Machines are created at a steady rate, beside many that are in sync. Both ends are times of the API server: the answer
to the creation of one, the answer to the creation of the other.
"""

import asyncio
import math
import time
from datetime import datetime

from bench import machines, steady
from bench.arena import SEED, Arena
from bench.contestant import Contestant
from bench.contestants import machine_sync
from bench.machine import NoiseMeter
from bench.machines import Place
from bench.requests import RequestLog
from bench.tables import Cell, Table, against
from windlass.testing.plane.ports import free_ports

RATE = 20
"""Machines a second."""
SECONDS = 30
TARGET_P50, TARGET_P99 = 50.0, 250.0


async def measure(arena: Arena, place: Place, *, existing: int) -> Table:
    """Create RATE * SECONDS machines in `place`, where `existing` are in sync."""
    port = free_ports(1)[0]
    entry = machine_sync(arena, place, *steady.metrics_on(port))
    with Contestant(entry.argv, log=arena.log("scale-up")) as contestant:
        await steady.until(port, lambda sight: sight.looked_at(machines=existing), contestant)
        theirs, ours, meter = arena.requests(SEED), arena.requests("windlass"), NoiseMeter()
        before = contestant.usage.cpu
        await _create(arena, place, first=existing)
        created, mirrored = await _times(theirs, ours, place, expected=RATE * SECONDS)
        used, noise = contestant.usage.cpu - before, meter.read()
    delays = sorted((mirrored[name] - created[name]).total_seconds() * 1000 for name in created)
    p50, p99 = _quantile(delays, 0.5), _quantile(delays, 0.99)
    row: dict[str, Cell] = {
        "machines": len(delays),
        "p50, ms": p50,
        "p90, ms": _quantile(delays, 0.9),
        "p99, ms": p99,
        "worst, ms": delays[-1],
        "CPU, s": used,
        "others, cores": noise.others + noise.stolen,
        "verdict": f"p50 {against(p50, TARGET_P50, unit='ms')}; p99 {against(p99, TARGET_P99, unit='ms')}",
    }
    title = f"Scale-up: {RATE} Machines a second for {SECONDS} s, beside {existing} in sync; creation to mirror"
    return Table(title, list(row), [row])


async def _create(arena: Arena, place: Place, *, first: int) -> None:
    began = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for number in range(RATE * SECONDS):
            await asyncio.sleep(max(0.0, began + number / RATE - time.monotonic()))
            group.create_task(machines.scale_up(arena.seed, place, first + number))


async def _times(
    theirs: RequestLog, ours: RequestLog, place: Place, *, expected: int
) -> tuple[dict[str, datetime], dict[str, datetime]]:
    """When each Machine was created, and when its mirror was."""
    created: dict[str, datetime] = {}
    mirrored: dict[str, datetime] = {}
    deadline = time.monotonic() + 60
    while len(mirrored) < expected and time.monotonic() < deadline:
        for log, namespace, times in ((theirs, place.cluster_api, created), (ours, place.machine_api, mirrored)):
            for request in log.read():
                made = request.object_ref
                if request.verb == "create" and request.succeeded and made.resource == "machines":
                    assert made.namespace == namespace
                    times[made.name] = request.answered
        await asyncio.sleep(0.5)
    if len(mirrored) < expected:
        raise RuntimeError(f"{len(mirrored)} of {expected} machines got a mirror")
    return created, mirrored


def _quantile(ordered: list[float], share: float) -> float:
    """The smallest value that `share` of all do not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
