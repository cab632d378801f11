"""Runs a control plane in the background, for `windlass dev` (see `daemon`)."""

import os
import sys
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from windlass.kube.folders import state_folder
from windlass.testing import crds, daemon
from windlass.testing.binaries import CLUSTER_API, CORE_PARTS, PARTS, BinariesError, obtain
from windlass.testing.machines import cluster_api
from windlass.testing.plane.control_plane import BlockingControlPlane


@dataclass(frozen=True)
class Running:
    """A plane in the background; `pid` is the process that owns it, `since` is in RFC 3339."""

    pid: int
    url: str
    kubeconfig: str
    logs: str
    since: str
    cluster_api: bool

    @property
    def export(self) -> str:
        """The shell command that points kubectl and other programs at the plane."""
        return f"export KUBECONFIG={self.kubeconfig}"


class Background(daemon.Daemon):
    """The one background plane of this user."""

    def __init__(self, state: Path | None = None) -> None:
        state = state or state_folder("dev")
        super().__init__(state, name="plane", what="a control plane", command="windlass dev")

    def running(self) -> Running | None:
        """The plane, if it is up and was started by `up`."""
        return None if (content := self.look()) is None else Running(**content)

    def up(self, *, with_cluster_api: bool = False, foreign_crds: bool = False, assets: str | None = None) -> Running:
        """Start the plane and return when it is ready. Raises PlaneError if there is one already."""
        self.refuse_a_second()
        # Here and not in the background, so that a first-time build is seen.
        wanted = [*CORE_PARTS, CLUSTER_API] if with_cluster_api else CORE_PARTS
        obtain(PARTS if foreign_crds else wanted, assets=assets)
        options = {"with_cluster_api": with_cluster_api, "foreign_crds": foreign_crds, "assets": assets}
        return Running(**self.spawn("windlass.testing.background", options))

    def down(self) -> Running:
        """Stop the plane and remove its files; returns what was running. Raises PlaneError if `up` started none."""
        return Running(**self.end())

    def own(self, *, with_cluster_api: bool, foreign_crds: bool, assets: str | None) -> None:
        """Be the owner: run the plane until SIGTERM. For the background process itself."""
        with (
            self.claim() as directory,
            BlockingControlPlane(assets=assets, directory=directory) as plane,
        ):
            if with_cluster_api:
                cluster_api.start(plane)
            if foreign_crds:
                plane.apply_crds(*crds.documents())
            daemon.stay(lambda: self.publish(plane))

    def publish(self, plane: BlockingControlPlane) -> None:
        """Say that `plane` is ready, and how to use it."""
        running = Running(
            pid=os.getpid(),
            url=plane.url,
            kubeconfig=str(plane.kubeconfig()),
            logs=str(plane.connection.logs),
            since=datetime.now(UTC).isoformat(timespec="seconds"),
            cluster_api=cluster_api.runs(plane),
        )
        self.publish_content(asdict(running))


if __name__ == "__main__":
    sys.exit(daemon.main(lambda state, options: Background(state).own(**options), problem=BinariesError))
