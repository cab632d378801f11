"""Asks one informer over HTTPS, and takes no more than an informer may send.

* Only authorities of the informer count, and its certificate must be for `<name>.<namespace>.svc`.
* Redirects and proxies are not followed, cookies are not kept, compressed answers are refused.
* One deadline holds for connecting, sending and reading; at most `LARGEST` bytes are read.
* The token goes into the header, and into no text.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import aiohttp
import msgspec
from aiohttp.abc import AbstractResolver, ResolveResult

from windlass.api.update_informer import UpdateInsightsRequest
from windlass.kube.config.cluster import Tls
from windlass.kube.errors import ConfigError
from windlass.kube.pem import NoCertificate, certificates
from windlass.update_status.informers.admission import Endpoint
from windlass.update_status.informers.cleaning import one_line

LARGEST: Final = 256 * 1024
"""Bytes of an answer; a larger one is refused."""
LONGEST_HEADER: Final = 4096

SERVICE_CA: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/service-ca.crt")

Resolve = Callable[[str], Sequence[str]]
"""The addresses of a host name; only tests have another one than the Service's."""


class NoAnswer(Exception):
    """There is no answer that can be used; the text says why. It is safe to show, and has no secret.

    `refused`: the informer does not accept the token.
    """

    def __init__(self, why: str, *, refused: bool = False) -> None:
        super().__init__(why)
        self.refused = refused


class Fetcher:
    """Asks informers. `service_ca`: read again for each question, since it rotates."""

    def __init__(self, *, service_ca: Path = SERVICE_CA, resolve: Resolve | None = None) -> None:
        self._service_ca = service_ca
        self._resolve = resolve

    async def __call__(self, endpoint: Endpoint, asked: UpdateInsightsRequest, *, token: str) -> bytes:
        """The body of the answer. Raises NoAnswer."""
        try:
            async with asyncio.timeout(endpoint.timeout):
                return await self._ask(endpoint, asked, token)
        except TimeoutError:
            raise NoAnswer(f"no answer within {endpoint.timeout:g} s") from None
        except aiohttp.ClientConnectorCertificateError as error:
            raise NoAnswer(f"its certificate is refused: {one_line(str(error.certificate_error), 200)}") from None
        except aiohttp.ClientResponseError:
            raise NoAnswer("its answer is not HTTP") from None
        except (aiohttp.ClientError, ssl.SSLError, OSError, ValueError) as error:
            # Its text may quote what the informer sent.
            raise NoAnswer(f"{type(error).__name__}: {one_line(str(error), 200)}") from None

    async def _ask(self, endpoint: Endpoint, asked: UpdateInsightsRequest, token: str) -> bytes:
        addresses = endpoint.addresses if self._resolve is None else self._resolve(endpoint.host)
        connector = aiohttp.TCPConnector(
            ssl=self._trust(endpoint), resolver=_Known(endpoint.host, addresses), force_close=True, use_dns_cache=False
        )
        headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
        }
        async with (
            aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                auto_decompress=False,
                max_line_size=LONGEST_HEADER,
                max_field_size=LONGEST_HEADER,
            ) as session,
            session.post(
                endpoint.url, data=msgspec.json.encode(asked), headers=headers, allow_redirects=False
            ) as answer,
        ):
            _check(answer)
            body = bytearray()
            async for part in answer.content.iter_chunked(2**14):
                body += part
                if len(body) > LARGEST:
                    raise NoAnswer(f"its answer is larger than {LARGEST} bytes")
            return bytes(body)

    def _trust(self, endpoint: Endpoint) -> ssl.SSLContext:
        authority = endpoint.authority
        if not authority:
            try:
                authority = certificates(self._service_ca.read_bytes())
            except (OSError, NoCertificate) as error:
                raise NoAnswer(
                    f"there is no service CA in {self._service_ca} ({type(error).__name__}): "
                    "give spec.clientConfig.caBundle, or --informers-ca to the controller"
                ) from None
        try:
            context = Tls(authority=authority.encode("ascii")).context()
        except ConfigError as error:
            raise NoAnswer(str(error)) from None
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        return context


def _check(answer: aiohttp.ClientResponse) -> None:
    if 300 <= answer.status < 400:
        raise NoAnswer(f"it answered {answer.status}: redirects are not followed")
    if answer.status in (401, 403):
        raise NoAnswer(f"it answered {answer.status}: it does not accept the controller's token", refused=True)
    if answer.status != 200:
        raise NoAnswer(f"it answered {answer.status}")
    if answer.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise NoAnswer("its answer is compressed, which was not asked for")
    if (answer.content_length or 0) > LARGEST:
        raise NoAnswer(f"its answer is larger than {LARGEST} bytes")


class _Known(AbstractResolver):
    """Resolves one name, to addresses that are known."""

    def __init__(self, host: str, addresses: Sequence[str]) -> None:
        self._host = host
        self._addresses = addresses

    async def resolve(self, host: str, port: int = 0, family: Any = socket.AF_UNSPEC) -> list[ResolveResult]:
        if host != self._host:
            raise OSError(f"{host} is not the informer")
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST,
            )
            for address in self._addresses
        ]

    async def close(self) -> None:
        pass
