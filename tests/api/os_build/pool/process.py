"""`windlass run os-build` as a process under the ServiceAccount that it has in a cluster, and what is left of it."""

import asyncio
import itertools
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import yaml
from aiohttp import ClientError, ClientSession

from tests.authorizer import until_allowed
from tests.patience import PATIENCE
from tests.waiting import eventually
from windlass.os_build.capability import HOME
from windlass.testing import BlockingAccess
from windlass.testing.plane.manifests import read_manifests
from windlass.testing.plane.ports import free_ports
from windlass.testing.plane.processes import Processes

NAME: Final = HOME
"""Of the ServiceAccount in the namespace of the same name."""
USER: Final = f"system:serviceaccount:{HOME}:{NAME}"
ALONE: Final = ("--no-leader-elect",)
"""A replacement need not wait for the Lease of the killed one."""
QUICK: Final = (
    "--leader-elect-lease-duration=4s",
    "--leader-elect-renew-deadline=2s",
    "--leader-elect-retry-period=500ms",
)
"""Who stands by takes over within seconds."""
_PROGRAM: Final = (sys.executable, "-m", "windlass")
_NUMBERS = itertools.count(1)


def rights(folder: Path) -> Path:
    """What `windlass manifests rbac os-build` prints, as a file."""
    printed = subprocess.run([*_PROGRAM, "manifests", "rbac", "os-build"], check=True, capture_output=True)
    file = folder / "rbac.yaml"
    file.write_bytes(printed.stdout)
    return file


def install(plane: BlockingAccess, folder: Path, *, namespace: str) -> Path:
    """Apply these rights, and wait until they are in force; returns a kubeconfig of the ServiceAccount."""
    plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    plane.apply(*read_manifests([rights(folder)]))
    until_allowed(plane.rest, USER, "create", "builds.build.openshift.io", namespace=namespace)
    until_allowed(plane.rest, USER, "patch", "machineconfigpools.machineconfiguration.openshift.io/status")
    return plane.service_account_kubeconfig(HOME, NAME)


def behind(kubeconfig: Path, url: str) -> Path:
    """A kubeconfig for the same user, who finds the API server at another address."""
    config = yaml.safe_load(kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = url
    file = kubeconfig.with_name(f"behind-{re.sub('[^0-9]', '', url)}.yaml")
    file.write_text(yaml.safe_dump(config))
    return file


class Windlass:
    """One process. It dies with the test at the latest; `folder` gets its log, and builds on this machine, if any."""

    def __init__(self, kubeconfig: Path, folder: Path, *arguments: str, registry: str, builds: Path | None) -> None:
        number = next(_NUMBERS)
        self.log = folder / f"os-build-{number}.log"
        self.builds = builds
        (self._port,) = free_ports(1)
        local = (f"--local-builds={builds}",) if builds else ()
        self._argv = [
            *(*_PROGRAM, f"--kubeconfig={kubeconfig}", "run", "os-build"),
            *("--apply-by=tree", "--debounce=0s", f"--insecure-registry={registry}"),
            *(f"--health-probe-bind-address=127.0.0.1:{self._port}", "--metrics-bind-address=0"),
            *(*local, *arguments),
        ]
        self._processes = Processes(folders=[], log=folder / f"os-build-{number}.supervisor.log")

    async def start(self) -> None:
        """Start it, and return when its caches are filled."""
        await asyncio.to_thread(self._processes.start, "windlass", self._argv, log=self.log)
        async with ClientSession() as session:
            await eventually(lambda: self._ready(session), lambda status: status == 200, what=f"ready, see {self.log}")

    async def kill(self) -> None:
        """SIGKILL: it has no time for anything."""
        await asyncio.to_thread(self._processes.kill, "windlass")

    async def end(self) -> int | None:
        """SIGTERM. Returns its exit code."""
        await asyncio.to_thread(self._processes.stop, "windlass", grace=PATIENCE)
        return await asyncio.to_thread(self._processes.exit_code, "windlass")

    def close(self) -> None:
        self._processes.stop("windlass")
        self._processes.close()

    async def _ready(self, session: ClientSession) -> int:
        code = await asyncio.to_thread(self._processes.exit_code, "windlass")
        assert code is None, self.log.read_text()
        try:
            async with session.get(f"http://127.0.0.1:{self._port}/readyz") as answer:
                return answer.status
        except (OSError, ClientError):
            return 0


@asynccontextmanager
async def running(kubeconfig: Path, folder: Path, *arguments: str, **options: Any) -> AsyncIterator[Windlass]:
    """A process that is ready."""
    one = Windlass(kubeconfig, folder, *arguments, **options)
    try:
        await one.start()
        yield one
    finally:
        await asyncio.to_thread(one.close)


def alive(folder: Path) -> list[str]:
    """The processes that have this folder of builds in their command lines, but for `windlass` itself."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = file.read_bytes().decode(errors="replace").replace("\0", " ")
        except OSError:
            continue
        if str(folder) in line and "--local-builds=" not in line:
            found.append(line)
    return found


def left(folder: Path) -> list[str]:
    """What is left of builds on this machine: processes, mounts and files. Stores of images may stay."""
    mounts = [line for line in Path("/proc/mounts").read_text().splitlines() if str(folder) in line]
    files = [str(path) for part in ("builds", "trash") for path in (folder / part).rglob("*")]
    return [*alive(folder), *mounts, *files]
