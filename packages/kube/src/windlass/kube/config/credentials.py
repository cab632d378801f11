"""Credentials for the API server, and the sources that renew them.

The client asks a `CredentialSource` for the `current` credential before each request, and reports each one that the
server `refused`. Several clients of one event loop may share a source, and with it the answer of an exec plugin.

    source = FromFiles(lambda: Credential(authorization="Bearer " + Path("token").read_text().strip()))
    credential = await source.current()
    ...                                                 # the server answers 401
    if await source.refused(credential):                # there is a new one: send the request again
        credential = await source.current()
"""

import time
from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from windlass.kube.errors import ConfigError

UNUSABLE_SECONDS = 1.0
"""Unusable files are read again after this many seconds: usually they are being replaced one after the other."""
REREAD_SECONDS = 60.0
"""How long a file's content is cached, in seconds. The kubelet renews a pod's token when a fifth of its lifetime is
left, at least ten minutes by default, so a minute is early enough; client-go uses the same."""


class ClientCertificate(Struct, frozen=True):
    """A client certificate chain and its private key, both PEM. `origin` names their source in messages."""

    chain: bytes
    key: bytes
    origin: str = ""

    def __repr__(self) -> str:
        return f"<ClientCertificate of {self.origin}>"


class Credential(Struct, frozen=True):
    """What one request carries: the value of its Authorization header, and the certificate of its connection.

    `authority`: the CAs to trust from now on, PEM, if they are renewed together with the credential; None for those of
    `ClusterConfig.tls`.
    """

    authorization: str = ""
    certificate: ClientCertificate | None = None
    authority: bytes | None = None

    def __repr__(self) -> str:
        return f"<Credential {self.authorization.partition(' ')[0] or 'without Authorization'}, {self.certificate}>"


def bearer(token: str, where: str) -> str:
    """The Authorization header with this token. Raises ConfigError, which names `where`, if no header can carry it."""
    if not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigError(f"{where}: has characters that a token cannot have, such as a line break; log in again")
    return f"Bearer {token}"


class CredentialSource(Protocol):
    """Where credentials come from."""

    async def current(self) -> Credential:
        """The credential to use now. Raises ConfigError if there is none, TransportError if there is none just now."""
        ...

    async def refused(self, credential: Credential) -> bool:
        """Look for another credential, because the server answered 401 to `credential`. True if one was found."""
        ...


class FixedCredential:
    """A credential that does not change while the process runs."""

    __slots__ = ("_credential",)

    def __init__(self, credential: Credential) -> None:
        self._credential = credential

    async def current(self) -> Credential:
        return self._credential

    async def refused(self, credential: Credential) -> bool:
        return False


class FromFiles:
    """A credential that others keep fresh on disk: a projected token, a rotated client certificate.

    `read` is called at most once a minute and after a 401, and raises ConfigError for unusable files. If it raises
    after a first success (a file is being replaced, a certificate is there before its key, a volume is gone for a
    moment), the last credential stays in use, and `read` is called again each second. The server decides whether the
    last credential is still valid.
    """

    __slots__ = ("_again_at", "_clock", "_credential", "_read")

    def __init__(self, read: Callable[[], Credential], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._read = read
        self._clock = clock
        self._credential = read()
        self._again_at = clock() + REREAD_SECONDS

    async def current(self) -> Credential:
        if self._clock() >= self._again_at:
            self._read_again()
        return self._credential

    async def refused(self, credential: Credential) -> bool:
        if self._credential == credential:
            self._read_again()
        return self._credential != credential

    def _read_again(self) -> None:
        try:
            fresh = self._read()
        except ConfigError:
            self._again_at = self._clock() + UNUSABLE_SECONDS
            return
        self._again_at = self._clock() + REREAD_SECONDS
        # An equal credential stays the same object: connections are pooled by the identity of its certificate.
        if fresh != self._credential:
            self._credential = fresh
