"""Builds a part from its pinned Go module. Needs only a Go module proxy.

The pins are copied out of the package first (a wheel may be read-only and `go` locks the folder). The build cannot
change them: it uses `-mod=readonly`, and checks every module against the go.sum that we ship.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections import deque
from collections.abc import Iterable
from importlib.resources import as_file
from pathlib import Path

from windlass.testing.binaries.errors import BuildFailed
from windlass.testing.binaries.parts import Part, Platform
from windlass.testing.binaries.progress import Clock, Report
from windlass.testing.binaries.toolchain import Go

_REPORT_EVERY = 10.0
_PACKAGE_LINE = re.compile(r"^[\w.~/-]+$")


class Compiler:
    """Builds parts for one platform with one toolchain; `build_cache` is Go's and may be removed afterwards."""

    def __init__(self, go: Go, target: Platform, *, build_cache: Path, report: Report) -> None:
        self._go = go
        self._environment = go.environment(target, build_cache=build_cache)
        self._report = report

    def build(self, part: Part, destination: Path) -> None:
        """Put the part's programs into `destination`, its CRDs into `destination/crds`. Raises BuildFailed."""
        clock = Clock()
        with tempfile.TemporaryDirectory(prefix="windlass-pins-") as temporary:
            pins = Path(temporary)
            with as_file(part.sources) as sources:
                for file in part.files:
                    shutil.copyfile(sources / file, pins / file)
            if part.programs:
                self._build_programs(part, pins, destination, clock=clock)
            if part.crds:
                self._copy_crds(part, pins, destination / "crds")
        self._report(f"{part.name} {part.version}: done ({clock})")

    def _build_programs(self, part: Part, pins: Path, destination: Path, *, clock: Clock) -> None:
        flags = " ".join(["-s -w", *(f"-X {variable}" for variable in part.link_variables)])
        tags = ["-tags", ",".join(part.tags)]
        self._report(f"{part.name} {part.version}: loading modules")
        packages = [program.package for program in part.programs]
        total = len(self._run(pins, "list", "-mod=readonly", *tags, "-deps", *packages).split())
        for program in part.programs:
            self._compile(
                pins,
                [*tags, "-ldflags", flags, "-o", str(destination / program.name), program.package],
                doing=f"{part.name} {part.version}: compiling {program.name}",
                clock=clock,
                total=total,
            )

    def _compile(self, pins: Path, arguments: list[str], *, doing: str, clock: Clock, total: int) -> None:
        """Run `go build -v`, which prints each package as it is compiled, and report their number."""
        command = [str(self._go.program), "build", "-v", "-mod=readonly", "-trimpath", *arguments]
        compiled, next_report = 0, clock.seconds
        output: deque[str] = deque(maxlen=30)
        with subprocess.Popen(
            command,
            cwd=pins,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stderr is not None
            for line in process.stderr:
                if _PACKAGE_LINE.match(line.rstrip()):
                    compiled += 1
                else:
                    output.append(line.rstrip())
                if clock.seconds >= next_report:
                    self._report(f"{doing}, {compiled} of at most {total} packages ({clock})")
                    next_report = clock.seconds + _REPORT_EVERY
        if process.returncode != 0:
            raise BuildFailed(_explain(doing, output))

    def _copy_crds(self, part: Part, pins: Path, destination: Path) -> None:
        source = self.module_folder(part, pins) / part.crds
        destination.mkdir()
        for pattern in part.crd_files or ("*.yaml",):
            files = sorted(source.glob(pattern))
            if not files:
                raise BuildFailed(f"{part.module} {part.version} has no {pattern} in {part.crds}: correct parts.py")
            for file in files:
                # The module cache is read-only; copy2 would carry that over and make our own folder unremovable.
                shutil.copyfile(file, destination / file.name)

    def module_folder(self, part: Part, pins: Path) -> Path:
        """Where the sources of the part's module lie after loading them, checked against its go.sum."""
        said = json.loads(self._run(pins, "mod", "download", "-json", part.module))
        return Path(said["Dir"])

    def _run(self, pins: Path, *arguments: str) -> str:
        done = subprocess.run(
            [self._go.program, *arguments], cwd=pins, env=self._environment, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise BuildFailed(_explain(f"go {' '.join(arguments[:2])}", (done.stderr or done.stdout).splitlines()))
        return done.stdout


def _explain(doing: str, output: Iterable[str]) -> str:
    tail = "\n".join(f"    {line}" for line in deque(output, maxlen=30))
    proxy = os.environ.get("GOPROXY") or "Go's default module proxy, https://proxy.golang.org"
    return (
        f"{doing} failed; the toolchain said:\n{tail}\n"
        f"Modules are loaded from {proxy}. If it cannot be reached from here, set GOPROXY to one that can, "
        "or point KUBEBUILDER_ASSETS at a folder that holds etcd and kube-apiserver."
    )
