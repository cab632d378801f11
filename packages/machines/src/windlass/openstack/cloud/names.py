"""Looks host names up in threads of their own: a name server that does not answer holds no thread of a call.

    names = Names()
    addresses = await names.resolve("keystone.example.org", tenant="team-a")            # on the loop
    addresses = names.addresses("keystone.example.org", tenant="team-a", seconds=5.0)   # in a thread

`getaddrinfo` cannot be interrupted and may take half a minute. Callers share a look-up of the same name.
"""

import socket
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec import Struct

from windlass.openstack.cloud.threads import Share, Threads, ended

KEPT: Final = 15.0
"""Seconds for which addresses are used again."""
REFUSED: Final = 3.0
"""Seconds for which a name that has no address is not looked up again."""
_KNOWN_FOR: Final = 3600.0
"""Seconds after which a name counts as new."""
_MOST: Final = 5000


class Address(Struct, frozen=True):
    """`family` as `socket` has it; `host` is numeric."""

    family: int
    host: str
    scope: int = 0

    def at(self, port: int) -> tuple[Any, ...]:
        """The address of a socket."""
        return (self.host, port, 0, self.scope) if self.family == socket.AF_INET6 else (self.host, port)


def endpoint_of(host: str, port: int) -> str:
    """Address and port as one text."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class _Found(Struct):
    at: float
    addresses: tuple[Address, ...] = ()
    error: OSError | None = None


class Names:
    """`look_up` is getaddrinfo; only tests have another one. `clock` is monotonic, in seconds."""

    def __init__(
        self,
        look_up: Callable[..., Sequence[Any]] = socket.getaddrinfo,
        *,
        clock: Callable[[], float] = time.monotonic,
        size: int = 32,
    ) -> None:
        self._look_up = look_up
        self._clock = clock
        self._threads = Threads(size, name="names", trusts=lambda share: self._is_known(share.endpoint))
        self._lock = threading.Lock()
        self._found: dict[str, _Found] = {}
        self._asking: dict[str, Future[_Found]] = {}

    async def resolve(self, host: str, *, tenant: str) -> tuple[Address, ...]:
        """The addresses of a host, in the order of preference. Raises OSError if there are none."""
        found = self._known(host)
        if found is None:
            asking = self._ask(host, tenant)
            await ended(asking)
            found = _result(asking)
        return _addresses(found)

    async def endpoint(self, url: str, *, tenant: str) -> str:
        """Address and port that a URL leads to, as one text; the name in the place of the address if it has none, and
        nothing for what is no URL."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError:
            return ""
        try:
            found = await self.resolve(host, tenant=tenant) if host else ()
        except OSError:  # it is told by the call itself
            found = ()
        return endpoint_of(found[0].host if found else host, port) if host else ""

    def addresses(self, host: str, *, tenant: str, seconds: float) -> tuple[Address, ...]:
        """The same in a thread. Raises TimeoutError after `seconds`."""
        return _addresses(self._known(host) or _result(self._ask(host, tenant), seconds))

    def _known(self, host: str) -> _Found | None:
        try:
            address = ip_address(host.split("%", 1)[0])
        except ValueError:
            pass
        else:
            if "%" not in host:
                family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
                return _Found(self._clock(), (Address(family, str(address)),))
        found = self._found.get(host)
        fresh = found is not None and self._clock() - found.at < (REFUSED if found.error else KEPT)
        return found if fresh else None

    def _is_known(self, host: str) -> bool:
        found = self._found.get(host)
        return found is not None and bool(found.addresses) and self._clock() - found.at < _KNOWN_FOR

    def _ask(self, host: str, tenant: str) -> "Future[_Found]":
        with self._lock:
            asking = self._asking.get(host)
            if asking is None:
                asking = self._asking[host] = self._threads.begin(lambda: self._read(host), share=Share(tenant, host))
        return asking

    def _read(self, host: str) -> _Found:
        try:
            found = _Found(self._clock(), tuple(dict.fromkeys(_address(each) for each in self._look_up_all(host))))
        except (OSError, UnicodeError) as error:
            found = _Found(self._clock(), error=error if isinstance(error, OSError) else socket.gaierror(str(error)))
        with self._lock:
            self._asking.pop(host, None)
            self._found.pop(host, None)
            while len(self._found) >= _MOST:
                self._found.pop(next(iter(self._found)))
            self._found[host] = found
        return found

    def _look_up_all(self, host: str) -> Sequence[Any]:
        return self._look_up(host, None, socket.AF_UNSPEC, socket.SOCK_STREAM)


def _address(found: Any) -> Address:
    family, where = found[0], found[4]
    return Address(int(family), where[0], where[3] if len(where) == 4 else 0)


def _result(asking: "Future[_Found]", seconds: float | None = None) -> _Found:
    try:
        return asking.result(seconds)
    except CancelledError:
        raise OSError("the look-up was given up") from None


def _addresses(found: _Found) -> tuple[Address, ...]:
    if found.error is not None:
        raise found.error
    return found.addresses
