"""Runs the process `windlass run CAPABILITY`: `windlass.kube.process.run`, as a capability fills it.

A capability brings a `Frame`: how it is elected, and its work. Work that has HTTP endpoints, or that follows feature
gates, has them for as long as its `run` lasts, also while the process stands by.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import Any, TypeAlias

from msgspec import Struct, structs

from windlass.capability.installed import NO_KINDS, Installed, Own
from windlass.kube.client import Client
from windlass.kube.config import ClusterConfig
from windlass.kube.control.controller import Controller
from windlass.kube.control.effects import Carrier
from windlass.kube.process import run as process
from windlass.kube.process.lease import Election, LeaseTimes, own_identity
from windlass.kube.process.manager import Manager
from windlass.kube.process.run import Address, Names, Work, run_process
from windlass.kube.process.tasks import end

__all__ = ["Address", "Frame", "Make", "ProcessSettings", "Steady", "Work", "run", "steady_frame"]

Make: TypeAlias = Callable[[Any], Controller[Any, Any]]
"""Makes a controller from its reader."""


class ProcessSettings(process.ProcessSettings, frozen=True, kw_only=True):
    """The same, with what every controller of a capability has in common: `resync` is in seconds."""

    workers: int = 16
    resync: float = 600.0


class Frame(Struct, frozen=True, kw_only=True):
    """The parts of a process that a capability provides.

    elect       makes its candidate from a client without a fence
    work        makes its work from the manager whose controllers it starts and the candidate (None without an election)
    requests    how many requests to the API server one worker may have under way
    is_noise    whether a warning of the API server is useless to readers of the log
    systems     the carriers for Calls of controllers
    holding     what the carriers need: entered before anything works, left when the last key in work has ended
    """

    elect: Callable[[Client, LeaseTimes], Election]
    work: Callable[[Manager, Any, ProcessSettings], Work]
    requests: int = 4
    is_noise: Callable[[str], bool] = lambda _: False
    systems: Mapping[str, Carrier[Any]] = {}
    holding: AbstractAsyncContextManager[Any] = nullcontext()


async def run(config: ClusterConfig, settings: ProcessSettings, frame: Frame, *, own: Own = NO_KINDS) -> None:
    """Run until SIGTERM or SIGINT. `own`: the kinds without which the process is not ready."""
    await run_process(
        config,
        settings,
        elect=frame.elect,
        work=lambda manager, election: _WithOwn(
            frame.work(manager, election, settings), Installed(own, manager.pool.unserved)
        ),
        names=Names(process_log=__name__),
        connections=frame.requests * (settings.workers + 1),
        is_noise=frame.is_noise,
        systems=frame.systems,
        holding=frame.holding,
    )


class _WithOwn:
    """The work of a capability, and beside it the look whether its own kinds are installed."""

    def __init__(self, work: Work, installed: Installed) -> None:
        self._work = work
        self._installed = installed

    async def run(self) -> None:
        saying = asyncio.create_task(self._installed.run(), name="own kinds")
        try:
            await self._work.run()
        finally:
            await end(saying)

    def report(self) -> dict[str, str]:
        return {**self._work.report(), **self._installed.report()}


class Steady(process.Steady):
    """Work that is the same on every cluster: the controllers run for as long as the process does."""

    def __init__(self, manager: Manager, makers: Sequence[Make], settings: ProcessSettings) -> None:
        super().__init__(manager, [partial(_configured, make, settings) for make in makers])


def _configured(make: Make, settings: ProcessSettings, reader: Any) -> Controller[Any, Any]:
    return structs.replace(make(reader), workers=settings.workers, resync=settings.resync)


def steady_frame(makers: Sequence[Make], *, lease: str, namespace: str) -> Frame:
    """Controllers that run while the Lease `namespace/lease` is held."""
    return Frame(
        elect=lambda client, times: Election(
            client, lease, namespace=namespace, identity=f"windlass_{own_identity()}", times=times
        ),
        work=lambda manager, _, settings: Steady(manager, makers, settings),
    )
