"""Runs a cloud in the background, for `windlass dev cloud` (see `windlass.testing.daemon`)."""

import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Unpack

from windlass.kube.folders import state_folder
from windlass.testing import daemon
from windlass.testing.cloud.access import CloudAccess, CloudConnection
from windlass.testing.cloud.cloud import Cloud, install
from windlass.testing.cloud.errors import CloudError
from windlass.testing.cloud.layout import CloudOptions


@dataclass(frozen=True)
class Running:
    """A cloud in the background; `pid` is the process that owns it, `since` is in RFC 3339.

    `urls` are the endpoints by the service's name; `ca_file` is None for plain HTTP.
    """

    pid: int
    urls: Mapping[str, str]
    folder: str
    ca_file: str | None
    logs: str
    since: str

    @property
    def clouds_yaml(self) -> str:
        return f"{self.folder}/clouds.yaml"

    def access(self) -> CloudAccess:
        """The cloud, to use it."""
        return CloudAccess(CloudConnection(self.urls, self.folder, self.ca_file))

    def export(self, cloud: str) -> str:
        """The shell command that points clients of OpenStack at it, as one of the users in clouds.yaml."""
        return f"export OS_CLIENT_CONFIG_FILE={self.clouds_yaml} OS_CLOUD={cloud}"


class BackgroundCloud(daemon.Daemon):
    """The one background cloud of this user."""

    def __init__(self, state: Path | None = None) -> None:
        state = state or state_folder("dev-cloud")
        super().__init__(state, name="cloud", what="a cloud", command="windlass dev cloud")

    def running(self) -> Running | None:
        """The cloud, if it is up and was started by `up`."""
        return None if (content := self.look()) is None else Running(**content)

    def up(self, **options: Unpack[CloudOptions]) -> Running:
        """Start the cloud and return when it is ready. Raises PlaneError if there is one already, and CloudError."""
        self.refuse_a_second()
        # Here and not in the background, so that a first-time installation is seen.
        install()
        return Running(**self.spawn("windlass.testing.cloud.background", options))

    def down(self) -> Running:
        """Stop the cloud and remove its files; returns what was running. Raises PlaneError if `up` started none."""
        return Running(**self.end())

    def own(self, options: dict[str, Any]) -> None:
        """Be the owner: run the cloud until SIGTERM. For the background process itself."""
        with self.claim() as directory, Cloud(directory=directory, **options) as cloud:
            daemon.stay(lambda: self._publish(cloud))

    def _publish(self, cloud: Cloud) -> None:
        connection = cloud.connection
        running = Running(
            pid=os.getpid(),
            urls=connection.urls,
            folder=connection.folder,
            ca_file=connection.ca_file,
            logs=str(cloud.logs),
            since=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        self.publish_content(asdict(running))


if __name__ == "__main__":
    sys.exit(daemon.main(lambda state, options: BackgroundCloud(state).own(options), problem=CloudError))
