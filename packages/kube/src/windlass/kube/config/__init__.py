"""Loads the address of the API server and the credentials for it into one immutable value, `ClusterConfig`.

    from windlass.kube import config

    cluster = config.load()                                       # what kubectl would use; in a pod: its ServiceAccount
    cluster = config.load(kubeconfig="hub.yaml", context="prod")  # --kubeconfig, --context
    print(cluster.server, cluster.namespace)

`load` looks where kubectl looks, in this order, and takes the first that is there:

1. the file given as `kubeconfig`, which must exist;
2. the files of `$KUBECONFIG`, merged: the first file that sets a name or a value wins, missing files are skipped;
3. `~/.kube/config`;
4. the ServiceAccount of the pod this process runs in.

| field of a kubeconfig | effect |
|---|---|
| `certificate-authority`, `-data`, `insecure-skip-tls-verify`, `tls-server-name` | `.tls` of `ClusterConfig` |
| `proxy-url` (HTTP, SOCKS5); else `HTTPS_PROXY`, `NO_PROXY` (names, suffixes, addresses, networks) | `.proxy` |
| `token`, `username` and `password`, `client-certificate-data` | a credential that never changes |
| `tokenFile`, `client-certificate`, `client-key` | read again every minute, and when the server answers 401 |
| `exec` (`client.authentication.k8s.io/v1`, `v1beta1`) | a child process; its answer is cached until expiry or 401 |
| `as`, `as-uid`, `as-groups`, `as-user-extra` | `.impersonate` |
| `auth-provider` `oidc` | its `id-token` until it expires; it is not renewed |
| any other `auth-provider` | refused: Kubernetes has removed it; the error names the exec plugin that took its place |

In a pod, token and CA are also read again every minute. While certificate and key do not match, because the files are
replaced one after the other, the last credential stays in use.

Paths in a kubeconfig are relative to the file that names them. Inline data takes precedence over a file, a token over
an exec plugin, and a readable token file over a token.

A configuration that cannot work raises a `ConfigError` that names file, entry, field and remedy. Most mistakes are
found when the configuration is loaded, not at the first request. No error, `repr` or log line contains a secret.

Sources: "Organizing Cluster Access Using kubeconfig Files", "Client authentication (v1)" and "Accessing the API from a
Pod" of the Kubernetes documentation.
"""

from windlass.kube.config.cluster import ClusterConfig, Impersonation, Tls
from windlass.kube.config.credentials import ClientCertificate, Credential, CredentialSource, FixedCredential, FromFiles
from windlass.kube.config.exec_plugin import ExecPlugin
from windlass.kube.config.in_cluster import in_cluster
from windlass.kube.config.load import load

__all__ = [
    "ClientCertificate",
    "ClusterConfig",
    "Credential",
    "CredentialSource",
    "ExecPlugin",
    "FixedCredential",
    "FromFiles",
    "Impersonation",
    "Tls",
    "in_cluster",
    "load",
]
