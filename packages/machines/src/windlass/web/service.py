"""The process: follows the sources of all views, and serves the page until it is told to stop.

It reads and never writes, so it has no Lease. Sessions are in its memory: with more than one replica, whatever stands
before them has to keep a browser at the same one.
"""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from aiohttp import web
from msgspec import Struct, structs

from windlass.kube.client import Client
from windlass.kube.client.retry import RetryPolicy
from windlass.kube.config import ClusterConfig, Credential, FixedCredential, Impersonation
from windlass.kube.errors import ConfigError
from windlass.kube.logger import Logger
from windlass.kube.process.loopback import is_loopback
from windlass.kube.process.probes import probe_routes
from windlass.kube.process.serving import TlsFiles, serve
from windlass.web.access import REMEMBERED, Access, ClientOf, ClusterAccess, HomeAccess, Visitor
from windlass.web.app import Page
from windlass.web.board import Board
from windlass.web.overview import Overview
from windlass.web.personal import Readings
from windlass.web.streams import BEAT, Streams
from windlass.web.view import View

REVIEW_TIMEOUT = 5.0
DETAILS_TIMEOUT = 20.0

log = Logger(__name__)


class WebSettings(Struct, frozen=True, kw_only=True):
    """Where to listen. With `tls`, people sign in with tokens; without it, the address must be a loopback address, and
    the link that is printed is the key. `probes`: host and port of the probes, None for none. `remember`: seconds for
    which a confirmed right is believed."""

    host: str = "127.0.0.1"
    port: int = 0
    tls: TlsFiles | None = None
    probes: tuple[str, int] | None = None
    beat: float = BEAT
    remember: float = REMEMBERED


def _nothing(url: str) -> None: ...


async def run(
    views: Sequence[View],
    settings: WebSettings,
    *,
    config: ClusterConfig | None,
    user: str = "",
    serving: Callable[[str], None] = _nothing,
) -> None:
    """Serve until SIGTERM or SIGINT. `config`: the cluster, None if all views show files. `serving` gets the URL that
    people open. Raises ConfigError."""
    stop = asyncio.Event()
    _on_signals(stop.set)
    async with AsyncExitStack() as stack:
        access = await _access(stack, views, settings, config, user)
        client = _client_of(config, own=not access.signs_in)
        readings = Readings(access, client)
        stack.push_async_callback(readings.close)
        streams = Streams(access, beat=settings.beat)
        boards = {view.name: Board(view.clock) for view in views}
        # A single view needs no page that leads to it.
        over = Overview(views, boards) if len(views) > 1 else None
        page = Page(views, boards, access=access, streams=streams, client=client, readings=readings, over=over)
        url = await stack.enter_async_context(
            serve(page.application(), host=settings.host, port=settings.port, tls=settings.tls)
        )
        await stack.enter_async_context(_probes(settings, boards))
        serving(f"{url}/?key={access.key}" if isinstance(access, HomeAccess) else url)
        await _follow(views, boards, until=stop, over=over)
        log.info("stopping")


async def _access(
    stack: AsyncExitStack, views: Sequence[View], settings: WebSettings, config: ClusterConfig | None, user: str
) -> Access:
    if settings.tls is None:
        if not is_loopback(settings.host):
            raise ConfigError(
                f"the page without TLS on {settings.host}: bind it to 127.0.0.1, or give --tls-cert and --tls-key"
            )
        return HomeAccess(user)
    if config is None:
        raise ConfigError("files are shown on this machine alone: leave out --tls-cert and --tls-key")
    # Reviews must not wait for other requests, and nobody waits long for them.
    reviews = Client(config, connections=4, timeout=REVIEW_TIMEOUT, retry=RetryPolicy(attempts=1))
    return ClusterAccess(await stack.enter_async_context(reviews), views, remember=settings.remember)


async def _follow(
    views: Sequence[View], boards: dict[str, Board], *, until: asyncio.Event, over: Overview | None
) -> None:
    """Run all sources. One ends by itself only through a bug, which is raised."""
    stopped = asyncio.create_task(until.wait(), name="until told to stop")
    sources = [asyncio.ensure_future(view.source(boards[view.name])) for view in views]
    if over:
        sources.append(asyncio.ensure_future(over.run()))
    try:
        await asyncio.wait([stopped, *sources], return_when=asyncio.FIRST_COMPLETED)
        for source in sources:
            if source.done():
                source.result()
    finally:
        for task in (stopped, *sources):
            task.cancel()
        await asyncio.gather(stopped, *sources, return_exceptions=True)


def _client_of(config: ClusterConfig | None, *, own: bool) -> ClientOf:
    """Clients for details: with this process's credentials only where they are the visitor's own."""

    @asynccontextmanager
    async def client(visitor: Visitor) -> AsyncIterator[Client]:
        if config is None:
            raise ConfigError("there is no cluster: files are shown")
        theirs = config
        if not own:
            credential = FixedCredential(Credential(authorization=f"Bearer {visitor.token}"))
            theirs = structs.replace(config, credentials=credential, impersonate=Impersonation())
        async with Client(theirs, connections=8, timeout=DETAILS_TIMEOUT, retry=RetryPolicy(attempts=2)) as made:
            yield made

    return client


@asynccontextmanager
async def _probes(settings: WebSettings, boards: dict[str, Board]) -> AsyncIterator[None]:
    if settings.probes is None:
        yield
        return
    app = web.Application()
    app.add_routes(
        probe_routes(
            ready=lambda: {name: "" if board.shown else "nothing was read yet" for name, board in boards.items()},
            live=dict,
        )
    )
    host, port = settings.probes
    async with serve(app, host=host, port=port) as url:
        log.info("probes", url=url)
        yield


def _on_signals(stop: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(number, stop)
        except (NotImplementedError, RuntimeError, ValueError):
            return  # not in the main thread: the caller there cancels
