"""Programs that only a benchmark needs, built or installed on first use and kept in Windlass's cache folder.

| program | from |
|---|---|
| the controller on controller-runtime | `bench/controller_runtime`, whose go.mod and go.sum pin everything |
| kopf | PyPI, into a virtual environment of its own |
"""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from windlass.kube.folders import cache_folder
from windlass.testing.binaries import Platform, to_stderr
from windlass.testing.binaries.toolchain import find_go

KOPF = "kopf==1.45.2"
_SOURCES = Path(__file__).parent / "controller_runtime"


def controller_runtime() -> Path:
    """The Go program. Raises what `find_go` raises, and CalledProcessError with the compiler's words printed."""
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in sorted(_SOURCES.iterdir()))).hexdigest()[:8]
    program = _folder() / f"controller-runtime-{digest}"
    if not program.exists():
        to_stderr(f"building {_SOURCES.name} into {program.parent}; once, about two minutes")
        go = find_go(cache_folder("control-plane") / ".tools", report=to_stderr)
        environment = go.environment(Platform.here(), build_cache=_folder() / ".go-build")
        # Under another name until it is whole.
        built = program.with_suffix(".incoming")
        _run([go.program, "build", "-mod=readonly", "-trimpath", "-ldflags=-s -w", "-o", built, "."], environment)
        built.rename(program)
        shutil.rmtree(_folder() / ".go-build", ignore_errors=True)
    return program


def kopf() -> Path:
    """The `kopf` command in its own environment, bytecode compiled."""
    folder = _folder() / KOPF.replace("==", "-")
    program = folder / "bin" / "kopf"
    if not program.exists():
        to_stderr(f"installing {KOPF} into {folder}")
        _run([sys.executable, "-m", "venv", folder])
        _run([folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--compile", KOPF])
    return program


def _folder() -> Path:
    folder = cache_folder("bench")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _run(argv: Sequence[str | Path], environment: dict[str, str] | None = None) -> None:
    subprocess.run(list(map(str, argv)), cwd=_SOURCES, env=environment, check=True, stdout=sys.stderr)
