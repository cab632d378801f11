"""The use of a running cloud, also from another process than its owner's: credentials, faults, the log of requests."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from openstack.connection import Connection as Sdk

from windlass.testing.cloud import clouds
from windlass.testing.cloud.faults import Fronts
from windlass.testing.cloud.layout import Layout
from windlass.testing.cloud.project import Project


@dataclass(frozen=True)
class CloudConnection:
    """How to reach a cloud, as a value that can be passed to another process.

    `urls` are the endpoints by the service's name, as in the catalog; `folder` holds `clouds.yaml` and `logs/`;
    `ca_file` is the certificate of the cloud's own authority, None for plain HTTP.
    """

    urls: Mapping[str, str]
    folder: str
    ca_file: str | None

    @classmethod
    def to(cls, layout: Layout) -> "CloudConnection":
        """That to the cloud of a layout."""
        urls = {service: layout.endpoint(service) for service in layout.services}
        return cls(urls, str(layout.folder), str(layout.ca_file) if layout.ca_file else None)

    def to_json(self) -> str:
        """This connection as text for another process on the same machine."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "CloudConnection":
        """The inverse of `to_json`."""
        return cls(**json.loads(text))


class CloudAccess(Fronts):
    """A running cloud. Methods block; they may be called from any thread."""

    def __init__(self, connection: CloudConnection) -> None:
        self._connection = connection

    @property
    def connection(self) -> CloudConnection:
        """How another process can reach it."""
        return self._connection

    @property
    def urls(self) -> Mapping[str, str]:
        """The endpoints of the services that run: `keystone`, `placement`, `glance`, `neutron`, `nova`, ..."""
        return self.connection.urls

    @property
    def ca_file(self) -> Path | None:
        """The certificate of the authority of a cloud with TLS."""
        return Path(self.connection.ca_file) if self.connection.ca_file else None

    @property
    def clouds_yaml(self) -> Path:
        """A file with the clouds `admin`, `demo` and `alt`: a user with a project of the same name each."""
        return Path(self.connection.folder) / "clouds.yaml"

    @property
    def clouds(self) -> dict[str, Any]:
        """The entries of `clouds_yaml`, by name."""
        found: dict[str, Any] = yaml.safe_load(self.clouds_yaml.read_text(encoding="utf-8"))["clouds"]
        return found

    @property
    def logs(self) -> Path:
        """The folder with a log for each service."""
        return Path(self.connection.folder) / "logs"

    def connect(self, cloud: str = "demo", *, user_agent: str | None = None) -> Sdk:
        """A connection of openstacksdk as `admin`, `demo` or `alt`."""
        return clouds.connect(self.clouds[cloud], user_agent=user_agent)

    def new_project(self, *, quota: Mapping[str, int] | None = None) -> Project:
        """A project of its own for a test; `delete` it afterwards. `quota`: see `Project.set_quota`."""
        return Project(self, quota=quota)

    @cached_property
    def admin(self) -> Sdk:
        """A connection as the administrator."""
        return self.connect("admin")

    def role(self, name: str) -> str:
        """The id of a role."""
        return self._roles[name]

    @cached_property
    def _roles(self) -> dict[str, str]:
        return {role.name: role.id for role in self.admin.identity.roles()}
