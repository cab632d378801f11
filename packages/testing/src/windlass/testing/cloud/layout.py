"""What makes one cloud different from another, and the places that follow from it: folders, ports, URLs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypedDict

HOST = "127.0.0.1"
REGION = "RegionOne"
PASSWORD = "windlass"
"""Of each user of a cloud: anybody on the machine can reach it anyway."""

COMPUTES = ("compute1", "compute2", "compute3")
"""The hosts of Nova. Each is alone in an availability zone: az1, az2, az3."""

OPTIONAL = ("cinder", "octavia")
"""Services that a cloud can do without."""


class Service(NamedTuple):
    """A service in the catalog: its type, and the path of its endpoint."""

    type: str
    path: str


SERVICES: Mapping[str, Service] = {
    "keystone": Service("identity", "/v3"),
    "placement": Service("placement", ""),
    "glance": Service("image", ""),
    "neutron": Service("network", ""),
    "nova": Service("compute", "/v2.1"),
    "cinder": Service("block-storage", "/v3/%(project_id)s"),
    "octavia": Service("load-balancer", ""),
}


class CloudOptions(TypedDict, total=False):
    """Arguments of `Cloud` that change what runs.

    skip           services to leave out, of cinder and octavia: 230 MB and 3 s less
    tls            serve HTTPS, with a certificate of an authority of the cloud's own; needs `trustme`
    spawn_delay    seconds that the boot of a server takes; 0 by default
    lb_delay       seconds that a change of a load balancer takes; 0.2 by default
    token_life     seconds that a token is valid; a day by default
    debug          write debug logs
    """

    skip: tuple[str, ...]
    tls: bool
    spawn_delay: float
    lb_delay: float
    token_life: int
    debug: bool


@dataclass(frozen=True)
class Layout:
    """One cloud: its folder, virtual environment, ports and options."""

    folder: Path
    packages: Path
    ports: Mapping[str, int]
    options: CloudOptions = field(default_factory=CloudOptions)

    @property
    def services(self) -> list[str]:
        """The services that run, each after the services that it needs."""
        return [*self.ports]

    @property
    def state(self) -> Path:
        """Databases, images, keys and tokens: all that changes while the cloud runs."""
        return self.folder / "state"

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    @property
    def clouds_yaml(self) -> Path:
        return self.folder / "clouds.yaml"

    @property
    def ca_file(self) -> Path | None:
        """The certificate of the authority, if the cloud has TLS."""
        return self.folder / "ca.pem" if self.options.get("tls") else None

    @property
    def certificate(self) -> Path | None:
        """The certificate of all services with its key, if the cloud has TLS."""
        return self.folder / "server.pem" if self.options.get("tls") else None

    @property
    def python(self) -> Path:
        return self.packages / "bin" / "python"

    def etc(self, service: str) -> Path:
        """The folder of a service's configuration."""
        return self.folder / "etc" / service

    def log(self, service: str) -> Path:
        return self.logs / f"{service}.log"

    def url(self, service: str, path: str = "") -> str:
        scheme = "https" if self.options.get("tls") else "http"
        return f"{scheme}://{HOST}:{self.ports[service]}{path}"

    def endpoint(self, service: str) -> str:
        """The URL of a service in the catalog."""
        return self.url(service, SERVICES[service].path)

    def database(self, name: str) -> Path:
        return self.state / "db" / f"{name}.sqlite"
