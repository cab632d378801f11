"""Makes one `ClusterConfig` from kubeconfig files, flags and environment."""

import base64
import binascii
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from windlass.kube.config import kubeconfig as files
from windlass.kube.config import proxy
from windlass.kube.config.cluster import (
    HOW_TO_WRITE_A_PROXY,
    HOW_TO_WRITE_A_URL,
    ClusterConfig,
    Impersonation,
    Tls,
    check,
    http_url,
    proxy_url,
)
from windlass.kube.config.credentials import (
    ClientCertificate,
    Credential,
    CredentialSource,
    FixedCredential,
    FromFiles,
    bearer,
)
from windlass.kube.config.exec_plugin import ExecPlugin
from windlass.kube.config.in_cluster import in_cluster, is_in_cluster
from windlass.kube.config.kubeconfig import Context, Kubeconfig, KubeconfigCluster, Named, User
from windlass.kube.errors import ConfigError, NoKubeconfig
from windlass.kube.foreign import read_json

EXEC_EXTENSION = "client.authentication.k8s.io/exec"
"""The extension of a cluster entry whose content exec plugins get as `spec.cluster.config`."""

_RENEW = "run any `kubectl` command with it, which renews the token if there is a refresh-token, or log in again"
_HOST_AND_PORT = re.compile(r"([\w.-]+|\[[0-9A-Fa-f:.]+\])(:\d+)?(/.*)?")
"""A server without a scheme. We always take https; kubectl takes http unless the entry says something about TLS."""


def load(
    *,
    kubeconfig: str | Path | None = None,
    context: str | None = None,
    namespace: str | None = None,
    impersonate: Impersonation | None = None,
    environ: Mapping[str, str] = os.environ,
) -> ClusterConfig:
    """The configuration kubectl would use with the same flags.

    `kubeconfig`: `--kubeconfig`, this file and no other. `context`, `namespace`, `impersonate`: `--context`, `-n`,
    `--as`; each overrides what the files say. Raises ConfigError.
    """
    candidates = _candidates(kubeconfig, environ)
    present = [file for file in candidates if kubeconfig is not None or file.exists()]
    if not present and context is None and is_in_cluster(environ):
        return in_cluster(namespace=namespace, impersonate=impersonate, environ=environ)
    if not present:
        looked = ", ".join(map(str, candidates))
        raise NoKubeconfig(
            f"no kubeconfig: {looked} does not exist, and this is no pod (KUBERNETES_SERVICE_HOST is not set); "
            "give --kubeconfig FILE, or set KUBECONFIG"
        )
    config = files.read(present)
    chosen = _context(config, context)
    cluster = _referenced(config, chosen, "cluster", chosen.value.cluster, config.clusters)
    user = _referenced(config, chosen, "user", chosen.value.user, config.users) if chosen.value.user else None
    return ClusterConfig(
        server=_server(cluster),
        tls=_tls(cluster),
        credentials=_credentials(user, cluster) if user else FixedCredential(Credential()),
        namespace=namespace or chosen.value.namespace or "default",
        proxy=_proxy(cluster, environ),
        impersonate=impersonate or (_impersonation(user) if user else Impersonation()),
        origin=f"context {chosen.name!r} of {chosen.file}",
    )


def _candidates(kubeconfig: str | Path | None, environ: Mapping[str, str]) -> list[Path]:
    if kubeconfig is not None:
        return [Path(kubeconfig).expanduser()]
    if listed := environ.get("KUBECONFIG"):
        # An empty item of the list is not the working directory; a file named twice is read once.
        return list(dict.fromkeys(Path(item).expanduser() for item in listed.split(os.pathsep) if item))
    return [Path(environ.get("HOME") or Path.home()) / ".kube" / "config"]


def _context(config: Kubeconfig, wanted: str | None) -> Named[Context]:
    name = wanted or config.current_context
    if not name:
        raise ConfigError(
            f"{config.origin}: current-context: is not set; choose one of {_names(config.contexts)} with --context "
            "NAME or `kubectl config use-context NAME`"
        )
    if name not in config.contexts:
        source = "--context" if wanted else "current-context"
        raise ConfigError(
            f"{config.origin}: {source}: there is no context {name!r}; there are {_names(config.contexts)}"
        )
    return config.contexts[name]


def _referenced(
    config: Kubeconfig, context: Named[Context], noun: str, name: str, there: dict[str, Named[Any]]
) -> Named[Any]:
    if not name:
        raise ConfigError(f"{context.where}.context.{noun}: is not set: name one of {_names(there)}")
    if name not in there:
        raise ConfigError(
            f"{context.where}.context.{noun}: there is no {noun} {name!r} in {config.origin}; there are {_names(there)}"
        )
    return there[name]


def _names(entries: Mapping[str, Any]) -> str:
    return ", ".join(repr(name) for name in entries) or "none"


def _server(cluster: Named[KubeconfigCluster]) -> str:
    server = cluster.value.server.strip().rstrip("/")
    if _HOST_AND_PORT.fullmatch(server):
        server = f"https://{server}"
    if http_url(server) is None:
        raise ConfigError(
            f"{cluster.where}.cluster.server: {cluster.value.server!r} is not a URL: {HOW_TO_WRITE_A_URL}"
        )
    return server


def _tls(cluster: Named[KubeconfigCluster]) -> Tls:
    said = cluster.value
    authority, field = None, "certificate-authority"
    if said.certificate_authority_data:
        field = "certificate-authority-data"
        authority = _data(cluster, f"cluster.{field}", said.certificate_authority_data)
    elif said.certificate_authority:
        authority = _file(cluster, f"cluster.{field}", said.certificate_authority)
    if authority is not None and said.insecure_skip_tls_verify:
        raise ConfigError(
            f"{cluster.where}.cluster: insecure-skip-tls-verify and {field} contradict each other: remove one of them"
        )
    tls = Tls(authority=authority, server_name=said.tls_server_name or None, insecure=said.insecure_skip_tls_verify)
    try:
        tls.check()
    except ConfigError as error:
        raise ConfigError(f"{cluster.where}.cluster.{field}: {error}") from error
    return tls


def _proxy(cluster: Named[KubeconfigCluster], environ: Mapping[str, str]) -> str | None:
    server, url = _server(cluster), cluster.value.proxy_url
    source = f"{cluster.where}.cluster.proxy-url" if url else "the environment's proxy"
    url = url or proxy.from_environment(server, environ) or ""
    if not url:
        return None
    if proxy_url(url) is None:
        shown = re.sub("//.*@", "//", url)  # without name and password
        raise ConfigError(f"{source}: {shown} is not the URL of a proxy: {HOW_TO_WRITE_A_PROXY}")
    return url


def _impersonation(user: Named[User]) -> Impersonation:
    said = user.value
    if not said.as_user and (said.as_groups or said.as_uid or said.as_user_extra):
        raise ConfigError(f"{user.where}.user.as: must be set when groups, uid or extra are to be impersonated")
    extra = {key.lower(): tuple(values) for key, values in said.as_user_extra.items()}
    return Impersonation(user=said.as_user, groups=tuple(said.as_groups), uid=said.as_uid, extra=extra)


def _credentials(user: Named[User], cluster: Named[KubeconfigCluster]) -> CredentialSource:
    said = user.value
    if (said.token or said.token_file) and said.username:
        raise ConfigError(f"{user.where}.user: token and username are two ways to log in: remove one of them")
    if said.auth_provider is not None and said.auth_provider.name != "oidc":
        raise ConfigError(_no_auth_provider(user))
    by_token = bool(said.token or said.token_file or said.username)
    if said.exec is not None and not by_token:
        return _exec_plugin(user, cluster)

    # Read once now, so that an unusable credential is an error at load time.
    credential = _read_credential(user)
    if said.token_file or said.client_certificate or said.client_key:
        return FromFiles(lambda: _read_credential(user))
    return FixedCredential(credential)


def _read_credential(user: Named[User]) -> Credential:
    certificate = _certificate(user)
    if certificate is not None:
        check(certificate)
    return Credential(authorization=_authorization(user), certificate=certificate)


def _authorization(user: Named[User]) -> str:
    said = user.value
    token = said.token
    if said.token_file:
        try:
            token = _file(user, "user.tokenFile", said.token_file).decode("ascii").strip()
        except (ConfigError, UnicodeDecodeError):
            if not token:
                raise
    if token:
        return bearer(token, f"{user.where}.user.token")
    if said.token_file:
        raise ConfigError(f"{user.where}.user.tokenFile: {user.path(said.token_file)} is empty")
    if said.username:
        pair = f"{said.username}:{said.password}".encode()
        return f"Basic {base64.b64encode(pair).decode('ascii')}"
    return _id_token(user) if said.auth_provider is not None else ""


class _Claims(Struct, frozen=True):
    """Of an id-token (a JWT): seconds since 1970, 0 if it does not say when it expires."""

    exp: float = 0


def _id_token(user: Named[User]) -> str:
    """The id-token of the auth-provider `oidc`. kubectl renews it and writes it back; we only use it."""
    provider, where = user.value.auth_provider, f"{user.where}.user.auth-provider.config.id-token"
    token = provider.config.get("id-token", "") if provider is not None else ""
    if not token:
        raise ConfigError(f"{where}: is not set; {_RENEW}")
    try:
        claims = token.split(".")[1]
        expires = read_json(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)), _Claims).exp
        expired = 0 < expires < datetime.now(UTC).timestamp()
    except (LookupError, ValueError):
        expired = False  # the server decides about a token of another form
    if expired:
        raise ConfigError(f"{where}: expired at {datetime.fromtimestamp(expires, UTC):%Y-%m-%d %H:%M} UTC; {_RENEW}")
    return bearer(token, where)


def _certificate(user: Named[User]) -> ClientCertificate | None:
    said = user.value
    chain = _either(user, "client-certificate", said.client_certificate_data, said.client_certificate)
    key = _either(user, "client-key", said.client_key_data, said.client_key)
    if chain is None and key is None:
        return None
    if chain is None or key is None:
        missing = "client-certificate" if chain is None else "client-key"
        raise ConfigError(f"{user.where}.user.{missing}: is missing: certificate and key only work together")
    return ClientCertificate(chain, key, origin=f"{user.where}.user")


def _either(user: Named[User], name: str, data: str, path: str) -> bytes | None:
    if data:
        return _data(user, f"user.{name}-data", data)
    return _file(user, f"user.{name}", path) if path else None


def _exec_plugin(user: Named[User], cluster: Named[KubeconfigCluster]) -> ExecPlugin:
    plugin = user.value.exec
    assert plugin is not None
    if plugin.api_version == "client.authentication.k8s.io/v1" and not plugin.interactive_mode:
        raise ConfigError(
            f"{user.where}.user.exec.interactiveMode: is required with {plugin.api_version}: "
            "set it to Never, IfAvailable or Always"
        )
    # A bare name is looked up on PATH; anything with a slash is a path, relative to the file.
    command = str(user.path(plugin.command)) if os.sep in plugin.command else plugin.command
    return ExecPlugin(
        command=command,
        args=tuple(plugin.args),
        api_version=plugin.api_version,
        env={variable.name: variable.value for variable in plugin.env},
        cluster=_cluster_info(cluster) if plugin.provide_cluster_info else None,
        install_hint=plugin.install_hint,
        interactive_mode=plugin.interactive_mode or "IfAvailable",
        origin=f"{user.where}.user",
    )


def _cluster_info(cluster: Named[KubeconfigCluster]) -> dict[str, Any]:
    said, tls = cluster.value, _tls(cluster)
    info: dict[str, Any] = {"server": _server(cluster)}
    if said.tls_server_name:
        info["tls-server-name"] = said.tls_server_name
    if said.insecure_skip_tls_verify:
        info["insecure-skip-tls-verify"] = True
    if tls.authority is not None:
        info["certificate-authority-data"] = base64.b64encode(tls.authority).decode("ascii")
    if said.proxy_url:
        info["proxy-url"] = said.proxy_url
    for extension in said.extensions:
        if extension.name == EXEC_EXTENSION:
            info["config"] = extension.extension
    return info


def _no_auth_provider(user: Named[User]) -> str:
    provider = user.value.auth_provider
    name = provider.name if provider else ""
    remedy = {
        "gcp": "run `gcloud container clusters get-credentials CLUSTER`, which configures gke-gcloud-auth-plugin",
        "azure": "run `kubelogin convert-kubeconfig`",
    }.get(name, "configure an exec plugin (user.exec) instead")
    return f"{user.where}.user.auth-provider: {name!r} is not supported, only oidc is: {remedy}"


def _data(entry: Named[Any], field: str, text: str) -> bytes:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ConfigError(
            f"{entry.where}.{field}: is not base64: {error}; log in again to have it rewritten"
        ) from error


def _file(entry: Named[Any], field: str, text: str) -> bytes:
    path = entry.path(text)
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{entry.where}.{field}: {path} cannot be read: {error.strerror}") from error
