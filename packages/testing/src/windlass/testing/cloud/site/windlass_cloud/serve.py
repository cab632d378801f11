"""`python -m windlass_cloud.serve SETTINGS`: serve one OpenStack project on loopback until SIGTERM."""

import os
import signal
import sys
import traceback
from typing import Any

from .callers import Callers
from .front import SOCKET, Front
from .settings import HOST, Settings


def main(settings: Settings) -> None:
    """Start the workers, then listen: a port that answers means that the service is ready."""
    from cheroot import wsgi
    from cheroot.ssl.builtin import BuiltinSSLAdapter

    from . import sqlite  # noqa: F401 - before the project makes engines
    from .projects import load

    class Gateway(wsgi.Gateway_10):
        def get_environ(self) -> dict[str, Any]:
            return super().get_environ() | {SOCKET: self.req.conn.socket}

    # Projects read it as their own command line.
    sys.argv = sys.argv[:1]
    application, work = load(settings)
    workers = work()
    tokens = settings.state / "tokens"
    identity = settings.state / "db" / "keystone.sqlite" if settings.name == "keystone" else None
    server = wsgi.Server(
        (HOST, settings.port),
        Front(application, Callers(tokens, identity)),
        numthreads=24,
        max=48,
        request_queue_size=256,
        timeout=60,
        shutdown_timeout=1,
    )
    server.gateway = Gateway
    # Who made the cloud holds the port.
    server.reuse_port = True
    # The default closes all but ten idle connections.
    server.keep_alive_conn_limit = None
    if settings.certificate is not None:
        server.ssl_adapter = BuiltinSSLAdapter(settings.certificate, settings.certificate)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)
    server.prepare()
    server.serve()
    del workers


def _end(*_: object) -> None:
    """End at once: threads of the workers would not."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    try:
        main(Settings.from_json(sys.argv[1]))
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
