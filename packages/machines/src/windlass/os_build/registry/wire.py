"""Sends one HTTP request to a registry, and reads no more of the answer than it needs."""

import ssl
from collections.abc import Collection, Mapping
from typing import Final
from urllib.request import getproxies

import aiohttp
from yarl import URL

from windlass.api.machineconfiguration import Proxy
from windlass.kube.client.connections import Connections
from windlass.os_build.credentials import DOCKER_HUB
from windlass.os_build.environment import Egress
from windlass.os_build.pullspec import Target
from windlass.os_build.registry.answers import Reply, shown
from windlass.os_build.registry.route import proxy_of

BODY: Final = 64 * 1024
"""Bytes of an answer that are read: enough for errors and tokens."""
_CONNECTIONS: Final = 16
_CONTEXTS: Final = 8
"""Sets of certificates that are remembered: each takes a megabyte and 10 ms to make."""
_KEEP: Final = 5.0
"""Seconds: for the requests of one question. A registry may close an older connection just when it is used."""


class NoAnswer(Exception):
    """The request was not answered; the text says why, for people."""


class Wire:
    """The connections to all registries; see `Registry` for the options."""

    def __init__(self, *, insecure: Collection[str]) -> None:
        self._insecure = frozenset(insecure)
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def api(self, target: Target) -> URL:
        """The root of a repository in the registry's API."""
        host = "registry-1.docker.io" if target.host == DOCKER_HUB else target.host
        scheme = "http" if self._may_be_plain(URL(f"//{host}")) else "https"
        return URL(f"{scheme}://{host}/v2/{target.path}/")

    async def send(
        self,
        method: str,
        url: URL,
        *,
        headers: Mapping[str, str],
        egress: Egress,
        form: Mapping[str, str] | bytes | None = None,
        most: int = BODY,
    ) -> Reply:
        """The answer, with `most` bytes of its body; redirects are answers, too. `form`: the body of the request.

        Raises NoAnswer.
        """
        if url.scheme != "https" and not (url.scheme == "http" and self._may_be_plain(url)):
            raise NoAnswer(
                f"{url.origin() if url.host else url} is not asked without TLS, unless it is said to be insecure"
            )
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=Connections(limit=_CONNECTIONS, keepalive=_KEEP),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None),
                headers={"User-Agent": "windlass", "Accept-Encoding": "identity"},
                middlewares=(_once,),
            )
        try:
            async with self._session.request(
                method,
                url,
                headers=headers,
                data=form,
                ssl=self._tls(egress, url),
                proxy=proxy_of(url, _proxy(egress)),
                allow_redirects=False,
            ) as response:
                body = b""
                while more := await response.content.read(most + 1 - len(body)):
                    body += more
                return Reply(url, response.status, response.headers, body[:most], len(body) <= most)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise NoAnswer(_said(error)) from error

    def _tls(self, egress: Egress, url: URL) -> ssl.SSLContext:
        """The certificates that are trusted when `url` is asked, beside the system's."""
        of_host = dict(egress.registries)
        trusted = egress.trusted + (of_host.get(url.authority) or of_host.get(url.host or "") or "")
        if (context := self._contexts.get(trusted)) is None:
            context = ssl.create_default_context()
            if trusted:
                try:
                    context.load_verify_locations(cadata=trusted)
                except ssl.SSLError as error:
                    raise NoAnswer(f"the certificates that are to be trusted cannot be read: {error.reason}") from error
            while len(self._contexts) >= _CONTEXTS:
                del self._contexts[next(iter(self._contexts))]
            self._contexts[trusted] = context
        return context

    def _may_be_plain(self, url: URL) -> bool:
        return bool({url.host, url.authority} & self._insecure)


def _proxy(egress: Egress) -> Proxy:
    """The given proxy, else that of this process."""
    if egress.proxy != Proxy():
        return egress.proxy
    ours = getproxies()
    return Proxy(https_proxy=ours.get("https", ""), no_proxy=ours.get("no", ""))


async def _once(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    # aiohttp repeats a GET, HEAD or DELETE by itself after these two errors, and after no other.
    try:
        return await handler(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise aiohttp.ClientPayloadError("the connection was cut") from error


def _said(error: Exception) -> str:
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return f"its certificate is not trusted here: {shown(str(error.certificate_error))}"
        case aiohttp.ClientConnectorSSLError():
            return f"TLS failed: {shown(str(error.os_error))}"
        case aiohttp.ClientHttpProxyError():
            return f"the proxy refuses the connection: {error.status}"
        case aiohttp.ClientConnectorError():
            return f"cannot connect: {shown(error.os_error.strerror or str(error.os_error))}"
        case aiohttp.ClientPayloadError():
            return "the connection was cut"
        case aiohttp.ClientResponseError():
            return f"its answer is not HTTP: {shown(error.message)}"
    return f"{type(error).__name__}: {shown(str(error))}"
