"""HTTP to one API server: connections, credentials, deadlines, errors. It does not know kinds.

`Client` uses it; use it directly for paths that are no Kubernetes objects (`/readyz`, `/version`, `/openapi/v3`):

    async with Transport(config.load()) as transport:
        print(await transport.exchange("GET", "/readyz?verbose"))

Its guarantees:

* Every answer that is not 2xx becomes the matching leaf of `ApiError`, also when a proxy or load balancer wrote it as
  HTML.
* A read without an answer raises `TransportError`. A write without an answer raises `OutcomeUnknown`, or
  `TransportError` if it certainly was never sent.
* `timeout` bounds a request with all its retries (`windlass.kube.client.retry`). After it the connection is reset, and
  nothing more of the request leaves this machine (`windlass.kube.client.connections`). A server that was suspended
  after it received the request may still carry it out: only preconditions protect against that.
* `fence.gate` is called immediately before each attempt of a write with the seconds it may take, and again when the
  bytes leave. It may raise `Fenced`. No write takes longer than `fence.longest_write`, whatever its time-out.
* Each stream has its own connection, so requests never wait for streams to end. At most `connections` requests are
  under way at a time; more wait for their turn.
* `observer` is called for each attempt: method, kind (plural.group, or "" when unknown), code ("200", "<error>"),
  seconds.
* `warned` is called with each warning of each answer (`windlass.kube.client.warnings`).

It never logs and never puts a credential into an error.
"""

import asyncio
import math
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from random import Random
from types import TracebackType
from typing import Any, Self, TypeVar

import aiohttp
from msgspec import Struct, structs
from multidict import CIMultiDict
from yarl import URL

from windlass.kube.client.connections import SEND_CHECK, Connections, SendCheck
from windlass.kube.client.fence import Fence
from windlass.kube.client.refusal import refusal
from windlass.kube.client.retry import RetryPolicy
from windlass.kube.client.server_clock import HEADER, ServerClock
from windlass.kube.client.socks import SocksConnections
from windlass.kube.client.warnings import Warned, texts
from windlass.kube.config import ClientCertificate, ClusterConfig, Credential
from windlass.kube.config.cluster import proxy_url
from windlass.kube.errors import (
    ApiError,
    Busy,
    Fenced,
    OutcomeUnknown,
    Silent,
    TransportError,
    Unauthorized,
    Unconfirmed,
)
from windlass.kube.version import VERSION

R = TypeVar("R")

JSON = "application/json"


Observer = Callable[[str, str, str, float], None]

CONNECT_SECONDS = 10.0
"""For a free connection or a new one, TLS included; never more than half of a request's time."""
KEEPALIVE_SECONDS = 50.0
"""How long an idle connection is kept: less than the 90 s of an API server and the usual 60 s of load balancers, so
that a write rarely meets a connection that is just being closed."""

_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_NO_ANSWER = "<error>"


class _Severed(Exception):
    """The connection broke after the request may have been sent."""


class _Ask(Struct, frozen=True):
    """One request, shared by all its attempts."""

    method: str
    path: str
    body: bytes | None
    accept: str
    content_type: str
    kind: str
    endless: bool = False
    """It is a stream."""

    @property
    def is_write(self) -> bool:
        return self.method not in _READS

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Transport:
    """`connections`: how many requests may be under way at a time, streams not counted. `timeout`: seconds."""

    def __init__(
        self,
        config: ClusterConfig,
        *,
        connections: int = 128,
        timeout: float = 30.0,
        retry: RetryPolicy | None = None,
        fence: Fence | None = None,
        observer: Observer | None = None,
        warned: Warned | None = None,
        user_agent: str = "",
        random: Random | None = None,
    ) -> None:
        self.config = config
        self.timeout = timeout
        self.fence = fence
        self._connections = connections
        self._retry = retry or RetryPolicy()
        self._observer = observer
        self._warned = warned
        # An agent of our own, never one that looks like a browser or curl: those get indented JSON, twice the bytes.
        self._user_agent = user_agent or f"windlass/{VERSION}"
        self._random = random or Random()
        self._sessions: dict[bool, aiohttp.ClientSession] = {}
        """One session for streams (True), one for other requests (False)."""
        self._pools: list[Connections] = []
        self._closed = False
        self._credential: Credential | None = None
        self._ssl: Any = True
        self._headers: dict[tuple[str, str], CIMultiDict[str]] = {}
        self._limits = _limits(timeout)
        self.server_clock = ServerClock()
        """What the API server says that the time is."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections for good: later requests raise RuntimeError."""
        self._closed = True
        sessions = list(self._sessions.values())
        self._sessions.clear()
        for session in sessions:
            await session.close()

    async def exchange(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        accept: str = JSON,
        content_type: str = "",
        kind: str = "",
        timeout: float | None = None,  # noqa: ASYNC109 - spans repetitions, and the gate must know it
    ) -> bytes:
        """Send a request and return the body of its 2xx answer.

        `path` begins with a slash, is percent-encoded and may have a query. Raises ApiError, TransportError,
        OutcomeUnknown, ConfigError, or what the fence raises.
        """
        ask = _Ask(method, path, body, accept, content_type, kind)
        limit = self.timeout if timeout is None else timeout
        if self.fence is not None and ask.is_write:
            limit = min(limit, self.fence.longest_write)
        return await self._persist(ask, self._ask_once, limit)

    @asynccontextmanager
    async def stream(
        self, path: str, *, accept: str = JSON, kind: str = "", inactivity: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a GET whose answer has no end, and read it in pieces as they arrive.

        An answer that breaks off raises TransportError; `inactivity` seconds without a piece raise Silent.
        """
        ask = _Ask("GET", path, None, accept, "", kind, endless=True)
        limits = aiohttp.ClientTimeout(
            total=None, connect=CONNECT_SECONDS, sock_read=inactivity, ceil_threshold=math.inf
        )

        async def open_once(ask: _Ask, left: float) -> aiohttp.ClientResponse:
            return await self._open(ask, limits)

        response = await self._persist(ask, open_once, self.timeout)
        try:
            async with aclosing(self._pieces(ask, response, inactivity)) as pieces:
                yield pieces
        finally:
            response.close()
            self._reset_given_up()

    async def _persist(self, ask: _Ask, once: Callable[[_Ask, float], Awaitable[R]], limit: float) -> R:
        """Try `once`, and retry as `windlass.kube.client.retry` allows. `limit` excludes getting credentials."""
        credential = await self._authenticate()
        end = time.monotonic() + limit
        left = limit
        attempt, renewed, severed = 1, False, False
        while True:
            try:
                return await once(ask, left)
            except _Severed as cause:
                if ask.is_write or severed:
                    raise self._no_answer(ask, cause.__cause__ or cause) from cause.__cause__
                severed = True
            except ApiError as error:
                refused = isinstance(error, Unauthorized) and not renewed
                if refused and await self.config.credentials.refused(credential):
                    renewed = True
                    credential = await self._authenticate()
                    end = time.monotonic() + limit
                else:
                    wait = self._retry.wait(error, attempt=attempt, is_write=ask.is_write, random=self._random)
                    if wait is None or time.monotonic() + wait >= end:
                        raise
                    attempt += 1
                    await asyncio.sleep(wait)
            left = end - time.monotonic()
            if left <= 0:
                raise TransportError(f"{self._named(ask)}: no answer within {limit:g} s")

    async def _ask_once(self, ask: _Ask, left: float) -> bytes:
        began = time.monotonic()
        if self.fence is not None and ask.is_write:
            self.fence.gate(left)
        limits = self._limits if left == self.timeout else _limits(left)
        check = SendCheck(began + left, self.fence) if ask.is_write else None
        code = _NO_ANSWER
        try:
            response = await self._send(ask, limits, check)
            body = await response.read()
            code = str(response.status)
        except (aiohttp.ClientError, TimeoutError, OSError, _Severed) as error:
            if check is not None and check.refused is not None and not check.sent:
                if isinstance(check.refused, Fenced):
                    raise check.refused from None
                raise TransportError(f"{self._named(ask)}: {check.refused}") from None
            if isinstance(error, _Severed):
                raise
            raise self._no_answer(ask, error) from error
        finally:
            self._attempted(ask, code, began)
        if 200 <= response.status < 300:
            return body
        refused = refusal(response.status, response.headers, body, request=str(ask))
        if ask.is_write and isinstance(refused, Busy) and response.status >= 500:
            raise Unconfirmed(refused.status, request=refused.request, retry_after=refused.retry_after)
        raise refused

    async def _open(self, ask: _Ask, limits: aiohttp.ClientTimeout) -> aiohttp.ClientResponse:
        began = time.monotonic()
        code = _NO_ANSWER
        try:
            # The stream itself has no total time-out, but its beginning has that of any other request.
            async with asyncio.timeout(self.timeout):
                response = await self._send(ask, limits)
                code = str(response.status)
                if response.status == 200:
                    return response
                body = await response.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._no_answer(ask, error) from error
        finally:
            self._attempted(ask, code, began)
        raise refusal(response.status, response.headers, body, request=str(ask))

    async def _pieces(
        self, ask: _Ask, response: aiohttp.ClientResponse, inactivity: float
    ) -> AsyncGenerator[bytes, None]:
        try:
            async for piece in response.content.iter_any():
                yield piece
        except TimeoutError as error:
            raise Silent(f"{self._named(ask)}: nothing came for {inactivity:g} s") from error
        except (aiohttp.ClientError, OSError) as error:
            raise self._no_answer(ask, error) from error

    async def _send(
        self, ask: _Ask, limits: aiohttp.ClientTimeout, check: SendCheck | None = None
    ) -> aiohttp.ClientResponse:
        session = self._sessions.get(ask.endless)
        if session is None:
            if self._closed:
                # A bug of the caller, and no KubeError: those are tried again.
                raise RuntimeError(f"{self._named(ask)}: this transport was closed before: open another one")
            session = self._sessions[ask.endless] = self._connect(limit=0 if ask.endless else self._connections)
        sending = SEND_CHECK.set(check)
        try:
            response = await session.request(
                ask.method,
                URL(self.config.server + ask.path, encoded=True),
                data=ask.body,
                headers=self._headers.get((ask.accept, ask.content_type)) or self._compose(ask),
                ssl=self._ssl,
                server_hostname=self.config.tls.server_name,
                timeout=limits,
                allow_redirects=False,
            )
        finally:
            SEND_CHECK.reset(sending)
        self.server_clock.hear(response.headers.get(HEADER, ""))
        if self._warned is not None:
            for text in texts(response.headers.getall("Warning", ())):
                self._warned(text)
        return response

    def _connect(self, *, limit: int) -> aiohttp.ClientSession:
        proxy = self.config.proxy
        socks = proxy_url(proxy) if proxy is not None and proxy.startswith("socks") else None
        if socks is not None:
            proxy = None  # aiohttp knows HTTP proxies only
            pool: Connections = SocksConnections(socks, limit=limit, keepalive=KEEPALIVE_SECONDS)
        else:
            pool = Connections(limit=limit, keepalive=KEEPALIVE_SECONDS)
        self._pools.append(pool)
        return aiohttp.ClientSession(
            connector=pool,
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
            middlewares=(_tell_severed,),
            proxy=proxy,
            read_bufsize=2**18,
        )

    def _compose(self, ask: _Ask) -> CIMultiDict[str]:
        headers = CIMultiDict(self.config.impersonate.headers())
        headers["User-Agent"] = self._user_agent
        headers["Accept"] = ask.accept
        # Compressing a list costs the API server more time than a cluster's network needs to carry it.
        headers["Accept-Encoding"] = "identity"
        if ask.content_type:
            headers["Content-Type"] = ask.content_type
        if self._credential is not None and self._credential.authorization:
            headers["Authorization"] = self._credential.authorization
        self._headers[ask.accept, ask.content_type] = headers
        return headers

    async def _authenticate(self) -> Credential:
        """Use the current credential. A new certificate or CA needs new connections: they are pooled by both."""
        credential = await self.config.credentials.current()
        before = self._credential
        if credential is not before:
            if before is None or _tls_of(credential) != _tls_of(before):
                self._ssl = self._context(credential)
            self._credential = credential
            self._headers.clear()
        return credential

    def _context(self, credential: Credential) -> Any:
        if not self.config.server.startswith("https:"):
            return True
        tls = self.config.tls
        if credential.authority is not None:
            tls = structs.replace(tls, authority=credential.authority)
        return tls.context(credential.certificate)

    def _no_answer(self, ask: _Ask, error: BaseException) -> TransportError:
        unsent = isinstance(error, _UNSENT)
        if ask.is_write and not unsent:
            return OutcomeUnknown(f"{self._named(ask)}: sent, but no answer came: {self._say(error)}")
        return TransportError(f"{self._named(ask)}: no answer: {self._say(error)}")

    def _say(self, error: BaseException) -> str:
        match error:
            case aiohttp.ClientConnectorCertificateError():
                return (
                    f"the server's certificate is not trusted: {error.certificate_error}; "
                    f"see certificate-authority and tls-server-name in {self.config.origin or 'the configuration'}"
                )
            case aiohttp.ClientHttpProxyError():
                return f"the proxy refused the connection: {error.status} {error.message}"
            case aiohttp.ClientProxyConnectionError():
                return f"cannot connect through the proxy: {error.os_error.strerror or error.os_error}"
            case aiohttp.ClientConnectorError():
                return f"cannot connect: {error.os_error.strerror or error.os_error}"
            case aiohttp.ConnectionTimeoutError():
                return "no connection came about in time"
            case TimeoutError():
                return "timed out"
            case aiohttp.ServerDisconnectedError():
                return "the connection was closed"
        return f"{type(error).__name__}: {error}"

    def _named(self, ask: _Ask) -> str:
        return f"{ask.method} {self.config.server}{ask.path}"

    def _attempted(self, ask: _Ask, code: str, began: float) -> None:
        if code == _NO_ANSWER:
            self._reset_given_up()
        if self._observer is not None:
            self._observer(ask.method, ask.kind, code, time.monotonic() - began)

    def _reset_given_up(self) -> None:
        for pool in self._pools:
            pool.reset_given_up()


def _tls_of(credential: Credential) -> tuple[ClientCertificate | None, bytes | None]:
    return credential.certificate, credential.authority


_UNSENT = (aiohttp.ClientConnectorError, aiohttp.ClientHttpProxyError, aiohttp.ConnectionTimeoutError)


def _limits(seconds: float) -> aiohttp.ClientTimeout:
    # Above a threshold aiohttp rounds deadlines up to whole seconds; the gate needs them exact. Waiting for a free
    # connection has its own limit, because a request that timed out there was certainly not sent.
    return aiohttp.ClientTimeout(total=seconds, connect=min(CONNECT_SECONDS, seconds / 2), ceil_threshold=math.inf)


async def _tell_severed(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    # aiohttp silently repeats GET, PUT and DELETE after these errors. A DELETE that was carried out would be sent
    # again, past the gate, and get NotFound. With an error of our own, this transport decides.
    try:
        return await handler(request)
    except _UNSENT:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise _Severed from error
