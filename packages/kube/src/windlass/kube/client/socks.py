"""Connects through a SOCKS5 proxy, such as `ssh -D` (RFC 1928; name and password: RFC 1929).

The proxy resolves the host's name, for socks5:// and socks5h:// alike, as with Go programs: the names of a private
cluster are often known only behind the proxy.
"""

import asyncio
import socket
from ipaddress import ip_address
from typing import Any
from urllib.parse import SplitResult, unquote

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from windlass.kube.client.connections import Connections

_REFUSALS = {
    1: "it failed",
    2: "its rules do not allow the connection",
    3: "the network cannot be reached from there",
    4: "the host cannot be reached from there, or its name is not known there",
    5: "the host refuses the connection",
    6: "the time to live expired",
}
_NONE, _PASSWORD = 0, 2
_ADDRESS_BYTES = {1: 4, 4: 16}


class SocksConnections(Connections):
    """Connections through `proxy`."""

    def __init__(self, proxy: SplitResult, *, limit: int, keepalive: float) -> None:
        super().__init__(limit=limit, keepalive=keepalive, resolver=_ByTheProxy())
        self._proxy = proxy

    async def _wrap_create_connection(self, *args: Any, addr_infos: Any, req: Any, **options: Any) -> Any:
        """aiohttp calls this to connect; it wraps the socket into TLS."""
        try:
            connected = await self._connected(req.url.raw_host, req.port)
        except OSError as error:
            raise aiohttp.ClientProxyConnectionError(req.connection_key, error) from error
        return await self._wrap_existing_connection(*args, sock=connected, req=req, **options)

    async def _connected(self, host: str, port: int) -> socket.socket:
        """A socket whose other end is `host`. Raises OSError."""
        loop = asyncio.get_running_loop()
        failure: OSError = OSError("its name is not known")
        for family, kind, protocol, _, address in await loop.getaddrinfo(
            self._proxy.hostname, self._proxy.port or 1080, type=socket.SOCK_STREAM
        ):
            one = self._socket((family, kind, protocol, "", address))
            try:
                one.setblocking(False)
                await loop.sock_connect(one, address)
                await self._introduce(one, host, port)
            except BaseException as error:
                one.close()
                if not isinstance(error, OSError):
                    raise
                failure = error
            else:
                return one
        raise failure

    async def _introduce(self, one: socket.socket, host: str, port: int) -> None:
        loop = asyncio.get_running_loop()
        name, password = unquote(self._proxy.username or "").encode(), unquote(self._proxy.password or "").encode()
        await loop.sock_sendall(one, bytes([5, 2, _NONE, _PASSWORD] if name else [5, 1, _NONE]))
        version, method = await _exactly(one, 2)
        if version != 5:
            raise OSError("it is no SOCKS5 proxy")
        if method == _PASSWORD and name:
            await loop.sock_sendall(one, b"\x01" + _measured(name) + _measured(password))
            if (await _exactly(one, 2))[1]:
                raise OSError("it refuses this name and password")
        elif method != _NONE:
            raise OSError("it wants another way to log in: only a name and a password can be used")
        await loop.sock_sendall(one, bytes([5, 1, 0]) + _encoded(host) + port.to_bytes(2, "big"))
        _, refused, _, form = await _exactly(one, 4)
        if refused:
            raise OSError(f"{host}:{port}: {_REFUSALS.get(refused, f'error {refused}')}")
        length = _ADDRESS_BYTES.get(form) or (await _exactly(one, 1))[0]
        await _exactly(one, length + 2)


class _ByTheProxy(AbstractResolver):
    """Resolves nothing: aiohttp wants an address before it connects."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [ResolveResult(hostname=host, host="0.0.0.0", port=port, family=socket.AF_INET, proto=0, flags=0)]

    async def close(self) -> None:
        pass


def _encoded(host: str) -> bytes:
    try:
        address = ip_address(host)
    except ValueError:
        return b"\x03" + _measured(host.encode())
    return bytes([1 if address.version == 4 else 4]) + address.packed


def _measured(text: bytes) -> bytes:
    if len(text) > 255:
        raise OSError("a name or password of more than 255 bytes cannot be sent to it")
    return bytes([len(text)]) + text


async def _exactly(one: socket.socket, count: int) -> bytes:
    loop = asyncio.get_running_loop()
    found = b""
    while len(found) < count:
        piece = await loop.sock_recv(one, count - len(found))
        if not piece:
            raise ConnectionResetError("it closed the connection")
        found += piece
    return found
