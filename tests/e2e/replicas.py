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

from tests.waiting import eventually
from windlass.testing.plane.ports import free_ports
from windlass.testing.plane.processes import Processes

from ..api.machine_sync.stage import Stage

ALONE = ("--no-leader-elect",)

_NUMBERS = itertools.count(1)


class Replica:
    """One process. It dies with the test at the latest."""

    def __init__(self, stage: Stage, folder: Path, *arguments: str) -> None:
        number = next(_NUMBERS)
        self._stage = stage
        self._log = folder / f"windlass-{number}.log"
        (self._port,) = free_ports(1)
        self._argv = [
            *(sys.executable, "-m", "windlass", f"--kubeconfig={stage.account}", "run", "machine-sync"),
            f"--machine-api-namespace={stage.namespaces.machine_api}",
            f"--cluster-api-namespace={stage.namespaces.cluster_api}",
            f"--health-probe-bind-address=127.0.0.1:{self._port}",
            "--metrics-bind-address=0",
            *arguments,
        ]
        self._processes = Processes(folders=[], log=folder / f"windlass-{number}.supervisor.log")

    async def start(self) -> None:
        """Start it, and wait until it leads or is ready to."""
        await asyncio.to_thread(self._processes.start, "windlass", self._argv, log=self._log)
        async with ClientSession() as session:
            await eventually(lambda: self._ready(session), lambda status: status == 200, what=f"ready, see {self._log}")

    async def kill(self) -> None:
        """SIGKILL: it has no time for anything."""
        await asyncio.to_thread(self._processes.kill, "windlass")

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
async def replica(stage: Stage, folder: Path, *arguments: str) -> AsyncIterator[Replica]:
    """A process on the namespaces of `stage`, under the ServiceAccount that is shipped, ready."""
    one = Replica(stage, folder, *arguments)
    try:
        await one.start()
        yield one
    finally:
        await asyncio.to_thread(one.close)
