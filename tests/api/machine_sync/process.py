"""`windlass run machine-sync` as a process, for tests that kill it."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.patience import PATIENCE

from .stage import Stage


class Process:
    """One process, and what it says."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    def kill(self) -> None:
        """SIGKILL: it has no time for anything."""
        self.process.kill()

    def terminate(self) -> None:
        """SIGTERM: it may come to a good end."""
        self.process.terminate()

    async def ends(self, *, within: float = PATIENCE) -> tuple[int, str]:
        """Its exit code and all it said on standard error."""
        async with asyncio.timeout(within):
            _, said = await self.process.communicate()
        assert self.process.returncode is not None
        return self.process.returncode, said.decode()


@asynccontextmanager
async def process(stage: Stage, *arguments: str, kubeconfig: Path | None = None) -> AsyncIterator[Process]:
    """A replica on the namespaces of `stage`, without listeners; killed at the end if it still runs."""
    one = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "windlass", "--kubeconfig", str(kubeconfig or stage.account), "run", "machine-sync"),
        *("--machine-api-namespace", stage.namespaces.machine_api),
        *("--cluster-api-namespace", stage.namespaces.cluster_api),
        *("--health-probe-bind-address", "0", "--metrics-bind-address", "0"),
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "NO_COLOR": "1"},
    )
    try:
        yield Process(one)
    finally:
        if one.returncode is None:
            one.kill()
            await one.communicate()
