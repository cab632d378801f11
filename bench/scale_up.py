"""Measures the scale-up latency: from the creation of a Cluster API Machine to that of its mirror.

Machines are created at a steady rate, beside many that are in sync. Start and end are the API server's answers to the
two creations. The time between is split by the same clock: until Windlass's first request arrives, until the API server
answers the finalizers, until the next request arrives, and until the API server answers the creation.
"""

import asyncio
import math
import statistics
import time
from collections.abc import Iterable, Sequence
from datetime import datetime

from bench import machines, steady
from bench.arena import SEED, Arena
from bench.contestant import Contestant
from bench.contestants import machine_sync
from bench.machine import NoiseMeter
from bench.machines import Place
from bench.requests import Request, RequestLog
from bench.tables import Cell, Table, against
from windlass.testing.plane.ports import free_ports

RATE = 20
"""Machines a second."""
SECONDS = 30
TARGET_P50, TARGET_P99 = 50.0, 250.0

STRETCHES = (
    "until the API server has Windlass's first request",
    "the API server answers the finalizers",
    "until it has the request to create the mirror",
    "the API server creates the mirror",
)


async def measure(arena: Arena, place: Place, *, existing: int) -> list[Table]:
    """Create RATE * SECONDS machines in `place`, where `existing` are in sync."""
    port = free_ports(1)[0]
    entry = machine_sync(arena, place, *steady.metrics_on(port))
    with Contestant(entry.argv, log=arena.log("scale-up")) as contestant:
        await steady.until(port, lambda sight: sight.looked_at(machines=existing), contestant)
        theirs, ours, meter = arena.requests(SEED), arena.requests("windlass"), NoiseMeter()
        before = contestant.usage.cpu
        await _create(arena, place, first=existing)
        ways = await _ways(theirs, ours, place, expected=RATE * SECONDS)
        used, noise = contestant.usage.cpu - before, meter.read()
    delays = [(way[-1] - way[0]).total_seconds() * 1000 for way in ways]
    p50, p99 = _quantile(delays, 0.5), _quantile(delays, 0.99)
    row: dict[str, Cell] = {
        "machines": len(delays),
        **_quantiles(delays),
        "worst, ms": max(delays),
        "CPU, s": used,
        "others, cores": noise.others + noise.stolen,
        "verdict": f"p50 {against(p50, TARGET_P50, unit='ms')}; p99 {against(p99, TARGET_P99, unit='ms')}",
    }
    title = f"Scale-up: {RATE} Machines a second for {SECONDS} s, beside {existing} in sync; creation to mirror"
    return [Table(title, list(row), [row]), _stretches(ways)]


def _stretches(ways: Sequence[Sequence[datetime]]) -> Table:
    rows: list[dict[str, Cell]] = []
    for number, what in enumerate(STRETCHES):
        took = [(way[number + 1] - way[number]).total_seconds() * 1000 for way in ways]
        rows.append({"from creation to mirror": what, **_quantiles(took), "mean, ms": statistics.mean(took)})
    return Table("Scale-up: where the time goes", list(rows[0]), rows)


async def _create(arena: Arena, place: Place, *, first: int) -> None:
    began = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for number in range(RATE * SECONDS):
            await asyncio.sleep(max(0.0, began + number / RATE - time.monotonic()))
            group.create_task(machines.scale_up(arena.seed, place, first + number))


async def _ways(theirs: RequestLog, ours: RequestLog, place: Place, *, expected: int) -> list[list[datetime]]:
    """Of each machine the five moments between which the STRETCHES lie."""
    created: dict[str, datetime] = {}
    held: dict[str, list[Request]] = {}
    mirrored: dict[str, Request] = {}
    deadline = time.monotonic() + 60
    while len(mirrored) < expected and time.monotonic() < deadline:
        created.update((made.object_ref.name, made.answered) for made in _creations(theirs.read(), place.cluster_api))
        asked = list(ours.read())
        for request in asked:
            if request.verb == "patch" and request.succeeded and request.object_ref.namespace == place.cluster_api:
                held.setdefault(request.object_ref.name, []).append(request)
        mirrored.update((made.object_ref.name, made) for made in _creations(asked, place.machine_api))
        await asyncio.sleep(0.5)
    if len(mirrored) < expected:
        raise RuntimeError(f"{len(mirrored)} of {expected} machines got a mirror")
    return [
        [
            created[name],
            min(request.received for request in held[name]),
            max(request.answered for request in held[name]),
            mirror.received,
            mirror.answered,
        ]
        for name, mirror in mirrored.items()
    ]


def _creations(requests: Iterable[Request], namespace: str) -> list[Request]:
    """Those of Machines, of either API."""
    return [
        request
        for request in requests
        if request.verb == "create"
        and request.succeeded
        and request.object_ref.resource == "machines"
        and request.object_ref.namespace == namespace
    ]


def _quantiles(values: Sequence[float]) -> dict[str, Cell]:
    return {f"p{share:.0%}"[:-1] + ", ms": _quantile(values, share) for share in (0.5, 0.9, 0.99)}


def _quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that `share` of all do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
