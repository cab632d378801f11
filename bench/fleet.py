"""Measures restarts and resyncs of a fleet in sync, half of it under each authority: time, memory and requests.

The fleet is created in bulk (`in_sync`), and Windlass processes it once before the measurement.
"""

import asyncio
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from bench import in_sync, machines, steady
from bench.arena import Arena
from bench.cold import QUIET_SECONDS
from bench.contestant import Contestant
from bench.contestants import machine_sync
from bench.machine import NoiseMeter
from bench.machines import Place
from bench.requests import Request
from bench.tables import Cell, Table, against
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API
from windlass.testing import crds
from windlass.testing.plane.errors import PlaneError
from windlass.testing.plane.ports import free_ports
from windlass.testing.plane.rest import Rest

RESYNCS = 6
PERIOD = 10.0
LOOKS = 0.5
"""Seconds between looks at /metrics, as `steady.LOOKS`, of a larger fleet."""
TARGET_READY, TARGET_PEAK = 10.0, 350.0


@dataclass(frozen=True)
class Seen:
    """What a run cost: seconds until ready and until all was looked at, megabytes, and what was asked."""

    ready: float
    looked_at: float
    cpu: float
    peak: float
    others: float
    asked: list[Request]


async def measure(directory: Path, *, objects: int, rounds: int, sets: int) -> list[Table]:
    """`objects` Machines in `sets` MachineSets; restarts, then resyncs."""
    authorities = [(CLUSTER_API, MACHINE_API)[number % 2] for number in range(sets)]
    each = max(1, objects // sets)
    count = each * sets
    async with Arena(directory) as arena:
        await arena.plane.apply_crds(*crds.documents(*crds.MACHINES))
        await machines.configure_cluster(arena.seed)
        place = await in_sync.make(arena, "fleet", authorities=authorities, machines_each=each)
        await _restart(arena, place, machines_count=count, sets=sets)
        restarts = [await _restart(arena, place, machines_count=count, sets=sets) for _ in range(rounds)]
        resyncs = await _resyncs(arena, place, machines_count=count, sets=sets)
    return [_table(restarts, resyncs, machines_count=count, sets=sets)]


async def _restart(arena: Arena, place: Place, *, machines_count: int, sets: int) -> Seen:
    log, probes, port, meter = arena.requests("windlass"), *free_ports(2), NoiseMeter()
    entry = machine_sync(arena, place, *steady.metrics_on(port), f"--health-probe-bind-address=127.0.0.1:{probes}")
    began = time.monotonic()
    with Contestant(entry.argv, log=arena.log("restart")) as contestant:
        while not await asyncio.to_thread(_is_ready, probes):
            if contestant.ended:
                raise RuntimeError(f"windlass ended: {contestant.last_words()}")
            await asyncio.sleep(0.05)
        ready = time.monotonic() - began
        await _until_looked_at(port, contestant, machines_count, sets)
        looked_at = time.monotonic() - began
        await asyncio.sleep(QUIET_SECONDS)
        used, noise = contestant.usage, meter.read()
    return Seen(ready, looked_at, used.cpu, used.peak, noise.others + noise.stolen, list(log.read()))


def _is_ready(port: int) -> bool:
    try:
        Rest(f"http://127.0.0.1:{port}").text("GET", "/readyz", seconds=5)
    except PlaneError:
        return False  # not listening yet, or not ready
    return True


async def _resyncs(arena: Arena, place: Place, *, machines_count: int, sets: int) -> Seen:
    port = free_ports(1)[0]
    entry = machine_sync(arena, place, f"--resync={PERIOD:g}s", *steady.metrics_on(port))
    with Contestant(entry.argv, log=arena.log("resyncs")) as contestant:
        sight = await _until_looked_at(port, contestant, machines_count, sets)
        log, before, meter = arena.requests("windlass"), contestant.usage.cpu, NoiseMeter()
        await _until_looked_at(port, contestant, sight.machines + RESYNCS * machines_count, sight.sets + RESYNCS * sets)
        used, noise = contestant.usage, meter.read()
    return Seen(0.0, 0.0, used.cpu - before, used.peak, noise.others + noise.stolen, list(log.read()))


async def _until_looked_at(port: int, contestant: Contestant, machines_count: int, sets: int) -> steady.Sight:
    return await steady.until(
        port, lambda sight: sight.looked_at(machines=machines_count, sets=sets), contestant, every=LOOKS
    )


def _table(restarts: list[Seen], resyncs: Seen, *, machines_count: int, sets: int) -> Table:
    ready = statistics.median(one.ready for one in restarts)
    looked_at = statistics.median(one.looked_at for one in restarts)
    peak = max(one.peak for one in restarts)
    writes, others = (max(map(count, (one.asked for one in restarts))) for count in (steady.writes, steady.others))
    rows: list[dict[str, Cell]] = [
        {
            "what": f"restart after a released Lease, {len(restarts)} times",
            "ready, s": ready,
            "all looked at, s": looked_at,
            "CPU, s": statistics.median(one.cpu for one in restarts),
            "peak, MB": peak,
            "writes": writes,
            "other requests": others,
            "others, cores": max(one.others for one in restarts),
            "verdict": f"{against(ready, TARGET_READY, unit='s')}; {against(writes, 0)}; "
            f"{against(peak, TARGET_PEAK, unit='MB')}",
        },
        {
            "what": f"{RESYNCS} resyncs, {PERIOD:g} s apart",
            "CPU, s": resyncs.cpu,
            "peak, MB": resyncs.peak,
            "writes": steady.writes(resyncs.asked),
            "other requests": steady.others(resyncs.asked),
            "others, cores": resyncs.others,
            "verdict": f"{against(steady.writes(resyncs.asked), 0)}; {against(steady.others(resyncs.asked), 0)}; "
            f"{against(resyncs.peak, TARGET_PEAK, unit='MB')}",
        },
    ]
    notes = [
        "Ready: /readyz says so. All looked at: every Machine and MachineSet was found in sync, as /metrics says "
        f"(looked at every {LOOKS:g} s).",
        "Other requests: neither watches (the caches' lists among them) nor of the Lease; by the audit log.",
    ]
    title = f"Fleet: {machines_count} Machines in {sets} MachineSets in sync, half of them under each authority"
    return Table(title, list(rows[0]), rows, notes)
