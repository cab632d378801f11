"""Runs the process `windlass run CAPABILITY`: `windlass.kube.process.run`, as a capability fills it.

A capability brings a `Frame`: how it is elected, and its work. Work that has HTTP endpoints, or that follows feature
gates, has them for as long as its `run` lasts, also while the process stands by.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final, TypeAlias

from msgspec import structs

from windlass.capability.installed import NO_KINDS, Installed, Own
from windlass.kube.config import ClusterConfig
from windlass.kube.control.controller import Controller
from windlass.kube.process import run as process
from windlass.kube.process.lease import Election, own_identity
from windlass.kube.process.manager import Manager
from windlass.kube.process.run import Address, Frame, Names, Work, run_process
from windlass.kube.process.tasks import end

__all__ = ["Address", "Frame", "Make", "ProcessSettings", "Steady", "Work", "configured", "run", "steady_frame"]

Make: TypeAlias = Callable[[Any], Controller[Any, Any]]
"""Makes a controller from its reader."""


class ProcessSettings(process.ProcessSettings, frozen=True, kw_only=True):
    """The same, with what every controller of a capability has in common: `resync` is in seconds."""

    workers: int = 16
    resync: float = 600.0


REQUESTS_OF_A_WORKER: Final = 4
"""How many requests to the API server one worker may have under way."""


async def run(config: ClusterConfig, settings: ProcessSettings, frame: Frame, *, own: Own = NO_KINDS) -> None:
    """Run until SIGTERM or SIGINT. `own`: the kinds without which the process is not ready."""
    await run_process(
        config,
        settings,
        structs.replace(
            frame,
            connections=REQUESTS_OF_A_WORKER * (settings.workers + 1),
            work=lambda manager, *rest: _with_own(frame.work(manager, *rest), Installed(own, manager.pool.unserved)),
        ),
        names=Names(process_log=__name__),
    )


def _with_own(work: Work, installed: Installed) -> Work:
    """The work of a capability, and beside it the look whether its own kinds are installed."""
    return Beside(work, installed.run, name="own kinds", report=installed.report)


class Beside:
    """`work`, and `other` for as long as it lasts. `report`: the checks of `other` for readiness."""

    def __init__(
        self,
        work: Work,
        other: Callable[[], Coroutine[Any, Any, None]],
        *,
        name: str,
        report: Callable[[], dict[str, str]] = dict,
    ) -> None:
        self._work = work
        self._other = other
        self._name = name
        self._report = report

    async def run(self) -> None:
        other = asyncio.create_task(self._other(), name=self._name)
        try:
            await self._work.run()
        finally:
            await end(other)

    def report(self) -> dict[str, str]:
        return {**self._work.report(), **self._report()}


class Steady(process.Steady):
    """Work that is the same on every cluster: the controllers run for as long as the process does."""

    def __init__(self, manager: Manager, makers: Sequence[Make], settings: ProcessSettings) -> None:
        super().__init__(manager, [configured(make, settings) for make in makers])


def configured(make: Make, settings: ProcessSettings) -> Make:
    """`make`, with the workers and the resync of the process."""
    return lambda reader: structs.replace(make(reader), workers=settings.workers, resync=settings.resync)


def steady_frame(makers: Sequence[Make], *, lease: str, namespace: str) -> Frame:
    """Controllers that run while the Lease `namespace/lease` is held."""
    return Frame(
        elect=lambda client, times: Election(
            client, lease, namespace=namespace, identity=f"windlass_{own_identity()}", times=times
        ),
        work=lambda manager, _, settings: Steady(manager, makers, settings),
    )
