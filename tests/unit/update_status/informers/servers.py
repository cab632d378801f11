"""Informers on TLS servers of this machine, good ones and hostile ones."""

import ssl
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import trustme
from aiohttp import web

from windlass.api.update_informer import API_VERSION, UpdateInsightsRequest
from windlass.kube.process.serving import stop
from windlass.update_status.informers.admission import Endpoint
from windlass.update_status.informers.fetching import Fetcher

HOST = "disks.storage.svc"
ASKED = UpdateInsightsRequest(informer="disks")
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def insight(uid: str = "disk-full", **impact: Any) -> dict[str, Any]:
    return {"uid": uid, "impact": {"level": "Warning", "type": "None", "summary": "A disk is full", **impact}}


def response(*insights: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": "UpdateInsightsResponse", "insights": list(insights), **fields}


async def good(_: web.Request) -> web.Response:
    return web.json_response(response(insight()))


class Served:
    """A server that runs. `requests`: those that came."""

    def __init__(self, port: int, authority: str) -> None:
        self.port = port
        self.authority = authority
        self.requests: list[web.Request] = []

    def endpoint(self, **fields: Any) -> Endpoint:
        usual: dict[str, Any] = {
            "host": HOST,
            "port": self.port,
            "path": "/insights",
            "addresses": ("192.0.2.1",),
            "authority": self.authority,
            "interval": 10.0,
            "timeout": 5.0,
        }
        return Endpoint(**{**usual, **fields})


@asynccontextmanager
async def serving(
    handler: Handler, *names: str, authority: trustme.CA | None = None, newest: ssl.TLSVersion | None = None
) -> AsyncIterator[Served]:
    """`handler` behind a certificate for `names` (the informer's), on a free port of loopback."""
    authority = authority or trustme.CA()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(*(names or (HOST,))).configure_cert(context)
    if newest is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            context.minimum_version = context.maximum_version = newest
        context.set_ciphers("ALL:@SECLEVEL=0")

    async def note(request: web.Request) -> web.StreamResponse:
        served.requests.append(request)
        return await handler(request)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", note)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        served = Served(runner.addresses[0][1], authority.cert_pem.bytes().decode())
        yield served
    finally:
        await stop(runner)


def fetcher(**settings: Any) -> Fetcher:
    """One that finds every informer on this machine."""
    return Fetcher(resolve=lambda _: ("127.0.0.1",), **settings)


async def ask(served: Served, **fields: Any) -> Any:
    return msgspec.json.decode(await fetcher()(served.endpoint(**fields), ASKED, token="secret-token"))
