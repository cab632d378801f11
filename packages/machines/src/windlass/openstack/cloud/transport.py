"""HTTP to a cloud under one clock: whatever is resolved, sent and read for a call ends with its deadline.

`requests` bounds each read, so it would read a server that sends a byte a second for ever. Here the sockets ask for the
time that is left, before each read and write. So the rule holds for headers, bodies, TLS and redirects alike, and for
what keystoneauth1 asks on its own.

| what | rule |
|---|---|
| time | `Call.deadline`, for all requests of the call together; then the thread is free |
| size | `LARGEST` bytes of one answer, headers included; `OF_TENANT` of all that are being read for one |
| memory | goes back to the system soon after an answer of more than `FAIR` bytes |
| compressed answers | are refused: they were not asked for, and may grow a thousandfold |
| CAs | in memory; no file is written |
| addresses | those that `Call.refusal` refuses are not asked: at each connection, so for redirects and catalogs too |

    with under(Call(deadline=time.monotonic() + 20)):
        session.get(url)                    # a session with `Adapter`
"""

import os
import socket
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from http.client import RemoteDisconnected
from typing import Any, Final

import requests
import urllib3
from keystoneauth1.session import TCPKeepAliveAdapter
from msgspec import Struct
from requests.utils import DEFAULT_CA_BUNDLE_PATH
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import ConnectTimeoutError, LocationValueError, NameResolutionError, NewConnectionError
from urllib3.util.ssl_ import create_urllib3_context

from windlass.openstack.cloud.names import Names, endpoint_of
from windlass.openstack.cloud.trimming import Trimmer

CONNECT_SECONDS: Final = 5.0
LARGEST: Final = 16 * 2**20
"""Bytes of one answer: about 20,000 ports, and Nova's pages have 1,000 servers."""
OF_TENANT: Final = 24 * 2**20
"""Bytes of all answers to one tenant that are being read."""
OF_ALL: Final = 96 * 2**20
"""The same for all tenants: beyond that, those who have more than `FAIR` end first. The process may have 512 MiB."""
FAIR: Final = 2 * 2**20


class TooLong(Exception):
    """An answer has more bytes than any answer of a cloud, or there is no memory for it now."""


class Volume:
    """Bytes of the answers that are being read, by tenant. May be used by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: Counter[str] = Counter()
        self._trimmer = Trimmer()

    def take(self, tenant: str, size: int) -> None:
        """Raises TooLong."""
        with self._lock:
            self._held[tenant] += size
            held = self._held[tenant]
            if held > OF_TENANT or (held > FAIR and self._held.total() > OF_ALL):
                raise TooLong(f"answers to namespace {tenant} are too large to be read at the same time")

    def give_back(self, tenant: str, size: int) -> None:
        with self._lock:
            self._held[tenant] -= size
            if not self._held[tenant]:
                del self._held[tenant]
        if size > FAIR:
            self._trimmer.soon()


_VOLUME: Final = Volume()


class AddressRefused(Exception):
    """A host has no other addresses than those that are not asked for a tenant."""


class Call(Struct):
    """What holds for the requests of one call. `deadline`: of time.monotonic. `tenant`: the namespace of the
    credentials. `refusal`: why an address is not asked; None: all are. `received`: bytes of the present answer.
    `endpoint`: address and port that is spoken to. `answered`: whether the last request was; None: none was sent."""

    deadline: float
    names: Names
    tenant: str = ""
    refusal: Callable[[str], str] | None = None
    received: int = 0
    endpoint: str = ""
    answered: bool | None = None

    def seconds(self) -> float:
        """The time that is left. Raises TimeoutError if there is none."""
        if (left := self.deadline - time.monotonic()) <= 0:
            raise TimeoutError("timed out")
        return left

    def receive(self, size: int) -> None:
        self.received += size
        if self.tenant:
            _VOLUME.take(self.tenant, size)
        if self.received > LARGEST:
            raise TooLong(f"the answer of {self.endpoint} is larger than {LARGEST >> 20} MiB, and was not read")

    def forget(self) -> None:
        """The answer is not held any more, or is in other hands."""
        if self.tenant:
            _VOLUME.give_back(self.tenant, self.received)
        self.received = 0


_THREAD = threading.local()


@contextmanager
def under(call: Call) -> Iterator[None]:
    """Requests of this thread belong to `call`."""
    _THREAD.call = call
    try:
        yield
    finally:
        call.forget()
        del _THREAD.call


def _call() -> Call:
    call: Call = _THREAD.call
    return call


class _Timed(socket.socket):
    """Reads in the time that its call has left. Each kind of socket writes in a way of its own."""

    def recv_into(self, *args: Any, **named: Any) -> int:
        self.settimeout(_call().seconds())
        size = super().recv_into(*args, **named)
        _call().receive(size)
        return size


class _Socket(_Timed):
    def sendall(self, *args: Any, **named: Any) -> None:
        self.settimeout(_call().seconds())
        super().sendall(*args, **named)


class _TlsSocket(_Timed, ssl.SSLSocket):
    def send(self, *args: Any, **named: Any) -> int:
        self.settimeout(_call().seconds())
        return super().send(*args, **named)


class _Dialing(HTTPConnection):
    """Connects to the addresses that `Call.names` knows."""

    endpoint = ""

    def _new_conn(self) -> socket.socket:
        call, port = _call(), int(self.port or self.default_port)
        try:
            addresses = call.names.addresses(self._dns_host.strip("[]"), tenant=call.tenant, seconds=call.seconds())
        except TimeoutError as error:
            raise ConnectTimeoutError(self, f"{self.host} was not resolved in time") from error
        except OSError as error:
            found = error if isinstance(error, socket.gaierror) else socket.gaierror(str(error))
            raise NameResolutionError(self.host, self, found) from error
        failure: Exception = NewConnectionError(self, f"{self.host} has no address")
        for address in addresses:
            # The address that was resolved for this connection: the next answer of a name server may be another one.
            if call.refusal is not None and (why_not := call.refusal(address.host)):
                failure = AddressRefused(f"{self.host} has the address {address.host}, {why_not}")
                continue
            self.endpoint = call.endpoint = endpoint_of(address.host, port)
            made = _Socket(address.family, socket.SOCK_STREAM)
            try:
                for option in self.socket_options or ():
                    made.setsockopt(*option)
                made.settimeout(min(CONNECT_SECONDS, call.seconds()))
                made.connect(address.at(port))
                made.settimeout(call.seconds())  # for the TLS handshake
            except TimeoutError as error:
                made.close()
                failure = ConnectTimeoutError(self, f"no connection to {self.endpoint} in time")
                failure.__cause__ = error
            except OSError as error:
                made.close()
                failure = NewConnectionError(self, f"no connection to {self.endpoint}: {error}")
                failure.__cause__ = error
            else:
                return made
        raise failure

    def request(self, *args: Any, **named: Any) -> None:
        call = _call()
        call.forget()
        if self.sock is not None:
            call.endpoint = self.endpoint
        super().request(*args, **named)


class _Tls(_Dialing, HTTPSConnection):
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Dialing


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _Tls


_POOLS: Final = {"http": _Pool, "https": _TlsPool}


def _context(*, verify: bool) -> ssl.SSLContext:
    made = create_urllib3_context(cert_reqs=ssl.CERT_REQUIRED if verify else ssl.CERT_NONE)
    made.sslsocket_class = _TlsSocket
    return made


def _usual_trust() -> ssl.SSLContext:
    made = _context(verify=True)
    made.load_verify_locations(cafile=DEFAULT_CA_BUNDLE_PATH)
    return made


# The CAs of the world take megabytes, and each try to log in to a cloud that fails makes a session.
_shared_trust: Final = cache(_usual_trust)


class Adapter(TCPKeepAliveAdapter):
    """Carries the requests of a session. `verify`: whether certificates are; `authority`: PEM; empty: the CAs of
    `requests`. `connections` are kept open. `own`: files of the user's may be added to what is trusted."""

    def __init__(self, *, verify: bool, authority: str, connections: int, own: bool = True) -> None:
        if verify and not authority:
            self._context = _usual_trust() if own else _shared_trust()
        else:
            self._context = _context(verify=verify)
            if authority:
                self._context.load_verify_locations(cadata=authority)
        super().__init__(pool_maxsize=connections)

    def init_poolmanager(self, *args: Any, **named: Any) -> None:
        super().init_poolmanager(*args, ssl_context=self._context, **named)
        self.poolmanager.pool_classes_by_scheme = _POOLS

    def proxy_manager_for(self, proxy: str, **named: Any) -> Any:
        manager = super().proxy_manager_for(proxy, ssl_context=self._context, **named)
        if not proxy.lower().startswith("socks"):
            manager.pool_classes_by_scheme = _POOLS
        return manager

    def cert_verify(self, conn: Any, url: str, verify: Any, cert: Any) -> None:
        """Add a client certificate, and a file of CAs that the user's environment names; the context has the others."""
        super().cert_verify(conn, url, isinstance(verify, str) and verify, cert)
        conn.cert_reqs = self._context.verify_mode

    def send(self, request: Any, stream: bool = False, *args: Any, **named: Any) -> requests.Response:
        _call().answered = False
        request.headers["Accept-Encoding"] = "identity"
        response = super().send(request, True, *args, **named)
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            response.close()
            raise requests.exceptions.ContentDecodingError("the answer is compressed, which was not asked for")
        response.content  # noqa: B018 - read here, where the clock runs
        _call().answered = True
        return response


def causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what lies behind it, the outermost first."""
    pending, seen = [error], set()
    while pending:
        each = pending.pop(0)
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        behind = (each.__cause__, each.__context__, getattr(each, "reason", None), *each.args)
        pending += [other for other in behind if isinstance(other, BaseException)]


def never_sent(error: BaseException) -> bool:
    """Whether the request certainly did not arrive: there was no connection, or no trust."""
    unsent = (ConnectTimeoutError, NewConnectionError, NameResolutionError, ssl.SSLCertVerificationError)
    unusable = (requests.exceptions.InvalidSchema, requests.exceptions.InvalidURL, requests.exceptions.MissingSchema)
    return any(isinstance(each, (*unsent, *unusable, LocationValueError)) for each in causes(error))


def was_dropped(error: BaseException) -> bool:
    """Whether the connection ended in the place of an answer."""
    return any(isinstance(each, ConnectionError) for each in causes(error))


def why(error: BaseException) -> str:
    """Why there is no answer, without a word of what came: it may be of any server, and conditions are public."""
    found = list(causes(error))
    for kind, text in _TEXTS:
        for each in found:
            if isinstance(each, kind):
                return text(each)
    for each in found:
        if isinstance(each, OSError) and each.errno:
            return os.strerror(each.errno)
    if any(isinstance(each, (TimeoutError, urllib3.exceptions.TimeoutError)) for each in found):
        return "no answer in time"
    return "what came is no answer of HTTP"


_URL: Final = "its URL cannot be used"
_TEXTS: Final[tuple[tuple[type[BaseException], Callable[[Any], str]], ...]] = (
    (TooLong, str),
    (ssl.SSLCertVerificationError, lambda error: f"CERTIFICATE_VERIFY_FAILED: {error.verify_message}"),
    (ssl.SSLError, lambda error: f"TLS: {error.reason or 'the handshake failed'}"),
    (socket.gaierror, lambda error: f"the name cannot be resolved: {error.strerror or error}"),
    (LocationValueError, lambda _: _URL),
    (requests.exceptions.InvalidSchema, lambda _: _URL),
    (requests.exceptions.InvalidURL, lambda _: _URL),
    (requests.exceptions.MissingSchema, lambda _: _URL),
    (requests.exceptions.ContentDecodingError, str),
    (RemoteDisconnected, lambda _: "the connection was closed without an answer"),
)
