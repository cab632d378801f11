"""Measures many OpenStackMachines: until all are provisioned, at rest, and deleted: memory, loop lag, writes.

Cluster API's manager makes the Machines. The cloud is a model behind HTTP (`model_cloud`).
"""

import asyncio
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench import model_cloud
from bench.contestant import ROOT, environment
from bench.machine import NoiseMeter, usage
from bench.requests import RequestLog
from bench.servers import MACHINES, USER, at_work, control_plane, scale, until
from bench.tables import Cell, Table, against
from windlass.testing.machines import cluster_api
from windlass.testing.plane.control_plane import BlockingControlPlane
from windlass.testing.plane.ports import free_ports
from windlass.testing.plane.rest import Rest

REST_SECONDS = 60.0
TARGET_MB, TARGET_LAG, TARGET_SHARE = 220.0, 0.05, 1.0


@dataclass(frozen=True)
class Model:
    """The cloud of `model_cloud` at a port."""

    port: int
    network_id: str

    @property
    def clouds_yaml(self) -> str:
        return model_cloud.clouds_yaml(self.port)

    def delete(self) -> None:
        """Nothing: it ends with its process."""


async def measure(directory: Path, *, objects: int, rounds: int) -> list[Table]:
    return await asyncio.to_thread(_measure, directory, objects, rounds)


def _measure(directory: Path, objects: int, rounds: int) -> list[Table]:
    rows: list[dict[str, Cell]] = []
    for number in range(rounds):
        folder = directory / str(number)
        folder.mkdir(parents=True)
        rows += _round(folder, objects, number)
    notes = (
        f"late: beats of the event loop, two a second, that came more than {1000 * TARGET_LAG:.0f} ms late",
        "memory: peak of the process, keystoneauth included",
    )
    return [Table(f"{objects} OpenStackMachines", [*rows[0]], rows, notes)]


def _round(folder: Path, count: int, number: int) -> list[dict[str, Cell]]:
    argv = [sys.executable, "-m", "bench.model_cloud"]
    with (
        control_plane(folder) as plane,
        subprocess.Popen(argv, stdout=subprocess.PIPE, env=environment(), cwd=ROOT) as cloud,
    ):
        try:
            assert cloud.stdout is not None
            port, network = cloud.stdout.readline().decode().split()
            place = Model(int(port), network)
            cluster_api.start(plane, flags=["--kube-api-qps=200", "--kube-api-burst=400"])
            return [*_phases(folder, plane, place, count, number)]
        finally:
            cloud.kill()


def _phases(folder: Path, plane: BlockingControlPlane, place: Model, count: int, number: int) -> list[dict[str, Cell]]:
    (port,) = free_ports(1)
    flags = ("--metrics-bind-address", f"127.0.0.1:{port}", "--metrics-open")
    metrics = Rest(f"http://127.0.0.1:{port}")
    log = RequestLog(plane.connection.directory / "logs" / "audit.log", user=USER)
    rows: list[dict[str, Cell]] = []

    def row(phase: str, process: "subprocess.Popen[bytes]", began: float, before: Mapping[float, float]) -> None:
        used, beats = usage(process.pid), _beats(metrics)
        seconds = time.monotonic() - began
        total = beats[float("inf")] - before.get(float("inf"), 0.0)
        late = 100 * (1 - (beats[TARGET_LAG] - before.get(TARGET_LAG, 0.0)) / total)
        writes = sum(request.is_write and not request.is_of_lease for request in log.read())
        verdict = f"{against(used.peak, TARGET_MB, unit='MB')}; late {against(late, TARGET_SHARE, unit='%')}"
        rows.append(
            {
                "round": number + 1,
                "what": phase,
                "seconds": seconds,
                "memory, MB": used.peak,
                "CPU, s": used.cpu,
                "late, %": late,
                "API writes": writes,
                "others, cores": noise.read().others,
                "wanted": verdict,
            }
        )

    with at_work(plane, place, folder / "run.log", *flags) as process:
        noise, began, before = NoiseMeter(), time.monotonic(), _beats(metrics)
        scale(plane, count)
        row("until provisioned", process, began, before)
        noise, began, before = NoiseMeter(), time.monotonic(), _beats(metrics)
        time.sleep(REST_SECONDS)
        row("at rest", process, began, before)
        plane.rest.request("DELETE", f"{MACHINES}/machinesets/bench")
        noise, began, before = NoiseMeter(), time.monotonic(), _beats(metrics)
        until(lambda: not plane.rest.request("GET", f"{MACHINES}/machines")["items"], pace=1.0)
        row("until deleted", process, began, before)
    return rows


def _beats(metrics: Rest) -> dict[float, float]:
    """How many beats of the event loop were at most so late, by seconds."""
    text = metrics.text("GET", "/metrics", seconds=10.0)
    found = re.findall(r'windlass_loop_lag_seconds_bucket\{[^}]*le="([^"]+)"[^}]*\} (\S+)', text)
    return {float(bound): float(count) for bound, count in found}
