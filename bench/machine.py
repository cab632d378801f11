"""Describes the computer, and measures the load of other processes during a run.

Two cores shared with others give noisy figures. Every timed run therefore reports how many cores other processes used,
and how many the hypervisor withheld.
"""

import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_TICKS = os.sysconf("SC_CLK_TCK")
_PROC = Path("/proc")


def describe() -> str:
    """Processor, cores, memory, kernel and Python in one line."""
    model = next((line.split(":")[1].strip() for line in _lines("cpuinfo") if line.startswith("model name")), "?")
    memory = next(int(line.split()[1]) for line in _lines("meminfo") if line.startswith("MemTotal"))
    return (
        f"{model}, {os.cpu_count()} cores, {memory / 2**20:.0f} GiB, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}"
    )


@dataclass(frozen=True)
class Usage:
    """What a process used so far: user and system CPU seconds, peak resident memory in MB."""

    cpu: float
    peak: float


def usage(pid: int) -> Usage:
    """Of all threads of a running process; what its children used is not counted."""
    stat = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    peak = next(line for line in _lines(f"{pid}/status") if line.startswith("VmHWM"))
    return Usage((int(stat[11]) + int(stat[12])) / _TICKS, int(peak.split()[1]) / 1024)


@dataclass(frozen=True)
class Noise:
    """Cores that others used, and that the hypervisor withheld, on average over a run."""

    others: float
    stolen: float


class NoiseMeter:
    """Begins to measure when it is made."""

    def __init__(self) -> None:
        self._before = _Ticks.now()

    def read(self) -> Noise:
        """Since the beginning. What a process of ours used that ended counts once its parent reaped it."""
        now, before = _Ticks.now(), self._before
        cores = os.cpu_count() or 1
        passed = max(1, now.all - before.all) / cores
        others = (now.busy - before.busy) - (now.ours - before.ours)
        return Noise(max(0.0, others / passed), (now.stolen - before.stolen) / passed)


@dataclass(frozen=True)
class _Ticks:
    all: int
    busy: int
    stolen: int
    ours: int

    @classmethod
    def now(cls) -> Self:
        user, nice, system, idle, wait, hard, soft, stolen = map(int, _lines("stat")[0].split()[1:9])
        busy = user + nice + system + hard + soft
        return cls(busy + idle + wait + stolen, busy, stolen, _family_ticks())


def _family_ticks() -> int:
    """CPU of this process and everything below it, and of those below that ended."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            parents[int(entry.name)] = int(fields[1])
            ticks[int(entry.name)] = sum(map(int, fields[11:15]))
    ours = {os.getpid()}
    grown = True
    while grown:
        found = {pid for pid, parent in parents.items() if parent in ours} - ours
        ours |= found
        grown = bool(found)
    return sum(ticks.get(pid, 0) for pid in ours)


def _lines(name: str) -> list[str]:
    return (_PROC / name).read_text().splitlines()
