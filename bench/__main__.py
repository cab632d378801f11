"""`python -m bench`: all tables, or one of them; see README.md."""

import argparse
import asyncio
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from bench import converge, mirror, startup
from bench.contestant import ROOT, environment
from bench.machine import describe
from bench.tables import Table

Benchmark = Callable[..., Coroutine[Any, Any, list[Table]]]

BENCHMARKS: dict[str, Benchmark] = {"converge": converge.measure, "mirror": mirror.measure, "startup": startup.measure}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure Windlass beside its rivals.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join([*BENCHMARKS, 'convert'])}; all if none")
    parser.add_argument("-n", "--objects", type=int, default=2000, help="how many [default: 2000]")
    parser.add_argument("--rounds", type=int, default=3, help="how often each contestant runs [default: 3]")
    parser.add_argument("--directory", type=Path, help="keep logs of all processes there")
    settings = parser.parse_args()
    names = settings.names or [*BENCHMARKS, "convert"]
    if unknown := set(names) - {*BENCHMARKS, "convert"}:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}: choose from {', '.join([*BENCHMARKS, 'convert'])}")
    directory = settings.directory or Path(tempfile.mkdtemp(prefix="windlass-bench-"))
    print(f"# Results\n\nMeasured on {describe()}. How, and what the columns mean: README.md.\n", flush=True)
    try:
        for name in names:
            if name == "convert":
                _convert()
                continue
            tables = asyncio.run(BENCHMARKS[name](directory / name, objects=settings.objects, rounds=settings.rounds))
            print(*tables, sep="\n", flush=True)
    finally:
        if settings.directory is None:
            shutil.rmtree(directory, ignore_errors=True)
    return 0


def _convert() -> None:
    """In a process of its own, which has nothing else in memory."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.convert"], cwd=ROOT, env=environment(), check=True, text=True, capture_output=True
    )
    title, _, table = done.stdout.partition("\n")
    print(f"## Convert: {title}\n{table}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
