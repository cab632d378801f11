"""Where the API server is and how to prove who we are, as one immutable value: `ClusterConfig`.

    from windlass.kube import config

    cluster = config.load()                                       # what kubectl would use; in a pod: its ServiceAccount
    cluster = config.load(kubeconfig="hub.yaml", context="prod")  # --kubeconfig, --context
    print(cluster.server, cluster.namespace)

`load` looks where kubectl looks, in this order, and takes the first that is there:

1. the file given as `kubeconfig`, which must exist;
2. the files of `$KUBECONFIG`, merged: whoever sets a name or a value first wins, files that do not exist are skipped;
3. `~/.kube/config`;
4. the ServiceAccount of the pod this process runs in.

| what a kubeconfig may say | what becomes of it |
|---|---|
| `certificate-authority`, `-data`, `insecure-skip-tls-verify`, `tls-server-name` | `ClusterConfig.tls` |
| `proxy-url`; else `HTTPS_PROXY`, `NO_PROXY` (host names, suffixes, addresses, networks) | `ClusterConfig.proxy` |
| `token`, `username` and `password`, `client-certificate-data` | a credential that never changes |
| `tokenFile`, `client-certificate`, `client-key` | read again every minute, and when the server answers 401 |
| `exec` (`client.authentication.k8s.io/v1`, `v1beta1`) | run beside the loop; its answer is kept until expiry or 401 |
| `as`, `as-uid`, `as-groups`, `as-user-extra` | `ClusterConfig.impersonate` |
| `auth-provider` | refused: Kubernetes has removed it; the error names the exec plugin that took its place |

In a pod token and CA are read again in the same way. Files are replaced one after the other: while certificate and key
do not belong together, the last credential stays in use.

Paths in a kubeconfig are relative to the file that names them. Data beats a file of the same meaning; a token beats an
exec plugin; a token file beats a token for as long as it can be read.

Everything that cannot work is a `ConfigError` naming file, entry, field and remedy, and as much of it as possible when
the configuration is loaded, not at the first request. No secret is ever part of an error, a `repr` or a log line.

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
