"""Measures the requests of resyncs and a restart while all is in sync: only watches and the Lease are expected."""

import asyncio
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from bench.arena import Arena
from bench.cold import QUIET_SECONDS
from bench.contestant import Contestant
from bench.contestants import machine_sync
from bench.machines import Place
from bench.requests import Request
from bench.tables import Cell, Table, against
from windlass.machine_sync.machine.controller import NAME as MACHINES
from windlass.machine_sync.machine_set.controller import NAME as MACHINE_SETS
from windlass.testing.plane.errors import PlaneError
from windlass.testing.plane.ports import free_ports
from windlass.testing.plane.rest import Rest

RESYNCS = 6
PERIOD = 4.0
"""Seconds between resyncs: enough for all keys to rest in between."""
LOOKS = 0.2
"""Seconds between reads of /metrics. Each read counts all machines, so more reads would disturb the measurement."""
TARGET_RESTART = 3.0

_RECONCILED = re.compile(
    r'^controller_runtime_reconcile_total\{controller="([^"]+)",result="success"\} (\S+)$', re.MULTILINE
)
_DEPTH = re.compile(r"^workqueue_depth\{.*\} (\S+)$", re.MULTILINE)
_BUSY = re.compile(r"^controller_runtime_active_workers\{.*\} (\S+)$", re.MULTILINE)


@dataclass
class Sight:
    """What /metrics says: how often Machines and MachineSets came to rest, and whether none is in line or in work."""

    machines: int
    sets: int
    idle: bool

    def looked_at(self, *, machines: int, sets: int = 0) -> bool:
        """At least so many were, and there is nothing else to do."""
        return self.machines >= machines and self.sets >= sets and self.idle


async def measure(arena: Arena, place: Place, *, objects: int) -> list[Table]:
    """Of `objects` machines that are in sync in `place`."""
    await _started(arena, place, objects=objects)
    # What came before ended in good order and released the Lease: this start is the restart that counts.
    restart, asked_at_start = await _started(arena, place, objects=objects)
    rows: list[dict[str, Cell]] = [
        {
            "what": f"restart after a released Lease, {objects} machines",
            "time to synced, s": restart,
            "writes": writes(asked_at_start),
            "other requests": others(asked_at_start),
            "verdict": f"{against(writes(asked_at_start), 0)}; {against(restart, TARGET_RESTART, unit='s')}",
        },
        await _resyncs(arena, place, objects=objects),
    ]
    notes = [
        "Synced: every machine was looked at and found in sync, from the start of the process, as /metrics says "
        "(looked at every 0.2 s).",
        "Other requests: neither watches (the caches' lists among them) nor of the Lease; by the audit log.",
    ]
    columns = ["what", "time to synced, s", "CPU, s", "writes", "other requests", "verdict"]
    return [Table("In sync", columns, rows, notes)]


async def _started(arena: Arena, place: Place, *, objects: int) -> tuple[float, list[Request]]:
    """Start, wait until all is looked at, end: the seconds to there, and what was asked."""
    log, port = arena.requests("windlass"), free_ports(1)[0]
    began = time.monotonic()
    entry = machine_sync(arena, place, *metrics_on(port))
    with Contestant(entry.argv, log=arena.log("restart")) as contestant:
        await until(port, lambda sight: sight.looked_at(machines=objects), contestant)
        took = time.monotonic() - began
        await asyncio.sleep(QUIET_SECONDS)
    return took, list(log.read())


async def _resyncs(arena: Arena, place: Place, *, objects: int) -> dict[str, Cell]:
    port = free_ports(1)[0]
    entry = machine_sync(arena, place, f"--resync={PERIOD:g}s", *metrics_on(port))
    with Contestant(entry.argv, log=arena.log("resyncs")) as contestant:
        sight = await until(port, lambda sight: sight.looked_at(machines=objects), contestant)
        log, before = arena.requests("windlass"), contestant.usage.cpu
        goal = sight.machines + RESYNCS * objects
        await until(port, lambda sight: sight.looked_at(machines=goal), contestant, every=0.5)
        used = contestant.usage.cpu - before
        asked = list(log.read())
    verdict = f"{against(writes(asked), 0)}; {against(others(asked), 0)}"
    return {
        "what": f"{RESYNCS} resyncs of {objects} machines",
        "CPU, s": used,
        "writes": writes(asked),
        "other requests": others(asked),
        "verdict": verdict,
    }


def metrics_on(port: int) -> tuple[str, str]:
    return f"--metrics-bind-address=127.0.0.1:{port}", "--metrics-open"


async def until(port: int, reached: Callable[[Sight], bool], contestant: Contestant, *, every: float = LOOKS) -> Sight:
    """Look at /metrics until it is `reached`, `every` so many seconds."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        sight = await asyncio.to_thread(_look, port)
        if sight is not None and reached(sight):
            return sight
        if contestant.ended:
            raise RuntimeError(f"windlass ended: {contestant.last_words()}")
        await asyncio.sleep(every)
    raise RuntimeError(f"windlass did not come to rest within 120 s: {contestant.last_words()}")


def _look(port: int) -> Sight | None:
    try:
        text = Rest(f"http://127.0.0.1:{port}").text("GET", "/metrics", seconds=5)
    except PlaneError:
        return None  # not listening yet
    busy = [*_DEPTH.findall(text), *_BUSY.findall(text)]
    rests = {controller: int(float(count)) for controller, count in _RECONCILED.findall(text)}
    return Sight(rests.get(MACHINES, 0), rests.get(MACHINE_SETS, 0), not any(map(float, busy)))


def writes(asked: list[Request]) -> int:
    return sum(request.is_write and not request.is_of_lease for request in asked)


def others(asked: list[Request]) -> int:
    return sum(request.verb != "watch" and not request.is_write and not request.is_of_lease for request in asked)
