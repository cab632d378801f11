"""The world outside of a disconnected cluster: nothing has an address but behind a proxy, and nothing a public CA.

| name | what it is | whose certificate |
|---|---|---|
| `quay.example.invalid` | where the base image is said to be: nowhere | |
| `mirror.example.invalid:5000` | where the base image lies | a CA of its own, for this host only |
| `registry.example.invalid:5000` | where images are pushed | a CA of its own, of registries |
| `packages.example.invalid:8443` | a repository that demands an entitlement | the CA of the trust bundle |

Names that end with `.invalid` never resolve (RFC 6761), so whoever reaches one asked the proxy. The proxy and both
servers are on loopback. Go programs ask no proxy for loopback addresses, but they ask it for these names.
"""

import asyncio
import re
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final, Self

import trustme
from aiohttp import web
from msgspec import Struct

from windlass.testing.builder import push_base
from windlass.testing.registry import Registry

SOURCE: Final = "quay.example.invalid/ocp/os"
MIRROR: Final = "mirror.example.invalid:5000"
TARGET: Final = "registry.example.invalid:5000"
PACKAGES: Final = "packages.example.invalid:8443"
PACKAGE: Final = b"only for subscribers\n"
_SECONDS: Final = 10.0
_UPDATE: Final = b"""#!/bin/sh
# Plays the program of that name in images of an OS.
mkdir -p /etc/ssl/certs
cat /etc/pki/ca-trust/source/anchors/*.crt >/etc/ssl/certs/ca-certificates.crt
"""


class Outside(Struct, frozen=True):
    """What a client has to know.

    base         the pullspec of the base image, at `SOURCE`
    connections  the hosts that the proxy was asked for, oldest first
    mirror_ca, registry_ca, bundle  in PEM
    """

    base: str
    proxy: str
    connections: list[str]
    registry: Registry
    mirror_ca: str
    registry_ca: str
    bundle: str
    entitlement: Mapping[str, bytes]


@contextmanager
def outside(folder: Path) -> Iterator[Outside]:
    """Until the end of the block."""
    folder.mkdir()
    authority = trustme.CA()
    subscriber = authority.issue_cert("subscriber.example.invalid")
    pem = subscriber.cert_chain_pems[0].bytes(), subscriber.private_key_pem.bytes()
    with (
        Registry(tls=True, names=[MIRROR.partition(":")[0]]) as mirror,
        Registry(tls=True, names=[TARGET.partition(":")[0]]) as registry,
    ):
        base = push_base(mirror, programs={**_with_libraries("curl"), "/bin/update-ca-trust": _UPDATE})
        known = {MIRROR: _port(mirror.host), TARGET: _port(registry.host)}
        with _Servers(authority, known) as servers:
            yield Outside(
                base=f"{SOURCE}@{base.partition('@')[2]}",
                proxy=f"http://127.0.0.1:{servers.proxy}",
                connections=servers.connections,
                registry=registry,
                mirror_ca=mirror.ca_file.read_text(),
                registry_ca=registry.ca_file.read_text(),
                bundle=authority.cert_pem.bytes().decode(),
                entitlement=dict(zip(("1.pem", "1-key.pem"), pem, strict=True)),
            )


class _Servers:
    """The proxy and the repository, in a thread of their own. `known`: the ports of other names."""

    def __init__(self, authority: trustme.CA, known: Mapping[str, int]) -> None:
        self._authority = authority
        self._known = dict(known)
        self._ready = threading.Event()
        self.connections: list[str] = []

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        assert self._ready.wait(_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(_SECONDS)

    async def _serve(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        runner = web.AppRunner(self._packages(), access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=self._tls()).start()
        self._known[PACKAGES] = runner.addresses[0][1]
        tunnels: set[asyncio.Task[None]] = set()

        def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            tunnels.add(asyncio.create_task(self._tunnel(reader, writer)))

        async with await asyncio.start_server(begin, "127.0.0.1", 0) as server:
            self.proxy = server.sockets[0].getsockname()[1]
            self._ready.set()
            await self._over.wait()
        for tunnel in tunnels:
            tunnel.cancel()
        await asyncio.gather(*tunnels, return_exceptions=True)
        await runner.cleanup()

    def _tls(self) -> ssl.SSLContext:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._authority.issue_cert(PACKAGES.partition(":")[0]).configure_cert(tls)
        self._authority.configure_trust(tls)
        tls.verify_mode = ssl.CERT_REQUIRED
        return tls

    def _packages(self) -> web.Application:
        """A repository that gives its package to whoever got through TLS."""

        async def give(_: web.Request) -> web.Response:
            return web.Response(body=PACKAGE)

        app = web.Application()
        app.router.add_get("/content/package", give)
        return app

    async def _tunnel(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection of the proxy, which takes CONNECT and alone knows the names."""
        with closing(writer):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            asked = re.match(r"CONNECT (\S+) HTTP", head)
            host = asked[1] if asked else head.partition("\r\n")[0]
            self.connections.append(host)
            if host not in self._known:
                writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
                return
            inner, outer = await asyncio.open_connection("127.0.0.1", self._known[host])
            with closing(outer):
                writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
                await asyncio.gather(_copied(reader, outer), _copied(inner, writer))


async def _copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    if writer.can_write_eof():
        with suppress(OSError):
            writer.write_eof()


def _port(host: str) -> int:
    return int(host.rpartition(":")[2])


def _with_libraries(program: str) -> dict[str, bytes]:
    """A program of this machine with the libraries that it is linked with, by their paths."""
    found = shutil.which(program)
    assert found is not None, f"{program} is missing: install it"
    linked = subprocess.run(["ldd", found], capture_output=True, text=True, check=True).stdout
    libraries = {path: Path(path).read_bytes() for path in re.findall(r"(/\S+) \(0x", linked)}
    return {f"/bin/{program}": Path(found).read_bytes(), **libraries}
