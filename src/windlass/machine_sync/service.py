"""The process `windlass run machine-sync`: everything put together, from credentials to a clean end.

    config ── lease client ── candidacy ┐
        └──── client (fenced by it) ────┴── manager ── controllers of Machines and MachineSets
                   └── activation: starts and stops the controllers by feature gate and platform
    process: signals, the drain and its deadline; probes and metrics beside it

OpenShift's own migration operator does the same job. Both compete for one Lease (`candidacy`): two of them would undo
each other's work.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import structlog
from aiohttp import web
from msgspec import Struct

from windlass.kube.cache import INACTIVITY
from windlass.kube.client import Client
from windlass.kube.client.retry import RetryPolicy
from windlass.kube.client.warnings import once
from windlass.kube.config import ClusterConfig
from windlass.kube.control.metrics import Metrics
from windlass.kube.process.lease import LeaseTimes
from windlass.kube.process.manager import Manager
from windlass.kube.process.probes import probe_routes
from windlass.kube.process.process import Process
from windlass.kube.process.scrape import Guard, metrics_routes, open_metrics
from windlass.kube.process.serving import TlsFiles, serve
from windlass.kube.process.tasks import end
from windlass.machine_sync.activation import Activation, Idle
from windlass.machine_sync.candidacy import Candidacy
from windlass.machine_sync.constants import MACHINE_API_FINALIZER, Namespaces
from windlass.machine_sync.controllers import makers
from windlass.machine_sync.metrics import AuthorityFigures, IdleFigures
from windlass.machine_sync.platforms import Platform


class Address(Struct, frozen=True):
    """Where to listen. Port 0 is any free one."""

    host: str
    port: int


class Settings(Struct, frozen=True, kw_only=True):
    """How the process runs; times in seconds.

    `times` None: no election, and nobody else is looked for: neither another replica nor OpenShift's operator. `probes`
    and `metrics` None: not served. `metrics_open`: without authentication, which is only possible on a loopback
    address. `request_timeout`: writes may get less, so that they end while the Lease is held. `inactivity`: seconds of
    silence after which a watch is dead.
    """

    namespaces: Namespaces = Namespaces()
    times: LeaseTimes | None = LeaseTimes()
    workers: int = 16
    resync: float = 600.0
    request_timeout: float = 30.0
    drain: float = 20.0
    inactivity: float = INACTIVITY
    probes: Address | None = None
    metrics: Address | None = None
    metrics_open: bool = False
    metrics_tls: TlsFiles | None = None


async def run(config: ClusterConfig, settings: Settings) -> None:
    """Run until SIGTERM or SIGINT."""
    log = structlog.stdlib.get_logger(__name__)
    metrics = Metrics(host=config.server)
    async with AsyncExitStack() as stack:
        process = await stack.enter_async_context(Process(drain_seconds=settings.drain))
        lease_client = await stack.enter_async_context(Client(config, observer=metrics.request))
        candidacy = _candidacy(lease_client, settings)
        client = await stack.enter_async_context(_client(config, settings, candidacy, metrics))
        manager = await stack.enter_async_context(
            Manager(
                client,
                election=candidacy,
                metrics=metrics,
                linger_seconds=settings.drain,
                inactivity=settings.inactivity,
            )
        )
        process.add(manager)
        metrics.registry.register(AuthorityFigures(manager.pool.ledger.cached))
        activation = _activation(manager, candidacy, settings)

        def idle() -> Idle | None:
            if isinstance(activation.latest, Idle):
                return activation.latest
            return candidacy.idle if candidacy else None

        metrics.registry.register(IdleFigures(idle))

        def ready() -> dict[str, str]:
            return {**activation.report(), **process.report_ready()}

        # Before anything that may take time, so that a slow start is not taken for a dead process.
        await stack.enter_async_context(_probes(settings, process, ready))
        await stack.enter_async_context(_metrics(settings, process, metrics, config))
        following = asyncio.create_task(activation.run(), name="activation")
        stack.push_async_callback(end, following)
        log.info("running", server=config.server, identity=candidacy.identity if candidacy else "")
        await _first_to_end(process, following)


def _candidacy(client: Client, settings: Settings) -> Candidacy | None:
    if settings.times is None:
        return None
    return Candidacy(client, namespace=settings.namespaces.cluster_api, times=settings.times)


def _client(config: ClusterConfig, settings: Settings, candidacy: Candidacy | None, metrics: Metrics) -> Client:
    return Client(
        config,
        timeout=settings.request_timeout,
        # `workers` for Machines and a quarter of that for sets, each with three objects to write to at a time.
        connections=4 * (settings.workers + 1),
        fence=candidacy,
        observer=metrics.request,
        warned=once(_log_warning),
    )


def _log_warning(text: str) -> None:
    # The Machine API chose that name before Kubernetes wished for a "/" in it: nobody who reads the log can change it.
    level = logging.DEBUG if MACHINE_API_FINALIZER in text else logging.WARNING
    structlog.stdlib.get_logger(__name__).log(level, "the API server warns", warning=text)


def _activation(manager: Manager, candidacy: Candidacy | None, settings: Settings) -> Activation:
    async def start(platform: Platform) -> None:
        for make in makers(
            platform=platform, namespaces=settings.namespaces, workers=settings.workers, resync=settings.resync
        ):
            name = await manager.start(make)
            running.append(name)
        if candidacy:
            candidacy.stand()

    async def stop() -> None:
        while running:
            await manager.stop(running.pop())
        if candidacy:
            candidacy.withdraw()

    running: list[str] = []

    return Activation(manager.pool, start=start, stop=stop)


@asynccontextmanager
async def _probes(settings: Settings, process: Process, ready: Any) -> AsyncIterator[None]:
    if settings.probes is None:
        yield
        return
    app = web.Application()
    app.add_routes(probe_routes(ready=ready, live=process.report_live))
    async with serve(app, host=settings.probes.host, port=settings.probes.port) as url:
        structlog.stdlib.get_logger(__name__).info("probes", url=url)
        yield


@asynccontextmanager
async def _metrics(
    settings: Settings, process: Process, metrics: Metrics, config: ClusterConfig
) -> AsyncIterator[None]:
    where = settings.metrics
    if where is None:
        yield
        return
    app = web.Application()
    # Who scrapes must not stand in the way of anything else: no fence, no shared connection, no patience.
    reviews = Client(config, observer=metrics.request, connections=4, timeout=5.0, retry=RetryPolicy(attempts=1))
    if settings.metrics_open:
        app.add_routes(open_metrics(process.metrics, host=where.host))
    else:
        app.add_routes(metrics_routes(process.metrics, guard=Guard(reviews)))
    async with reviews, serve(app, host=where.host, port=where.port, tls=settings.metrics_tls) as url:
        structlog.stdlib.get_logger(__name__).info("metrics", url=f"{url}/metrics")
        yield


async def _first_to_end(process: Process, following: "asyncio.Task[None]") -> None:
    """Until the process is told to stop; `following` never ends but by a bug, which is raised."""
    managing = asyncio.create_task(process.run(), name="process")
    try:
        await asyncio.wait([managing, following], return_when=asyncio.FIRST_COMPLETED)
        if following.done():
            following.result()
        await managing
    finally:
        await end(managing)
