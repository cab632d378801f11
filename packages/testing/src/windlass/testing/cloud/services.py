"""Runs the processes of one cloud: all of them end with this process, even by SIGKILL."""

import json
import os
import socket
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

from windlass.testing.cloud import config
from windlass.testing.cloud.errors import StartFailed, end_of
from windlass.testing.cloud.layout import COMPUTES, HOST, Layout
from windlass.testing.plane.processes import Processes
from windlass.testing.plane.waiting import wait_for

START_SECONDS = 180.0
"""How long a service may take to listen. All of them take 10 s on two idle cores; test machines are not idle."""

SITE = Path(__file__).with_name("site")
"""The folder of code that runs inside OpenStack's virtual environment."""

_STOP_SECONDS = 5.0
_NOT_INHERITED = ("OS_", "PYTHON", "http_", "https_", "HTTP_", "HTTPS_", "BOOTSTRAP_")


class Services:
    """The services of `layout`, each a process; `temporary` are folders to remove when all has ended."""

    def __init__(self, layout: Layout, *, temporary: Iterable[Path] = ()) -> None:
        self._layout = layout
        config.write(layout)
        self._processes = Processes(folders=[*temporary], log=layout.logs / "supervisor.log")
        self._started: set[str] = set()

    def start(self, *services: str) -> None:
        """Start services that do not run; returns when they are ready. Raises StartFailed."""
        for service in services:
            if not self.runs(service):
                self._processes.start(service, self._command(service), log=self._layout.log(service))
                self._started.add(service)
        for service in services:
            self._wait_until_ready(service)

    def stop(self, *services: str) -> None:
        """End services; nobody listens on their ports when this returns."""
        self._processes.stop(*self._started.intersection(services), grace=_STOP_SECONDS)

    def runs(self, service: str) -> bool:
        """Whether the process of a service was started and has not ended."""
        return service in self._started and self._processes.exit_code(service) is None

    def keep_folders(self) -> None:
        """Do not remove the temporary folders."""
        self._processes.keep_folders()

    def close(self) -> None:
        """Kill what runs, and remove the temporary folders."""
        self._processes.close()

    def _command(self, service: str) -> list[str | Path]:
        layout = self._layout
        ports = layout.ports
        settings = {
            "name": service,
            "etc": str(layout.etc(service)),
            "state": str(layout.state),
            "port": ports[service],
            "wait_for": [ports["keystone"], ports["placement"]],
            "computes": COMPUTES,
            "spawn_delay": layout.options.get("spawn_delay", 0.0),
            "lb_delay": layout.options.get("lb_delay", 0.2),
            "certificate": str(layout.certificate) if layout.certificate else None,
        }
        return [*program(layout, "windlass_cloud.serve"), json.dumps(settings)]

    def _wait_until_ready(self, service: str) -> None:
        port = self._layout.ports[service]

        def look() -> bool | None:
            if (code := self._processes.exit_code(service)) is not None:
                raise self._diagnosis(service, f"ended with code {code} before it was ready")
            return True if listens(port) else None

        if wait_for(look, seconds=START_SECONDS) is None:
            raise self._diagnosis(service, f"was not ready within {START_SECONDS:.0f} s")

    def _diagnosis(self, service: str, problem: str) -> StartFailed:
        log = self._layout.log(service)
        return StartFailed(f"{service} {problem}. The end of its log, {log}:\n{end_of(log)}")


def program(layout: Layout, module: str, **environment: str) -> list[str | Path]:
    """The command that runs a module of SITE inside the virtual environment."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_INHERITED)}
    variables = inherited | environment | {
        "PYTHONPATH": str(SITE),
        "PYTHONWARNINGS": "ignore",
        "PATH": f"{layout.python.parent}:{os.environ.get('PATH', '')}",
        "OS_NOVA_DISABLE_EVENTLET_PATCHING": "1",
        "OS_CINDER_DISABLE_EVENTLET_PATCHING": "1",
        "MALLOC_ARENA_MAX": "2",
        "NO_PROXY": "*",
        "no_proxy": "*",
        "LC_ALL": "C.UTF-8",
        "XDG_CACHE_HOME": str(layout.state / "cache"),
    }  # fmt: skip
    if layout.ca_file is not None:
        # What requests reads, for the calls of services to each other.
        variables["REQUESTS_CA_BUNDLE"] = str(layout.ca_file)
    return ["env", "-i", *(f"{name}={value}" for name, value in variables.items()), layout.python, "-m", module]


def listening(url: str) -> bool:
    """Whether the service at a URL on loopback listens."""
    port = urlsplit(url).port
    return port is not None and listens(port)


def listens(port: int) -> bool:
    """Whether somebody listens on a port of loopback."""
    try:
        socket.create_connection((HOST, port), 1.0).close()
    except OSError:
        return False
    return True
