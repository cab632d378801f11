"""Runs Cluster API's core manager on a plane: the real controllers of its MachineSets, Machines and Clusters.

    with BlockingControlPlane() as plane:
        cluster_api.start(plane)

It is built on first use (`windlass.testing.binaries.CLUSTER_API`, about two minutes), and runs until the plane ends.
Its admission webhooks are registered as its own manifests have them, so that what is written to Cluster API's objects
gets the defaults and the refusals that it gets in a cluster.
"""

from collections.abc import Sequence
from pathlib import Path

from windlass.testing import crds
from windlass.testing.binaries import CLUSTER_API, obtain
from windlass.testing.plane.control_plane import BlockingControlPlane
from windlass.testing.plane.manifests import read_manifests
from windlass.testing.plane.ports import free_ports
from windlass.testing.plane.rest import Rest, answers
from windlass.testing.plane.webhooks import at_loopback

NAME = "cluster-api-core"
"""The process and its log; also a good name for a user of its own."""
_PORT = "port"
"""The file beside the certificate with the port that the webhooks are served on."""
_WEBHOOKS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


def start(
    plane: BlockingControlPlane,
    *,
    kubeconfig: Path | None = None,
    flags: Sequence[str] = (),
    webhooks: bool = True,
) -> None:
    """Install the CRDs that the manager needs and start it; returns when it is ready. Raises StartFailed.

    `kubeconfig` selects its user, the default is the plane's administrator; `flags` are appended to its command line.
    Without `webhooks` they are served, but not registered.
    """
    plane.apply_crds(*crds.documents(*crds.CLUSTER_API_CORE))
    diagnostics, health, webhook = free_ports(3)
    certificate = plane.serving_certificate(_folder(plane))
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
    (certificate.folder / _PORT).write_text(str(webhook), encoding="ascii")
    if webhooks:
        admit(plane)


def admit(plane: BlockingControlPlane) -> None:
    """Register the webhooks of the manager that was started on this plane.

    `start` does so. A pool of planes removes them before each module, and leaves the manager.
    """
    certificate = plane.serving_certificate(_folder(plane))
    port = int((certificate.folder / _PORT).read_text(encoding="ascii"))
    manifests = read_manifests([obtain([CLUSTER_API]).crds[CLUSTER_API.name]])
    found = [at_loopback(one, port=port, certificate=certificate) for one in manifests if one["kind"] in _WEBHOOKS]
    for configuration in found:
        # The prefix of the project's own kustomization. Without it, those of a provider have the same names.
        configuration["metadata"]["name"] = f"capi-{configuration['metadata']['name']}"
    plane.apply(*found)


def _folder(plane: BlockingControlPlane) -> Path:
    return plane.connection.directory / "pki" / NAME


def runs(plane: BlockingControlPlane) -> bool:
    """Whether it was started on this plane, and has not ended."""
    return plane.runs(NAME)
