"""The settings of one process: one JSON object on its command line."""

import json
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HOST = "127.0.0.1"
_WAIT_SECONDS = 120.0


@dataclass(frozen=True)
class Settings:
    """What `serve` is to run.

    name           the project: keystone, placement, glance, neutron, nova, cinder or octavia
    etc            the folder of its configuration
    state          the folder of the cloud's databases and tokens
    port           where it listens on 127.0.0.1
    wait_for       ports of services that must listen before its workers start
    computes       the hosts of Nova
    spawn_delay    seconds that the boot of a server takes
    lb_delay       seconds that a change of a load balancer takes
    certificate    file with the certificate and the key of the server; None for plain HTTP
    """

    name: str
    etc: Path
    state: Path
    port: int
    wait_for: list[int]
    computes: list[str]
    spawn_delay: float
    lb_delay: float
    certificate: str | None

    @classmethod
    def from_json(cls, text: str) -> "Settings":
        """Decode the argument."""
        content: dict[str, Any] = json.loads(text)
        return cls(**content | {"etc": Path(content["etc"]), "state": Path(content["state"])})

    def wait_for_ports(self) -> None:
        """Return when all of `wait_for` listen. Raises TimeoutError."""
        deadline = time.monotonic() + _WAIT_SECONDS
        for port in self.wait_for:
            while not _listens(port):
                if time.monotonic() > deadline:
                    raise TimeoutError(f"nobody listens on port {port} after {_WAIT_SECONDS:g} s")
                time.sleep(0.1)


def _listens(port: int) -> bool:
    try:
        socket.create_connection((HOST, port), 1).close()
    except OSError:
        return False
    return True
