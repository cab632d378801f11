"""Builds the command lines of the plane's processes.

The API server makes its own serving certificate in `pki/` (there is no openssl and no cryptography library here). Its
private key also signs service account tokens, and serves webhooks that are given a certificate. One key for everything
is acceptable on loopback, for some minutes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from windlass.testing.binaries import Assets

ETCD = "etcd"
APISERVER = "kube-apiserver"
CONTROLLER_MANAGER = "kube-controller-manager"

OPENSHIFT_ADMISSION = "OwnerReferencesPermissionEnforcement"

CONTROLLERS = (
    "garbage-collector-controller",
    "namespace-controller",
    "serviceaccount-controller",
    "validatingadmissionpolicy-status-controller",
    "clusterrole-aggregation-controller",
    "disruption-controller",
    "job-controller",
)
"""The controllers that run: without them the API server would seem broken to a user. Only the Job controller makes
Pods, and no kubelet runs them (`windlass.testing.builds.pods` plays the kubelet)."""

_LESS_GARBAGE_COLLECTION = ("/usr/bin/env", "GOGC=300")
"""With Go's default of 100, a fifth of the API server's CPU is garbage collection, on a heap of 100 MB."""


@dataclass(frozen=True)
class Ports:
    """Loopback ports of one plane."""

    etcd: int
    etcd_peer: int
    apiserver: int
    controller_manager: int


@dataclass(frozen=True)
class Commands:
    """Builds the command lines from the folders, programs and ports of a plane."""

    assets: Assets
    ports: Ports
    directory: Path
    data: Path
    feature_gates: Mapping[str, bool] = field(default_factory=dict)

    @property
    def pki(self) -> Path:
        """The folder of keys; the API server fills it when it first starts."""
        return self.directory / "pki"

    @property
    def ca_file(self) -> Path:
        """The certificate that clients verify the API server with."""
        return self.pki / "apiserver.crt"

    @property
    def key_file(self) -> Path:
        """The one private key of the plane."""
        return self.pki / "apiserver.key"

    @property
    def etcd_url(self) -> str:
        return f"http://127.0.0.1:{self.ports.etcd}"

    def etcd(self) -> list[str | Path]:
        """etcd without fsync: its data need not survive a crash of the machine."""
        peer = f"http://127.0.0.1:{self.ports.etcd_peer}"
        return [
            self.assets.program(ETCD),
            "--name=windlass",
            f"--data-dir={self.data}",
            "--unsafe-no-fsync",
            f"--listen-client-urls={self.etcd_url}",
            f"--advertise-client-urls={self.etcd_url}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=windlass={peer}",
            "--log-level=warn",
            # Who made the plane holds the ports.
            "--socket-reuse-port",
        ]

    def apiserver(
        self, *, token_file: Path, audit_policy: Path, admission_plugins: Sequence[str], flags: Sequence[str]
    ) -> list[str | Path]:
        """kube-apiserver with RBAC and the admission plugin that OpenShift adds; `flags` come last and so win."""
        return [
            *_LESS_GARBAGE_COLLECTION,
            self.assets.program(APISERVER),
            f"--etcd-servers={self.etcd_url}",
            f"--secure-port={self.ports.apiserver}",
            "--bind-address=127.0.0.1",
            "--permit-port-sharing",
            "--advertise-address=127.0.0.1",
            # It would write its loopback address into an Endpoints object, which validation forbids.
            "--endpoint-reconciler-type=none",
            f"--cert-dir={self.pki}",
            "--authorization-mode=RBAC",
            # As in every cluster whose nodes have agents: what may be privileged is left to admission.
            "--allow-privileged",
            f"--enable-admission-plugins={','.join([OPENSHIFT_ADMISSION, *admission_plugins])}",
            f"--token-auth-file={token_file}",
            f"--service-account-key-file={self.ca_file}",
            f"--service-account-signing-key-file={self.key_file}",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            "--service-cluster-ip-range=10.0.0.0/24",
            f"--audit-policy-file={audit_policy}",
            f"--audit-log-path={self.directory / 'logs' / 'audit.log'}",
            # In MB. At the default of 100 it would be rotated away under a reader.
            "--audit-log-maxsize=4096",
            *self._gates(),
            *flags,
        ]

    def controller_manager(self, *, kubeconfig: Path) -> list[str | Path]:
        """kube-controller-manager with CONTROLLERS, each under its own service account as in a cluster."""
        return [
            self.assets.program(CONTROLLER_MANAGER),
            f"--kubeconfig={kubeconfig}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            f"--service-account-private-key-file={self.key_file}",
            f"--root-ca-file={self.ca_file}",
            "--use-service-account-credentials",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            "--permit-port-sharing",
            f"--secure-port={self.ports.controller_manager}",
            f"--cert-dir={self.pki / 'controller-manager'}",
            f"--controllers={','.join(CONTROLLERS)}",
            *self._gates(),
        ]

    def _gates(self) -> list[str]:
        gates = ",".join(f"{name}={'true' if on else 'false'}" for name, on in self.feature_gates.items())
        return [f"--feature-gates={gates}"] if gates else []
