"""The process `windlass run machine-sync`: everything put together, from credentials to a clean end.

    config ── lease client ── election ─┐
        └──── client (fenced by it) ────┴── manager ── controllers of Machines and MachineSets
                   └── activation: starts and stops the controllers by feature gate and platform
    probes and metrics beside them

OpenShift's own migration operator does the same job. While its Lease is held this process refuses to start: two of
them would undo each other's work.
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
from windlass.kube.config import ClusterConfig
from windlass.kube.errors import KubeError
from windlass.kube.lease import Election, Terms, held, own_identity
from windlass.kube.manager import Manager
from windlass.kube.metrics import Metrics
from windlass.kube.probes import probe_routes
from windlass.kube.retry import Retry
from windlass.kube.scrape import Guard, metrics_routes, open_metrics
from windlass.kube.serving import TlsFiles, serve
from windlass.kube.tasks import end
from windlass.kube.warnings import once
from windlass.machine_sync.activation import Activation
from windlass.machine_sync.constants import LEASE_NAME, MACHINE_API_FINALIZER, UPSTREAM_LEASE_NAME, Namespaces
from windlass.machine_sync.controllers import makers
from windlass.machine_sync.metrics import AuthorityFigures
from windlass.machine_sync.platforms import Platform


class Address(Struct, frozen=True):
    """Where to listen. Port 0 is any free one."""

    host: str
    port: int


class Settings(Struct, frozen=True, kw_only=True):
    """How the process runs; times in seconds.

    `terms` None: no election, this process is the only one. `lease_namespace` "" is the namespace of the credentials,
    in a pod its own. `probes` and `metrics` None: not served. `metrics_open`: without authentication, which is only
    possible on a loopback address. `request_timeout`: writes may get less, so that they end while the Lease
    is held. `inactivity`: seconds of silence after which a watch is dead.
    """

    namespaces: Namespaces = Namespaces()
    terms: Terms | None = Terms()
    lease_namespace: str = ""
    workers: int = 16
    resync: float = 600.0
    request_timeout: float = 30.0
    drain: float = 20.0
    inactivity: float = INACTIVITY
    probes: Address | None = None
    metrics: Address | None = None
    metrics_open: bool = False
    metrics_tls: TlsFiles | None = None


class UpstreamRunning(KubeError):
    """OpenShift's migration operator holds its Lease."""


async def run(config: ClusterConfig, settings: Settings) -> None:
    """Run until SIGTERM or SIGINT. Raises KubeErrors of what must work before anything can (Lease of upstream)."""
    log = structlog.stdlib.get_logger(__name__)
    metrics = Metrics(host=config.server)
    async with AsyncExitStack() as stack:
        lease_client = await stack.enter_async_context(Client(config, observer=metrics.request))
        election = _election(lease_client, config, settings)
        client = await stack.enter_async_context(_client(config, settings, election, metrics))
        manager = await stack.enter_async_context(
            Manager(
                client,
                election=election,
                metrics=metrics,
                drain_seconds=settings.drain,
                inactivity=settings.inactivity,
            )
        )
        metrics.registry.register(AuthorityFigures(manager.pool.ledger.cached))
        activation = _activation(manager, settings)

        def ready() -> dict[str, str]:
            return {**activation.report(), **manager.report_ready()}

        # Before anything that may take time, so that a slow start is not taken for a dead process.
        await stack.enter_async_context(_probes(settings, manager, ready))
        await stack.enter_async_context(_metrics(settings, metrics, config))
        await _refuse_beside_upstream(lease_client, settings.namespaces.cluster_api)
        following = asyncio.create_task(activation.run(), name="activation")
        stack.push_async_callback(end, following)
        log.info("running", server=config.server, identity=election.identity if election else "")
        await _first_to_end(manager, following)


async def _refuse_beside_upstream(client: Client, namespace: str) -> None:
    holder = await held(client, UPSTREAM_LEASE_NAME, namespace=namespace)
    if holder:
        raise UpstreamRunning(
            f"OpenShift's machine-api-migration operator is running: {holder} holds Lease "
            f"{namespace}/{UPSTREAM_LEASE_NAME}. Both would write the same objects; scale it down first "
            "(docs/runbook.md, Upgrade)"
        )


def _election(client: Client, config: ClusterConfig, settings: Settings) -> Election | None:
    if settings.terms is None:
        return None
    return Election(
        client,
        LEASE_NAME,
        namespace=settings.lease_namespace or config.namespace,
        identity=own_identity(),
        terms=settings.terms,
    )


def _client(config: ClusterConfig, settings: Settings, election: Election | None, metrics: Metrics) -> Client:
    return Client(
        config,
        timeout=settings.request_timeout,
        # `workers` for Machines and a quarter of that for sets, each with three objects to write to at a time.
        connections=4 * (settings.workers + 1),
        fence=election,
        observer=metrics.request,
        warned=once(_log_warning),
    )


def _log_warning(text: str) -> None:
    # The Machine API chose that name before Kubernetes wished for a "/" in it: nobody who reads the log can change it.
    level = logging.DEBUG if MACHINE_API_FINALIZER in text else logging.WARNING
    structlog.stdlib.get_logger(__name__).log(level, "the API server warns", warning=text)


def _activation(manager: Manager, settings: Settings) -> Activation:
    async def start(platform: Platform) -> None:
        for make in makers(
            platform=platform, namespaces=settings.namespaces, workers=settings.workers, resync=settings.resync
        ):
            name = await manager.start(make)
            running.append(name)

    async def stop() -> None:
        while running:
            await manager.stop(running.pop())

    running: list[str] = []

    return Activation(manager.pool, start=start, stop=stop)


@asynccontextmanager
async def _probes(settings: Settings, manager: Manager, ready: Any) -> AsyncIterator[None]:
    if settings.probes is None:
        yield
        return
    app = web.Application()
    app.add_routes(probe_routes(ready=ready, live=manager.report_live))
    async with serve(app, host=settings.probes.host, port=settings.probes.port) as url:
        structlog.stdlib.get_logger(__name__).info("probes", url=url)
        yield


@asynccontextmanager
async def _metrics(settings: Settings, metrics: Metrics, config: ClusterConfig) -> AsyncIterator[None]:
    where = settings.metrics
    if where is None:
        yield
        return
    app = web.Application()
    # Who scrapes must not stand in the way of anything else: no fence, no shared connection, no patience.
    reviews = Client(config, observer=metrics.request, connections=4, timeout=5.0, retry=Retry(attempts=1))
    if settings.metrics_open:
        app.add_routes(open_metrics(metrics, host=where.host))
    else:
        app.add_routes(metrics_routes(metrics, guard=Guard(reviews)))
    async with reviews, serve(app, host=where.host, port=where.port, tls=settings.metrics_tls) as url:
        structlog.stdlib.get_logger(__name__).info("metrics", url=f"{url}/metrics")
        yield


async def _first_to_end(manager: Manager, following: "asyncio.Task[None]") -> None:
    """Until the manager is told to stop; `following` never ends but by a bug, which is raised."""
    managing = asyncio.create_task(manager.run(), name="manager")
    try:
        await asyncio.wait([managing, following], return_when=asyncio.FIRST_COMPLETED)
        if following.done():
            following.result()
        await managing
    finally:
        await end(managing)
