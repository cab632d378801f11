"""Runs Cluster API's core manager on a plane: the real controllers of its MachineSets, Machines and Clusters.

    with BlockingControlPlane() as plane:
        cluster_api.start(plane)

It is built on first use (`windlass.testing.binaries.CLUSTER_API`, about two minutes), and runs until the plane ends.
Its admission webhooks are served, but none is registered.
"""

from collections.abc import Sequence
from pathlib import Path

from windlass.testing import crds
from windlass.testing.binaries import CLUSTER_API, obtain
from windlass.testing.plane.control_plane import BlockingControlPlane
from windlass.testing.plane.ports import free_ports
from windlass.testing.plane.rest import Rest, answers

NAME = "cluster-api-core"
"""The process and its log; also a good name for a user of its own."""


def start(plane: BlockingControlPlane, *, kubeconfig: Path | None = None, flags: Sequence[str] = ()) -> None:
    """Install the CRDs that the manager needs and start it; returns when it is ready. Raises StartFailed.

    `kubeconfig` selects its user, the default is the plane's administrator; `flags` are appended to its command line.
    """
    plane.apply_crds(*crds.documents(*crds.CLUSTER_API_CORE))
    diagnostics, health, webhook = free_ports(3)
    certificate = plane.serving_certificate(plane.connection.directory / "pki" / NAME)
    argv: list[str | Path] = [
        obtain([CLUSTER_API]).program(NAME),
        f"--kubeconfig={kubeconfig or plane.kubeconfig()}",
        "--insecure-diagnostics",
        f"--diagnostics-address=127.0.0.1:{diagnostics}",
        f"--health-addr=127.0.0.1:{health}",
        f"--webhook-port={webhook}",
        f"--webhook-cert-dir={certificate.folder}",
        *flags,
    ]
    probes = Rest(f"http://127.0.0.1:{health}")
    plane.run(NAME, argv, ready=lambda: answers(probes, "/readyz"))


def runs(plane: BlockingControlPlane) -> bool:
    """Whether it was started on this plane, and has not ended."""
    return plane.runs(NAME)
