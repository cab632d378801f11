"""Serves HTTP beside the controllers while a context is open, with TLS files that may be rotated.

    async with serve(app, host="127.0.0.1", port=0) as url:
        print(url)                                     # http://127.0.0.1:43211

`tls` names the files of a certificate and its key, as cert-manager and OpenShift's service CA mount them. They are
read again when they change; connections made since then see the new certificate.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from aiohttp import web
from msgspec import Struct

from windlass.kube.clock import Clock, SystemClock
from windlass.kube.errors import ConfigError
from windlass.kube.logger import Logger
from windlass.kube.process.accepting import Entrance, Limits
from windlass.kube.process.tasks import end

_LOOK_EVERY = 30.0


class TlsFiles(Struct, frozen=True):
    """A certificate chain and its private key, both PEM."""

    certificate: Path
    key: Path

    def context(self) -> ssl.SSLContext:
        """Raises ConfigError that names the file and what is wrong with it."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.load_into(context)
        return context

    def load_into(self, context: ssl.SSLContext) -> None:
        for file in (self.certificate, self.key):
            if not file.is_file():
                raise ConfigError(f"no TLS file {file}: check the flags and the volume mounts")
        try:
            context.load_cert_chain(self.certificate, self.key)
        except (ssl.SSLError, OSError) as error:
            raise ConfigError(f"TLS certificate {self.certificate} with key {self.key}: {error}") from error

    @property
    def version(self) -> tuple[int, ...]:
        """Changes when a file does."""
        found = []
        for file in (self.certificate, self.key):
            with suppress(OSError):
                found.append(file.stat().st_mtime_ns)
        return tuple(found)


@asynccontextmanager
async def serve(
    app: web.Application,
    *,
    host: str,
    port: int,
    tls: TlsFiles | None = None,
    limits: Limits | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[str]:
    """Serve `app` while the context is open; yields the URL. Port 0: any free one.

    `limits`: what connections may cost on which nothing is answered, see `windlass.kube.process.accepting`. Raises
    ConfigError if the address cannot be bound or the TLS files cannot be used.
    """
    context = tls.context() if tls else None
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    entrance = Entrance(runner, limits or Limits(), context)
    app.middlewares.append(entrance.count)
    await runner.setup()
    try:
        try:
            listening = await asyncio.get_running_loop().create_server(entrance.accept, host, port, backlog=128)
        except OSError as error:
            why = error.strerror or str(error)
            raise ConfigError(f"cannot listen on {host}:{port}: {why}: choose another address or port") from error
        bound = listening.sockets[0].getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        reload = asyncio.create_task(_reload(tls, context, clock or SystemClock())) if tls and context else None
        try:
            yield f"{'https' if tls else 'http'}://{shown}:{bound}"
        finally:
            if reload:
                await end(reload)
            listening.close()
            entrance.close()
    finally:
        await stop(runner)


async def stop(runner: web.AppRunner) -> None:
    """End a server and all its connections before this returns.

    A TLS connection that is only closed waits for its peer to say the same, for half a minute: an event loop that ends
    sooner leaves the socket open.
    """
    opened = [connection.transport for connection in runner.server.connections] if runner.server else []
    await runner.cleanup()
    for transport in opened:
        if transport is not None:
            transport.abort()
    # The loop closes the socket of an aborted connection in its next turn.
    await asyncio.sleep(0)


async def _reload(tls: TlsFiles, context: ssl.SSLContext, clock: Clock) -> None:
    log = Logger(__name__)
    known = tls.version
    while True:
        await clock.sleep(_LOOK_EVERY)
        if (now := tls.version) != known:
            try:
                tls.context()  # a trial: a failure half-way would leave the live context without a key
                tls.load_into(context)
            except ConfigError as error:
                log.warning("rotated TLS files cannot be used yet", error=str(error))
            else:
                known = now
                log.info("TLS files reloaded", certificate=str(tls.certificate))
