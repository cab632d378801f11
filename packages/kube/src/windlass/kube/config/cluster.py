"""The result of loading a configuration: an API server, and how to connect to it."""

import os
import ssl
import tempfile
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct, field

from windlass.kube import pem
from windlass.kube.config.credentials import ClientCertificate, Credential, CredentialSource, FixedCredential
from windlass.kube.errors import ConfigError

HOW_TO_WRITE_A_URL = "write it as https://host:port, with a port from 1 to 65535"
HOW_TO_WRITE_A_PROXY = "write it as http://, https:// or socks5://host:port, with a port from 1 to 65535"


def http_url(text: str) -> SplitResult | None:
    """`text` parsed, or None if it is not the URL of an HTTP server."""
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("https", "http") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port out of range, half of an IPv6 address
        return None
    return parts if usable else None


def proxy_url(text: str) -> SplitResult | None:
    """`text` parsed, or None if it is not the URL of an HTTP or a SOCKS5 proxy."""
    scheme, colon, rest = text.partition("://")
    parts = http_url(f"http://{rest}" if colon and scheme in ("socks5", "socks5h") else text)
    return parts and parts._replace(scheme=scheme)


class Impersonation(Struct, frozen=True):
    """The user to impersonate: `--as`, `--as-group`, `--as-uid`. Needs the RBAC verb `impersonate`."""

    user: str = ""
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def headers(self) -> list[tuple[str, str]]:
        pairs = [("Impersonate-User", self.user)] if self.user else []
        pairs += [("Impersonate-Group", group) for group in self.groups]
        pairs += [("Impersonate-Uid", self.uid)] if self.uid else []
        pairs += [(f"Impersonate-Extra-{key}", value) for key, values in self.extra.items() for value in values]
        return pairs


class Tls(Struct, frozen=True):
    """How to verify the server's certificate.

    `authority`: the CAs to trust, PEM; None for those of the system. `server_name`: the name that the certificate must
    have, if it is not the host of the URL. `insecure`: do not verify the certificate. `also_system`: trust the CAs of
    the system beside `authority`.
    """

    authority: bytes | None = None
    server_name: str | None = None
    insecure: bool = False
    also_system: bool = False

    def context(self, certificate: ClientCertificate | None = None) -> ssl.SSLContext:
        """A context that trusts these CAs and presents `certificate`. Raises ConfigError if either is not usable."""
        try:
            authority = pem.certificates(self.authority) if self.authority else None
        except pem.NoCertificate as error:
            raise ConfigError(f"the CA bundle holds no usable PEM certificate: {error}") from error
        context = ssl.create_default_context(cadata=authority)
        if self.also_system and authority is not None:
            context.load_default_certs()
        # Python 3.13 turns this on. It demands extensions (key usage, key identifiers) that the CAs of many clusters,
        # made by `openssl req -x509` or by older installers, do not have and that no other Kubernetes client demands.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if self.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if certificate is not None:
            present(context, certificate)
        return context

    def check(self) -> None:
        """Raise ConfigError if the CA bundle cannot be used."""
        # The system's CAs need no check, and take 60 ms to load.
        if self.authority is not None:
            self.context()


class ClusterConfig(Struct, frozen=True):
    """One API server, with the credentials of one user.

    `server`: base URL without trailing slash; may have a path. `namespace`: what `-n` defaults to. `proxy`: URL of an
    HTTP or a SOCKS5 proxy, or None. `origin`: the source of this configuration, for messages and logs.
    """

    server: str
    tls: Tls = field(default_factory=Tls)
    credentials: CredentialSource = field(default_factory=lambda: FixedCredential(Credential()))
    namespace: str = "default"
    proxy: str | None = None
    impersonate: Impersonation = field(default_factory=Impersonation)
    origin: str = ""

    def __post_init__(self) -> None:
        origin = self.origin or "cluster configuration"
        if http_url(self.server) is None:
            raise ConfigError(f"{origin}: server {self.server!r} is not a URL: {HOW_TO_WRITE_A_URL}")
        if self.server.endswith("/"):
            raise ConfigError(f"{origin}: server {self.server!r} ends in a slash")
        if self.proxy is not None and proxy_url(self.proxy) is None:
            # It may hold a password, so it is not shown.
            raise ConfigError(f"{origin}: the proxy is not the URL of a proxy: {HOW_TO_WRITE_A_PROXY}")
        for header, value in self.impersonate.headers():
            if not f"{header}{value}".isprintable():
                raise ConfigError(f"{origin}: {header} {value!r}: has a line break or another control character")

    def __repr__(self) -> str:
        return f"<ClusterConfig {self.server} namespace={self.namespace} from {self.origin or 'code'}>"


def check(certificate: ClientCertificate) -> None:
    """Raise ConfigError unless chain and key can be used and match."""
    present(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), certificate)


def present(context: ssl.SSLContext, certificate: ClientCertificate) -> None:
    """Make `context` show `certificate` to servers. Raises ConfigError if it cannot be used."""
    # The ssl module takes keys from files only. These live for the length of one call, readable by this user alone.
    paths: list[str] = []
    try:
        for content in (certificate.chain, certificate.key):
            handle, path = tempfile.mkstemp(prefix="windlass-tls-")
            paths.append(path)
            with os.fdopen(handle, "wb") as file:
                file.write(content)
        # Without a password callback OpenSSL would ask the terminal for the password of an encrypted key, and wait.
        context.load_cert_chain(paths[0], paths[1], password=lambda: "")
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError(
            f"{certificate.origin}: the client certificate and key cannot be used: {error}; both must be PEM, belong "
            "together, and the key must not be encrypted"
        ) from error
    finally:
        for path in paths:
            os.unlink(path)
