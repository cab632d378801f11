"""Runs the process `windlass run CAPABILITY`, from credentials to a clean shutdown.

    config ── lease client ── election ──┐
        └──── client (fenced by it) ─────┴── manager ── controllers
                   └── work: what the capability does while the process lives; it starts and stops the controllers
    process: signals, the drain and its deadline; probes and metrics beside it

A capability brings a `Frame`: how it is elected, and its work. Work that has HTTP endpoints, or that follows feature
gates, has them for as long as its `run` lasts, also while the process stands by.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct, structs

from windlass.capability.installed import NO_KINDS, Installed, Own
from windlass.kube.cache import INACTIVITY
from windlass.kube.client import Client
from windlass.kube.client.retry import RetryPolicy
from windlass.kube.client.warnings import once
from windlass.kube.config import ClusterConfig
from windlass.kube.control.controller import Controller
from windlass.kube.control.effects import Carrier
from windlass.kube.control.metrics import Metrics
from windlass.kube.logger import Logger
from windlass.kube.process.lease import Election, LeaseTimes, own_identity
from windlass.kube.process.manager import Manager
from windlass.kube.process.process import Process
from windlass.kube.process.tasks import end

if TYPE_CHECKING:
    from windlass.kube.process.serving import TlsFiles


class Address(Struct, frozen=True):
    """Where to listen. Port 0 is any free one."""

    host: str
    port: int


class ProcessSettings(Struct, frozen=True, kw_only=True):
    """How the process runs; times in seconds.

    `times` None: no election, and nobody else is looked for. `probes` and `metrics` None: not served. `metrics_open`:
    without authentication, which is only possible on a loopback address. `request_timeout`: writes may get less, so
    that they end while the Lease is held. `inactivity`: seconds of silence after which a watch is dead.
    """

    times: LeaseTimes | None = LeaseTimes()
    workers: int = 16
    resync: float = 600.0
    request_timeout: float = 30.0
    drain: float = 20.0
    inactivity: float = INACTIVITY
    probes: Address | None = None
    metrics: Address | None = None
    metrics_open: bool = False
    metrics_tls: "TlsFiles | None" = None


class Work(Protocol):
    """The work of a capability while its process lives."""

    async def run(self) -> None:
        """Work until cancelled. It ends by itself only through a bug, which is raised."""
        ...

    def report(self) -> dict[str, str]:
        """For readiness: the name of each check, and why it fails (empty: it does not)."""
        ...


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
    log = Logger(__name__)
    metrics = Metrics(host=config.server)
    async with AsyncExitStack() as stack:
        process = await stack.enter_async_context(Process(drain_seconds=settings.drain))
        lease_client = await stack.enter_async_context(Client(config, observer=metrics.request))
        election = frame.elect(lease_client, settings.times) if settings.times else None
        client = await stack.enter_async_context(_client(config, settings, frame, election, metrics))
        await stack.enter_async_context(frame.holding)
        manager = await stack.enter_async_context(
            Manager(
                client,
                election=election,
                metrics=metrics,
                linger_seconds=settings.drain,
                inactivity=settings.inactivity,
                systems=frame.systems,
            )
        )
        process.add(manager)
        work = frame.work(manager, election, settings)
        installed = Installed(own, manager.pool.unserved)

        def ready() -> dict[str, str]:
            return {**work.report(), **installed.report(), **process.report_ready()}

        working = asyncio.create_task(work.run(), name="work")
        saying = asyncio.create_task(installed.run(), name="own kinds")
        stack.push_async_callback(end, working, saying)
        # The first requests go out, and the server of probes is imported while the API server answers them.
        await asyncio.sleep(0)
        await stack.enter_async_context(_probes(settings, process, ready))
        await stack.enter_async_context(_metrics(settings, process, metrics, config))
        log.info("running", server=config.server, identity=election.identity if election else "")
        await _first_to_end(process, working)


def _client(
    config: ClusterConfig, settings: ProcessSettings, frame: Frame, election: Election | None, metrics: Metrics
) -> Client:
    def log_warning(text: str) -> None:
        level = logging.DEBUG if frame.is_noise(text) else logging.WARNING
        Logger(__name__).log(level, "the API server warns", warning=text)

    return Client(
        config,
        timeout=settings.request_timeout,
        connections=frame.requests * (settings.workers + 1),
        fence=election,
        observer=metrics.request,
        warned=once(log_warning),
    )


@asynccontextmanager
async def _probes(settings: ProcessSettings, process: Process, ready: Any) -> AsyncIterator[None]:
    if settings.probes is None:
        yield
        return
    # The server is half of aiohttp: it is not imported before it is needed.
    from aiohttp import web

    from windlass.kube.process.probes import probe_routes
    from windlass.kube.process.serving import serve

    app = web.Application()
    app.add_routes(probe_routes(ready=ready, live=process.report_live))
    async with serve(app, host=settings.probes.host, port=settings.probes.port) as url:
        Logger(__name__).info("probes", url=url)
        yield


@asynccontextmanager
async def _metrics(
    settings: ProcessSettings, process: Process, metrics: Metrics, config: ClusterConfig
) -> AsyncIterator[None]:
    where = settings.metrics
    if where is None:
        yield
        return
    from aiohttp import web

    from windlass.kube.process.guard import Guard
    from windlass.kube.process.scrape import METRICS, metrics_routes, open_metrics
    from windlass.kube.process.serving import serve

    app = web.Application()
    # Scrapes must not delay other requests: the guard's client has no fence, no shared connection and a short time-out.
    reviews = Client(config, observer=metrics.request, connections=4, timeout=5.0, retry=RetryPolicy(attempts=1))
    if settings.metrics_open:
        app.add_routes(open_metrics(process.metrics, host=where.host))
    else:
        app.add_routes(metrics_routes(process.metrics, guard=Guard(reviews, METRICS)))
    async with reviews, serve(app, host=where.host, port=where.port, tls=settings.metrics_tls) as url:
        Logger(__name__).info("metrics", url=f"{url}/metrics")
        yield


async def _first_to_end(process: Process, working: "asyncio.Task[None]") -> None:
    """Run until the process is told to stop. `working` ends by itself only through a bug, which is raised."""
    managing = asyncio.create_task(process.run(), name="process")
    try:
        await asyncio.wait([managing, working], return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
        await managing
    finally:
        await end(managing)


Make = Callable[[Any], Controller[Any, Any]]
"""Makes a controller from its reader."""


class Steady:
    """Work that is the same on every cluster: the controllers run for as long as the process does."""

    def __init__(self, manager: Manager, makers: Sequence[Make], settings: ProcessSettings) -> None:
        self._manager = manager
        self._makers = makers
        self._settings = settings
        self._started = False

    async def run(self) -> None:
        for make in self._makers:
            await self._manager.start(partial(self._configured, make))
        self._started = True
        await asyncio.Event().wait()

    def report(self) -> dict[str, str]:
        return {"controllers": "" if self._started else "not started yet"}

    def _configured(self, make: Make, reader: Any) -> Controller[Any, Any]:
        return structs.replace(make(reader), workers=self._settings.workers, resync=self._settings.resync)


def steady_frame(makers: Sequence[Make], *, lease: str, namespace: str) -> Frame:
    """Controllers that run while the Lease `namespace/lease` is held."""
    return Frame(
        elect=lambda client, times: Election(
            client, lease, namespace=namespace, identity=f"windlass_{own_identity()}", times=times
        ),
        work=lambda manager, _, settings: Steady(manager, makers, settings),
    )
