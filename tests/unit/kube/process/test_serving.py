"""Servers whose certificate is renewed while they run."""

import asyncio
import gc
import socket
import ssl
import warnings
from pathlib import Path

import pytest
from aiohttp import web

from tests.patience import PATIENCE
from windlass.kube.clock import SystemClock
from windlass.kube.process.serving import TlsFiles, serve

PEM = Path(__file__).parents[3] / "data" / "kube" / "tls"


class Bell(SystemClock):
    """A clock whose sleeper wakes when it is rung. `ring` returns when it sleeps again."""

    def __init__(self) -> None:
        self._asleep = asyncio.Event()
        self._rung = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self._asleep.set()
        await self._rung.wait()
        self._rung.clear()

    async def ring(self) -> None:
        async with asyncio.timeout(PATIENCE):
            await self._asleep.wait()
            self._asleep.clear()
            self._rung.set()
            await self._asleep.wait()


@pytest.fixture
def tls(tmp_path: Path) -> TlsFiles:
    tls = TlsFiles(tmp_path / "tls.crt", tmp_path / "tls.key")
    tls.certificate.write_bytes((PEM / "server.crt").read_bytes())
    tls.key.write_bytes((PEM / "server.key").read_bytes())
    return tls


async def presented(url: str) -> bytes:
    """The certificate that a new connection is shown."""
    trust = ssl.create_default_context(cafile=PEM / "ca.crt")
    trust.verify_flags &= ~ssl.VERIFY_X509_STRICT
    trust.check_hostname = False
    async with asyncio.timeout(PATIENCE):
        _, writer = await asyncio.open_connection("127.0.0.1", int(url.rsplit(":", 1)[1]), ssl=trust)
    shown: bytes = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    return shown


async def test_a_certificate_that_is_there_before_its_key_does_not_disturb_anybody(tls: TlsFiles) -> None:
    bell = Bell()
    async with serve(web.Application(), host="127.0.0.1", port=0, tls=tls, clock=bell) as url:
        before = await presented(url)
        tls.certificate.write_bytes((PEM / "named.crt").read_bytes())
        await bell.ring()
        assert await presented(url) == before
        tls.key.write_bytes((PEM / "named.key").read_bytes())
        await bell.ring()
        assert await presented(url) == ssl.PEM_cert_to_DER_cert((PEM / "named.crt").read_text())


def test_the_end_of_a_server_leaves_no_socket_open_although_its_peer_says_nothing(tls: TlsFiles) -> None:
    trust = ssl.create_default_context(cafile=PEM / "ca.crt")
    trust.verify_flags &= ~ssl.VERIFY_X509_STRICT
    trust.check_hostname = False
    peers = []

    def connect(port: int) -> None:
        peer = trust.wrap_socket(socket.create_connection(("127.0.0.1", port)))
        peer.sendall(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
        peer.recv(1)
        peers.append(peer)

    async def life() -> None:
        async with serve(web.Application(), host="127.0.0.1", port=0, tls=tls) as url:
            await asyncio.to_thread(connect, int(url.rsplit(":", 1)[1]))

    with warnings.catch_warnings(record=True) as left:
        warnings.simplefilter("always", ResourceWarning)
        asyncio.run(life())
        gc.collect()
    for peer in peers:
        peer.close()
    assert [str(warning.message) for warning in left] == []
