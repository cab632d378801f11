"""Serves informers on this machine: good ones whose insight changes now and then, or one of each hostile kind.

    python -m bench.informer_crowd good 38 --kubeconfig FILE --into FOLDER
    python -m bench.informer_crowd hostile 0 --into FOLDER

FOLDER gets `KIND.json` as soon as all of them listen: where each is, and which authority its certificate comes from.
The good ones write `changes` there, a line for each change: the name, the number of the insight, the time.
"""

import argparse
import asyncio
import gzip
import itertools
import random
import ssl
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

import msgspec
import trustme
from aiohttp import web
from msgspec import Struct

from windlass.api.update_informer import API_VERSION
from windlass.informer import InformedImpact, InformedInsight, UpdateInsightsRequest, informer_guard, informer_routes
from windlass.kube import config
from windlass.kube.client import Client
from windlass.kube.process.serving import stop

NAMESPACE: Final = "crowd"
CHANGES: Final = (4.0, 25.0)
"""Seconds between two changes of a good informer, at least and at most."""
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Place(Struct, frozen=True):
    """Where an informer listens, and the PEM of the authority that its registration names."""

    port: int
    authority: str


def host(name: str) -> str:
    return f"{name}.{NAMESPACE}.svc"


class Changing:
    """An insight whose uid has a number that grows at random moments."""

    def __init__(self, name: str, changes: Path) -> None:
        self.name = name
        self._number = 0
        self._changes = changes

    async def tell(self, _: UpdateInsightsRequest) -> Sequence[InformedInsight]:
        impact = InformedImpact(level="Warning", type="Update Speed", summary=f"Volume {self._number} is rebuilt")
        return [InformedInsight(uid=f"volume-{self._number}", impact=impact)]

    async def change(self) -> None:
        while True:
            await asyncio.sleep(random.uniform(*CHANGES))
            self._number += 1
            with self._changes.open("a", encoding="utf-8") as lines:
                lines.write(f"{self.name} {self._number} {time.time()}\n")


def _said(*insights: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": "UpdateInsightsResponse", "insights": list(insights)}


def _insight(uid: str, text: str) -> dict[str, Any]:
    return {"uid": uid, "impact": {"level": "Critical", "type": "Data Loss", "summary": text, "description": text * 9}}


async def _drip(request: web.Request) -> web.StreamResponse:
    """A byte now and then, for ever."""
    answer = web.StreamResponse()
    await answer.prepare(request)
    while True:
        await answer.write(b" ")
        await asyncio.sleep(0.05)


async def _huge(request: web.Request) -> web.StreamResponse:
    answer = web.StreamResponse()
    await answer.prepare(request)
    for _ in range(1024):
        await answer.write(b"x" * 2**16)
    return answer


async def _bomb(_: web.Request) -> web.Response:
    return web.Response(body=BOMB, headers={"Content-Encoding": "gzip"})


async def _deep(_: web.Request) -> web.Response:
    return web.Response(body=b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}")


async def _redirect(_: web.Request) -> web.Response:
    raise web.HTTPTemporaryRedirect("https://kubernetes.default.svc/api")


async def _fine(_: web.Request) -> web.Response:
    return web.json_response(_said(_insight("never", "Nobody may read this")))


async def _flapping(_: web.Request) -> web.Response:
    return web.json_response(_said(*(_insight(f"new-{next(NUMBERS)}", "Something new") for _ in range(60))))


async def _rewording(_: web.Request) -> web.Response:
    return web.json_response(_said(*(_insight(f"same-{one}", f"Words {next(NUMBERS)} " * 9) for one in range(60))))


async def _escapes(_: web.Request) -> web.Response:
    return web.json_response(_said(_insight("escapes", "\x1b[2J\x1b]0;x\x07\u202e<script>alert(1)</script>\r\n\t" * 9)))


BOMB: Final = gzip.compress(b" " * 2**27)
NUMBERS: Final = itertools.count()
HOSTILE: Final[dict[str, Handler]] = {
    "drip": _drip,
    "huge": _huge,
    "bomb": _bomb,
    "deep": _deep,
    "redirect": _redirect,
    "stranger": _fine,
    "misnamed": _fine,
    "flapping": _flapping,
    "rewording": _rewording,
    "escapes": _escapes,
}
"""What answers over HTTPS. `stranger` has a certificate of another authority, `misnamed` one for another name."""
KINDS: Final = (*HOSTILE, "mute", "garbage")
"""All hostile kinds: `mute` accepts connections and says nothing, `garbage` speaks TLS and no HTTP."""


async def _mute(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(3600)
    writer.close()


async def _garbage(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"SSH-2.0-OpenSSH_9.6\r\n" * 100)
    await writer.drain()
    writer.close()


def _context(authority: trustme.CA, name: str) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(name).configure_cert(context)
    return context


async def _serve(stack: AsyncExitStack, routes: list[web.RouteDef], context: ssl.SSLContext) -> int:
    app = web.Application()
    app.add_routes(routes)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    stack.push_async_callback(stop, runner)
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    port: int = runner.addresses[0][1]
    return port


async def _hostile(stack: AsyncExitStack, authority: trustme.CA) -> dict[str, Place]:
    pem, other = authority.cert_pem.bytes().decode(), trustme.CA()
    found = {}
    for name, handler in HOSTILE.items():
        context = _context(authority, host("somebody" if name == "misnamed" else name))
        port = await _serve(stack, [web.post("/", handler)], context)
        found[name] = Place(port, other.cert_pem.bytes().decode() if name == "stranger" else pem)
    for name, speak, tls in (("mute", _mute, None), ("garbage", _garbage, _context(authority, host("garbage")))):
        server = await asyncio.start_server(speak, "127.0.0.1", 0, ssl=tls)
        found[name] = Place(server.sockets[0].getsockname()[1], pem)
    return found


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["good", "hostile"])
    parser.add_argument("count", type=int)
    parser.add_argument("--kubeconfig", type=Path)
    parser.add_argument("--into", type=Path, required=True)
    given = parser.parse_args()
    authority = trustme.CA()
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as tasks:
        if given.kind == "hostile":
            found = await _hostile(stack, authority)
        else:
            found = {}
            reviews = await stack.enter_async_context(Client(config.load(kubeconfig=given.kubeconfig)))
            for number in range(given.count):
                one = Changing(f"good-{number}", given.into / "changes")
                guard = informer_guard(reviews, one.name)
                routes = informer_routes(one.tell, name=one.name, guard=guard)
                port = await _serve(stack, routes, _context(authority, host(one.name)))
                found[one.name] = Place(port, authority.cert_pem.bytes().decode())
                tasks.create_task(one.change())
        (given.into / f"{given.kind}.json").write_bytes(msgspec.json.encode(found))
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
