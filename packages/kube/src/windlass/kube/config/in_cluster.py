"""Configures a process in a pod from the token, CA and namespace that the kubelet mounts for its ServiceAccount."""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from windlass.kube.config import proxy
from windlass.kube.config.cluster import ClusterConfig, Impersonation, Tls
from windlass.kube.config.credentials import Credential, FromFiles, bearer
from windlass.kube.errors import ConfigError

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def is_in_cluster(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether this process runs in a pod, according to its environment."""
    return bool(environ.get("KUBERNETES_SERVICE_HOST"))


def in_cluster(
    *,
    namespace: str | None = None,
    impersonate: Impersonation | None = None,
    environ: Mapping[str, str] = os.environ,
    mount: Path = SERVICE_ACCOUNT,
    clock: Callable[[], float] = time.monotonic,
) -> ClusterConfig:
    """The API server of the cluster this pod belongs to, as the pod's ServiceAccount.

    Token and CA are read again every minute and after a 401: the kubelet renews them. Raises ConfigError outside a
    pod, or if the pod has no token (`automountServiceAccountToken: false`).
    """
    host, port = environ.get("KUBERNETES_SERVICE_HOST", ""), environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise ConfigError("not in a pod: KUBERNETES_SERVICE_HOST is not set; outside a cluster give a kubeconfig")
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    return ClusterConfig(
        server=server,
        tls=Tls(authority=_authority(mount / "ca.crt")),
        credentials=FromFiles(
            lambda: Credential(_bearer(mount / "token"), authority=_authority(mount / "ca.crt")), clock=clock
        ),
        namespace=namespace or _namespace(mount / "namespace"),
        proxy=proxy.from_environment(server, environ),
        impersonate=impersonate or Impersonation(),
        origin=f"the ServiceAccount in {mount}",
    )


def _authority(path: Path) -> bytes:
    authority = _read(path)
    try:
        Tls(authority=authority).check()
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
    return authority


def _bearer(path: Path) -> str:
    token = _read(path).decode("ascii", errors="replace").strip()
    if not token:
        raise ConfigError(f"{path}: is empty: the kubelet has not written the ServiceAccount's token (yet)")
    return bearer(token, str(path))


def _namespace(path: Path) -> str:
    try:
        return path.read_text().strip() or "default"
    except OSError:
        return "default"


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be read: {error.strerror}; does the pod mount its ServiceAccount's token "
            "(automountServiceAccountToken)?"
        ) from error
