"""The process `windlass-update-status`, which logs to a file and may be killed, and reads of what it keeps."""

import asyncio
import itertools
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import ClientError, ClientSession

from tests.patience import PATIENCE
from tests.waiting import eventually
from windlass.api import core
from windlass.api.update import UpdateStatus, UpdateStatusStatus
from windlass.api.update_record import UpdateRecord
from windlass.kube.client import Client
from windlass.kube.errors import NotFound
from windlass.testing import BlockingAccess
from windlass.testing.plane.ports import free_ports
from windlass.testing.plane.processes import Processes

DEPLOY = Path(__file__).parents[3] / "deploy" / "update-status"
CRDS = DEPLOY / "base" / "crds.yaml"
HOME, NAME = "windlass-update-status", "windlass-update-status"
"""Namespace and name of the ServiceAccount that is shipped, and of the Lease."""
USER = f"system:serviceaccount:{HOME}:{NAME}"
ALONE = ("--no-leader-elect",)
"""A replacement need not wait for the Lease of the killed one."""
QUICK = (
    "--leader-elect-lease-duration=4s",
    "--leader-elect-renew-deadline=2s",
    "--leader-elect-retry-period=500ms",
)
"""Who stands by takes over within seconds."""

_NUMBERS = itertools.count(1)
_PROGRAM = (str(Path(sys.executable).with_name("windlass-update-status")),)


def install(plane: BlockingAccess) -> Path:
    """Apply the rights as they are shipped; returns a kubeconfig of the ServiceAccount."""
    mco = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "openshift-machine-config-operator"}}
    plane.apply(mco)
    plane.apply_files(DEPLOY / "base" / "rbac.yaml")
    return plane.service_account_kubeconfig(HOME, NAME)


class Keeper:
    """One process. It dies with the test at the latest; `folder` gets its log."""

    def __init__(
        self, kubeconfig: Path, folder: Path, *arguments: str, metrics: bool = False, program: Sequence[str] = _PROGRAM
    ) -> None:
        number = next(_NUMBERS)
        self.log = folder / f"update-status-{number}.log"
        probes, port = free_ports(2)
        self.probes, self.metrics = f"http://127.0.0.1:{probes}", f"http://127.0.0.1:{port}"
        self._argv = [
            *program,
            f"--kubeconfig={kubeconfig}",
            f"--health-probe-bind-address=127.0.0.1:{probes}",
            f"--metrics-bind-address={f'127.0.0.1:{port}' if metrics else '0'}",
            *arguments,
        ]
        self._processes = Processes(folders=[], log=folder / f"update-status-{number}.supervisor.log")

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
        """SIGTERM. Returns the exit code."""
        await asyncio.to_thread(self._processes.stop, "windlass", grace=PATIENCE)
        return await asyncio.to_thread(self._processes.exit_code, "windlass")

    async def scrape(self) -> str:
        async with ClientSession() as session, session.get(f"{self.metrics}/metrics") as answer:
            assert answer.status == 200
            return await answer.text()

    async def figures(self) -> dict[str, float]:
        """What it shows on /metrics: values by name, and by labels as they are written there."""
        lines = (line for line in (await self.scrape()).splitlines() if not line.startswith("#"))
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}

    def close(self) -> None:
        self._processes.stop("windlass")
        self._processes.close()

    async def _ready(self, session: ClientSession) -> int:
        code = await asyncio.to_thread(self._processes.exit_code, "windlass")
        assert code is None, self.log.read_text()
        try:
            async with session.get(f"{self.probes}/readyz") as answer:
                return answer.status
        except (OSError, ClientError):
            return 0


@asynccontextmanager
async def keeping(
    kubeconfig: Path, folder: Path, *arguments: str, metrics: bool = False, program: Sequence[str] = _PROGRAM
) -> AsyncIterator[Keeper]:
    """A process that is ready."""
    one = Keeper(kubeconfig, folder, *arguments, metrics=metrics, program=program)
    try:
        await one.start()
        await one.ready()
        yield one
    finally:
        await asyncio.to_thread(one.close)


async def status(api: Client) -> UpdateStatusStatus:
    """What the UpdateStatus says; nothing if there is none."""
    try:
        return (await api.get(UpdateStatus, "cluster")).decode().status
    except NotFound:
        return UpdateStatusStatus()


async def until_status(api: Client, holds: Callable[[UpdateStatusStatus], Any], what: str) -> UpdateStatusStatus:
    found = await eventually(lambda: status(api), holds, what=what)
    assert isinstance(found, UpdateStatusStatus)
    return found


async def records(api: Client) -> list[UpdateRecord]:
    return [found.decode() for found in (await api.list(UpdateRecord)).items]


async def events(api: Client) -> list[core.Event]:
    """Those about the UpdateStatus that there is now."""
    try:
        uid = (await api.get(UpdateStatus, "cluster")).uid
    except NotFound:
        return []
    found = [one.decode() for one in (await api.list(core.Event, namespace="default")).items]
    return [one for one in found if one.involved_object.uid == uid]


def timeless(status: UpdateStatusStatus) -> Any:
    """The status without moments, to compare two that were written at different times."""
    return _timeless(msgspec.to_builtins(status))


_MOMENTS = {"acquiredAt", "lastTransitionTime", "observedSince", "startedAt", "estimatedCompletedAt"}


def _timeless(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _timeless(value) for key, value in tree.items() if key not in _MOMENTS}
    if isinstance(tree, list | tuple):
        return [_timeless(one) for one in tree]
    return tree
