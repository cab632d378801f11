"""A program under test as a process that logs to a file, and that a test may kill.

An unread pipe would fill, and stop a process that has much to say.
"""

import asyncio
import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from aiohttp import ClientError, ClientSession

from tests.patience import PATIENCE
from tests.waiting import eventually
from windlass.testing.plane.ports import free_ports
from windlass.testing.plane.processes import Processes

ALONE: Final = ("--no-leader-elect",)
"""A replacement need not wait for the Lease of the killed one."""
QUICK: Final = (
    "--leader-elect-lease-duration=4s",
    "--leader-elect-renew-deadline=2s",
    "--leader-elect-retry-period=500ms",
)
"""Who stands by takes over within seconds."""
_NUMBERS = itertools.count(1)


class Program:
    """`argv` as a process. `probes` and, if they are wanted, `metrics` are where it serves them, at `ports`.

    `metrics` None: the program knows none.
    """

    def __init__(self, argv: Sequence[str | Path], folder: Path, *, metrics: bool | None) -> None:
        number = next(_NUMBERS)
        self.log = folder / f"windlass-{number}.log"
        self.ports = probes, port = free_ports(2)
        self.probes, self.metrics = f"http://127.0.0.1:{probes}", f"http://127.0.0.1:{port}"
        self._argv = [*argv, f"--health-probe-bind-address=127.0.0.1:{probes}"]
        if metrics is not None:
            self._argv.append(f"--metrics-bind-address={f'127.0.0.1:{port}' if metrics else '0'}")
        self._processes = Processes(folders=[], log=folder / f"windlass-{number}.supervisor.log")

    async def start(self) -> None:
        """Start it; it works a moment later."""
        await asyncio.to_thread(self._processes.start, "windlass", self._argv, log=self.log)

    async def ready(self) -> None:
        """Return once it leads or is ready to: its caches are filled."""
        async with ClientSession() as session:
            await eventually(lambda: self._ready(session), lambda status: status == 200, what=f"ready, see {self.log}")

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

    async def scrape(self) -> str:
        """What it shows on /metrics, as text."""
        async with ClientSession() as session, session.get(f"{self.metrics}/metrics") as answer:
            assert answer.status == 200
            return await answer.text()

    async def figures(self) -> dict[str, float]:
        """What it shows on /metrics: values by name, and by labels as they are written there."""
        parts = (line.rpartition(" ") for line in (await self.scrape()).splitlines() if not line.startswith("#"))
        return {name: float(value) for name, _, value in parts}

    def close(self) -> None:
        self._processes.stop("windlass")
        self._processes.close()

    async def _ready(self, session: ClientSession) -> int:
        assert await self.exit_code() is None, self.log.read_text()
        try:
            async with session.get(f"{self.probes}/readyz") as answer:
                return answer.status
        except (OSError, ClientError):
            return 0


@asynccontextmanager
async def starting(argv: Sequence[str | Path], folder: Path, *, metrics: bool | None = False) -> AsyncIterator[Program]:
    """A process that was started this moment; it dies with the block at the latest. `folder` gets its log."""
    one = Program(argv, folder, metrics=metrics)
    try:
        await one.start()
        yield one
    finally:
        await asyncio.to_thread(one.close)


@asynccontextmanager
async def running(argv: Sequence[str | Path], folder: Path, *, metrics: bool | None = False) -> AsyncIterator[Program]:
    """A process that is ready."""
    async with starting(argv, folder, metrics=metrics) as one:
        await one.ready()
        yield one
