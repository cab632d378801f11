"""Measures the wall time of `windlass --help`, beside that of Python itself."""

import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench.contestant import ROOT, environment
from bench.machine import NoiseMeter
from bench.tables import Cell, Table, against

TARGET = 100.0
REPEATS = 21


async def measure(directory: Path, *, objects: int, rounds: int) -> list[Table]:
    """Commands in turn; the sizes of the other benchmarks mean nothing here."""
    windlass = str(Path(sys.executable).with_name("windlass"))
    commands = {
        "windlass --help": [windlass, "--help"],
        "windlass run machine-sync --help": [windlass, "run", "machine-sync", "--help"],
        "python -c pass": [sys.executable, "-c", "pass"],
    }
    for argv in commands.values():
        _seconds(argv)  # leaves compiled bytecode behind, as an installation does
    meter = NoiseMeter()
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(REPEATS):
        for name, argv in commands.items():
            times[name].append(_seconds(argv) * 1000)
    noise = meter.read()
    rows: list[dict[str, Cell]] = []
    for name, taken in times.items():
        middle = statistics.median(taken)
        verdict = against(middle, TARGET, unit="ms") if name == "windlass --help" else None
        rows.append({"command": name, "median, ms": middle, "best, ms": min(taken), "verdict": verdict})
    note = f"Others used {noise.others + noise.stolen:.2f} cores meanwhile."
    return [Table(f"Command line: wall time, {REPEATS} times in turn", list(rows[0]), rows, [note])]


def _seconds(argv: Sequence[str]) -> float:
    began = time.perf_counter()
    subprocess.run(argv, cwd=ROOT, env=environment(), check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began
