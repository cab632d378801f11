"""`windlass run machine-sync` as processes that log to files, and that a test may kill.

An unread pipe would fill, and stop a process that has much to say.
"""

import asyncio
import itertools
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import ClientError, ClientSession

from tests.patience import PATIENCE
from tests.waiting import eventually
from windlass.testing.plane.ports import free_ports
from windlass.testing.plane.processes import Processes

from .stage import Stage

ALONE = ("--no-leader-elect",)
"""A replacement need not wait for the lease of the killed one."""

_NUMBERS = itertools.count(1)


class Replica:
    """One process on the namespaces of `stage`, under the ServiceAccount that is shipped or with another `kubeconfig`.

    It dies with the test at the latest. `folder` gets its log.
    """

    def __init__(self, stage: Stage, folder: Path, *arguments: str, kubeconfig: Path | None = None) -> None:
        number = next(_NUMBERS)
        self._log = folder / f"windlass-{number}.log"
        (self._port,) = free_ports(1)
        self._argv = [
            *(sys.executable, "-m", "windlass", f"--kubeconfig={kubeconfig or stage.account}", "run", "machine-sync"),
            f"--machine-api-namespace={stage.namespaces.machine_api}",
            f"--cluster-api-namespace={stage.namespaces.cluster_api}",
            f"--health-probe-bind-address=127.0.0.1:{self._port}",
            "--metrics-bind-address=0",
            *arguments,
        ]
        self._processes = Processes(folders=[], log=folder / f"windlass-{number}.supervisor.log")

    async def start(self) -> None:
        """Start it; it works a moment later."""
        await asyncio.to_thread(self._processes.start, "windlass", self._argv, log=self._log)

    async def ready(self) -> None:
        """Return once it leads or is ready to: its caches are filled."""
        async with ClientSession() as session:
            await eventually(lambda: self._ready(session), lambda status: status == 200, what=f"ready, see {self._log}")

    async def kill(self) -> None:
        """SIGKILL: it has no time for anything."""
        await asyncio.to_thread(self._processes.kill, "windlass")

    async def end(self) -> int | None:
        """SIGTERM: it may come to a good end. Returns its exit code."""
        await asyncio.to_thread(self._processes.stop, "windlass", grace=PATIENCE)
        return await self.exit_code()

    async def exit_code(self) -> int | None:
        """None while it runs; negative if a signal ended it."""
        return await asyncio.to_thread(self._processes.exit_code, "windlass")

    def close(self) -> None:
        self._processes.stop("windlass")
        self._processes.close()

    async def _ready(self, session: ClientSession) -> int:
        try:
            async with session.get(f"http://127.0.0.1:{self._port}/readyz") as answer:
                return answer.status
        except (OSError, ClientError):
            return 0


@asynccontextmanager
async def starting(
    stage: Stage, folder: Path, *arguments: str, kubeconfig: Path | None = None
) -> AsyncIterator[Replica]:
    """A process that was started this moment."""
    one = Replica(stage, folder, *arguments, kubeconfig=kubeconfig)
    try:
        await one.start()
        yield one
    finally:
        await asyncio.to_thread(one.close)


@asynccontextmanager
async def replica(stage: Stage, folder: Path, *arguments: str) -> AsyncIterator[Replica]:
    """A process that is ready."""
    async with starting(stage, folder, *arguments) as one:
        await one.ready()
        yield one
