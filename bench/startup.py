"""Measures the wall time of `windlass --help` and of a start until the first request, beside that of Python itself."""

import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.contestant import ROOT, environment
from bench.machine import NoiseMeter
from bench.tables import Cell, Table, against

_TO_FIRST_REQUEST = "windlass run machine-sync, to its first request"
TARGETS = {"windlass --help": 100.0, _TO_FIRST_REQUEST: 250.0}
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
        times.setdefault(_TO_FIRST_REQUEST, []).append(_seconds_to_first_request(windlass) * 1000)
    noise = meter.read()
    rows: list[dict[str, Cell]] = []
    for name, taken in times.items():
        middle = statistics.median(taken)
        verdict = against(middle, TARGETS[name], unit="ms") if name in TARGETS else None
        rows.append({"command": name, "median, ms": middle, "best, ms": min(taken), "verdict": verdict})
    note = f"Others used {noise.others + noise.stolen:.2f} cores meanwhile."
    return [Table(f"Command line: wall time, {REPEATS} times in turn", list(rows[0]), rows, [note])]


def _seconds(argv: Sequence[str]) -> float:
    began = time.perf_counter()
    subprocess.run(argv, cwd=ROOT, env=environment(), check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def _seconds_to_first_request(windlass: str) -> float:
    """From the start of the process to its first connection: to a server that never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server, tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        cluster = {"server": f"http://127.0.0.1:{server.getsockname()[1]}"}
        context = {"cluster": "c", "user": "u"}
        json.dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "c", "cluster": cluster}],
                "users": [{"name": "u", "user": {"token": "none"}}],
                "contexts": [{"name": "c", "context": context}],
                "current-context": "c",
            },
            file,
        )
        file.flush()
        flags = ("--health-probe-bind-address=127.0.0.1:0", "--metrics-bind-address=127.0.0.1:0")
        argv = [windlass, "run", "machine-sync", f"--kubeconfig={file.name}", *flags]
        server.settimeout(30)
        began = time.perf_counter()
        with subprocess.Popen(
            argv, cwd=ROOT, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            try:
                server.accept()[0].close()
                return time.perf_counter() - began
            finally:
                process.kill()
