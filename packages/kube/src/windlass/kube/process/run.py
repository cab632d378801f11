"""Runs controllers as a process, from credentials to a clean shutdown: the one call of a program's `main`.

    from windlass.kube import Address, Names, ProcessSettings, run

    settings = ProcessSettings(probes=Address("0.0.0.0", 8081), metrics=Address("0.0.0.0", 8443))
    asyncio.run(run(mirror, lease="mirror", settings=settings, names=Names.of("mirror")))

    config ── lease client ── election ──┐
        └──── client (fenced by it) ─────┴── manager ── controllers
                   └── work: what the program does while the process lives; it starts and stops the controllers
    process: signals, the drain and its deadline; probes and metrics beside it

`run` has the same controllers for as long as the process lives. A program that starts and stops controllers, serves
HTTP endpoints, or competes for a Lease in its own way, brings a `Frame` with its `Work` to `run_process`.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from windlass.kube import config as configs
from windlass.kube.cache import INACTIVITY
from windlass.kube.client import Client
from windlass.kube.client.retry import RetryPolicy
from windlass.kube.client.warnings import once
from windlass.kube.config import ClusterConfig
from windlass.kube.control.controller import Controller
from windlass.kube.control.effects import Carrier
from windlass.kube.control.metrics import Metrics
from windlass.kube.logger import Logger
from windlass.kube.process import logs
from windlass.kube.process.lease import Election, LeaseTimes, own_identity
from windlass.kube.process.manager import Manager
from windlass.kube.process.process import Process
from windlass.kube.process.tasks import end

if TYPE_CHECKING:
    from windlass.kube.process.serving import TlsFiles

Make: TypeAlias = Controller[Any, Any] | Callable[[Any], Controller[Any, Any]]
"""A controller, or a function that makes the controller from its reader."""


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
    request_timeout: float = 30.0
    drain: float = 20.0
    inactivity: float = INACTIVITY
    probes: Address | None = None
    metrics: Address | None = None
    metrics_open: bool = False
    metrics_tls: "TlsFiles | None" = None


class Names(Struct, frozen=True, kw_only=True):
    """The names under which others see the process. The defaults are those of Windlass.

    field_manager   the writer of objects, in their managedFields
    lease_manager   the writer of the Lease, likewise
    user_agent      in audit logs of the API server; empty: windlass, with its version and Python's
    metric_prefix   the beginning of the metrics that controller-runtime does not have
    reconcile_log   the logger of reconciles
    process_log     the logger of the process: its addresses, warnings of the API server
    """

    field_manager: str = "windlass"
    lease_manager: str = "windlass-leader-election"
    user_agent: str = ""
    metric_prefix: str = "windlass"
    reconcile_log: str = "windlass.reconcile"
    process_log: str = __name__

    @classmethod
    def of(cls, program: str) -> Self:
        """All of them from the name of the program, which is written like a Deployment's: `config-mirror`."""
        return cls(
            field_manager=program,
            lease_manager=f"{program}-leader-election",
            user_agent=program,
            metric_prefix=program.replace("-", "_"),
            reconcile_log=f"{program}.reconcile",
            process_log=program,
        )


class Work(Protocol):
    """The work of a program while its process lives."""

    async def run(self) -> None:
        """Work until cancelled. It ends by itself only through a bug, which is raised."""
        ...

    def report(self) -> dict[str, str]:
        """For readiness: the name of each check, and why it fails (empty: it does not)."""
        ...


class Frame(Struct, frozen=True, kw_only=True):
    """The parts of a process that its program provides.

    elect         makes the candidate from a client without a fence
    work          makes the work from the manager whose controllers it starts, the candidate (None: no election) and
                  the settings that the process was given
    connections   how many requests to the API server may be under way
    is_noise      whether a warning of the API server is useless to readers of the log
    systems       the carriers for Calls of controllers
    holding       what the carriers need: entered before anything works, left when the last key in work has ended
    """

    elect: Callable[[Client, LeaseTimes], Election]
    work: Callable[[Manager, Any, Any], Work]
    connections: int = 128
    is_noise: Callable[[str], bool] = lambda _: False
    systems: Mapping[str, Carrier[Any]] = {}
    holding: AbstractAsyncContextManager[Any] = nullcontext()


_SETTINGS = ProcessSettings()
_NAMES = Names()


async def run(
    *controllers: Make,
    config: ClusterConfig | None = None,
    lease: str = "",
    lease_namespace: str = "",
    settings: ProcessSettings = _SETTINGS,
    names: Names = _NAMES,
    log_level: str = "info",
    log_format: logs.Format = "auto",
) -> None:
    """Run these controllers until SIGTERM or SIGINT.

    config            the cluster; None: the one that kubectl would use, in a pod its own
    lease             the name of the Lease that the leader holds; empty: no election, so run one replica only
    lease_namespace   its namespace; empty: that of `config`, in a pod its own
    log_level         empty: logging is left as it is, for a program that has set it up

    Raises ConfigError for a configuration, an address or files that cannot be used.
    """
    if not controllers:
        raise ValueError("run() has no controller, so it would never do anything: name at least one")
    if log_level:
        logs.configure(level=log_level, format=log_format)
    cluster = config or configs.load()

    def elect(client: Client, times: LeaseTimes) -> Election:
        return Election(
            client,
            lease,
            namespace=lease_namespace or cluster.namespace,
            identity=f"{names.field_manager}_{own_identity()}",
            times=times,
            field_manager=names.lease_manager,
        )

    await run_process(
        cluster,
        settings if lease else replace(settings, times=None),
        Frame(elect=elect, work=lambda manager, *_: Steady(manager, controllers)),
        names=names,
    )


async def run_process(config: ClusterConfig, settings: ProcessSettings, frame: Frame, *, names: Names = _NAMES) -> None:
    """Run until SIGTERM or SIGINT."""
    log = Logger(names.process_log)
    metrics = Metrics(host=config.server, prefix=names.metric_prefix)

    def log_warning(text: str) -> None:
        log.log(logging.DEBUG if frame.is_noise(text) else logging.WARNING, "the API server warns", warning=text)

    async with AsyncExitStack() as stack:
        process = await stack.enter_async_context(
            Process(drain_seconds=settings.drain, metric_prefix=names.metric_prefix)
        )
        lease_client = await stack.enter_async_context(
            Client(config, observer=metrics.request, user_agent=names.user_agent)
        )
        election = frame.elect(lease_client, settings.times) if settings.times else None
        client = await stack.enter_async_context(
            Client(
                config,
                field_manager=names.field_manager,
                user_agent=names.user_agent,
                timeout=settings.request_timeout,
                connections=frame.connections,
                fence=election,
                observer=metrics.request,
                warned=once(log_warning),
            )
        )
        await stack.enter_async_context(frame.holding)
        manager = await stack.enter_async_context(
            Manager(
                client,
                election=election,
                metrics=metrics,
                field_manager=names.field_manager,
                reconcile_log=names.reconcile_log,
                linger_seconds=settings.drain,
                inactivity=settings.inactivity,
                systems=frame.systems,
            )
        )
        process.add(manager)
        worked = frame.work(manager, election, settings)

        def ready() -> dict[str, str]:
            return {**worked.report(), **process.report_ready()}

        working = asyncio.create_task(worked.run(), name="work")
        stack.push_async_callback(end, working)
        # The first requests go out, and the server of probes is imported while the API server answers them.
        await asyncio.sleep(0)
        await stack.enter_async_context(_probes(settings, process, ready, log))
        await stack.enter_async_context(_metrics(settings, process, metrics, config, names))
        log.info("running", server=config.server, identity=election.identity if election else "")
        await _first_to_end(process, working)


@asynccontextmanager
async def _probes(
    settings: ProcessSettings, process: Process, ready: Callable[[], Mapping[str, str]], log: Logger
) -> AsyncIterator[None]:
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
        log.info("probes", url=url)
        yield


@asynccontextmanager
async def _metrics(
    settings: ProcessSettings, process: Process, metrics: Metrics, config: ClusterConfig, names: Names
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
    reviews = Client(
        config,
        observer=metrics.request,
        user_agent=names.user_agent,
        connections=4,
        timeout=5.0,
        retry=RetryPolicy(attempts=1),
    )
    if settings.metrics_open:
        app.add_routes(open_metrics(process.metrics, host=where.host))
    else:
        app.add_routes(metrics_routes(process.metrics, guard=Guard(reviews, METRICS)))
    async with reviews, serve(app, host=where.host, port=where.port, tls=settings.metrics_tls) as url:
        Logger(names.process_log).info("metrics", url=f"{url}/metrics")
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


class Steady:
    """Work that is the same on every cluster: the controllers run for as long as the process does."""

    def __init__(self, manager: Manager, makers: Sequence[Make]) -> None:
        self._manager = manager
        self._makers = makers
        self._started = False

    async def run(self) -> None:
        for make in self._makers:
            await self._manager.start(make)
        self._started = True
        await asyncio.Event().wait()

    def report(self) -> dict[str, str]:
        return {"controllers": "" if self._started else "not started yet"}
