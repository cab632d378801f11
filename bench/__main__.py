"""`python -m bench`: all tables, or one of them; see README.md."""

import argparse
import asyncio
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import (
    clusters,
    converge,
    estimate,
    first_list,
    fleet,
    hostile_clouds,
    informers,
    migrate,
    mirror,
    os_build_bases,
    os_builds,
    policies,
    server_fleet,
    server_migration,
    servers,
    startup,
    updates,
    web,
    writes,
)
from bench.contestant import ROOT, environment
from bench.machine import describe
from bench.tables import Table


@dataclass(frozen=True)
class Benchmark:
    """`objects`: how many by default."""

    measure: Callable[..., Coroutine[Any, Any, list[Table]]]
    objects: int = 2000


BENCHMARKS = {
    "converge": Benchmark(converge.measure),
    "mirror": Benchmark(mirror.measure),
    "migrate": Benchmark(migrate.measure, 500),
    "fleet": Benchmark(fleet.measure, 5000),
    "policies": Benchmark(policies.measure),
    "first-list": Benchmark(first_list.measure, 20_000),
    "writes": Benchmark(writes.measure),
    "updates": Benchmark(updates.measure),
    "informers": Benchmark(informers.measure, 50),
    "estimate": Benchmark(estimate.measure, 200),
    "web": Benchmark(web.measure, 200),
    "servers": Benchmark(servers.measure, 50),
    "clusters": Benchmark(clusters.measure, 3),
    "server-fleet": Benchmark(server_fleet.measure, 1000),
    "hostile-clouds": Benchmark(hostile_clouds.measure, hostile_clouds.SERVERS),
    "server-migration": Benchmark(server_migration.measure, 20),
    "os-build": Benchmark(os_builds.measure, 20),
    "os-build-bases": Benchmark(os_build_bases.measure, 10),
    "startup": Benchmark(startup.measure),
}
NAMES = [*BENCHMARKS, "convert"]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure Windlass beside its rivals.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(NAMES)}; all if none")
    sized = {name: one.objects for name, one in BENCHMARKS.items() if name not in ("startup", "updates", "writes")}
    usual = ", ".join(f"{name} {objects}" for name, objects in sized.items())
    parser.add_argument("-n", "--objects", "--machines", type=int, help=f"how many [default: {usual}]")
    parser.add_argument("--sets", type=int, default=200, help="MachineSets of the fleet [default: 200]")
    parser.add_argument("--rounds", type=int, default=3, help="how often each contestant runs [default: 3]")
    parser.add_argument("--directory", type=Path, help="keep logs of all processes there")
    settings = parser.parse_args()
    names = settings.names or NAMES
    if unknown := set(names) - set(NAMES):
        parser.error(f"no benchmark {', '.join(sorted(unknown))}: choose from {', '.join(NAMES)}")
    directory = settings.directory or Path(tempfile.mkdtemp(prefix="windlass-bench-"))
    print(f"# Results\n\nMeasured on {describe()}. How, and what the columns mean: README.md.\n", flush=True)
    try:
        for name in names:
            if name == "convert":
                _convert()
            else:
                print(*asyncio.run(_measure(name, directory / name, settings)), sep="\n", flush=True)
    finally:
        if settings.directory is None:
            shutil.rmtree(directory, ignore_errors=True)
    return 0


async def _measure(name: str, directory: Path, settings: argparse.Namespace) -> list[Table]:
    benchmark = BENCHMARKS[name]
    extent = {"objects": settings.objects or benchmark.objects, "rounds": settings.rounds}
    if name == "fleet":
        extent["sets"] = settings.sets
    return await benchmark.measure(directory, **extent)


def _convert() -> None:
    """In a process of its own, which has nothing else in memory."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.convert"], cwd=ROOT, env=environment(), check=True, text=True, capture_output=True
    )
    title, _, table = done.stdout.partition("\n")
    print(f"## Convert: {title}\n{table}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
