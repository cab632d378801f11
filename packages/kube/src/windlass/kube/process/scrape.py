"""Serves `/metrics` to authorized scrapers: the API server authenticates and authorizes them.

    guard = Guard(client, METRICS)                     # a separate client without a fence: a standby is scraped too
    app = web.Application()
    app.add_routes(metrics_routes(metrics, guard=guard))
    async with serve(app, host="0.0.0.0", port=8443, tls=TlsFiles(certificate, key)):
        ...

A scraper sends its ServiceAccount token, whose user may `get` the path `/metrics`. Grant it with a ClusterRole rule
`{nonResourceURLs: [/metrics], verbs: [get]}`. `windlass.kube.process.guard` asks, and has the table of answers.

Without a guard anybody who can connect reads the metrics; `open_metrics` allows that only on a loopback address.

Send tokens over TLS only: give `serve` the files of a certificate. On OpenShift the service CA issues one for a Service
with the annotation `service.beta.openshift.io/serving-cert-secret-name`, elsewhere cert-manager does.

Source: controller-runtime's `filters.WithAuthenticationAndAuthorization` does the same.
"""

from typing import Protocol

from aiohttp import web

from windlass.api.authorization import NonResourceAttributes
from windlass.kube.control.metrics import CONTENT_TYPE
from windlass.kube.errors import ConfigError
from windlass.kube.process.guard import Guard
from windlass.kube.process.loopback import is_loopback

METRICS = NonResourceAttributes(path="/metrics", verb="get")
"""What a scraper has to be allowed."""

_HEADERS = {401: {"WWW-Authenticate": 'Bearer realm="metrics"'}, 429: {"Retry-After": "1"}}


class Scraped(Protocol):
    """A source of metrics: `windlass.kube.process.figures.ProcessMetrics`, or the `Metrics` of one cluster."""

    def text(self) -> bytes: ...


def metrics_routes(metrics: Scraped, *, guard: Guard) -> list[web.RouteDef]:
    """The route `/metrics`, for the requests that `guard` allows."""

    async def handle(request: web.Request) -> web.Response:
        ruling = await guard.judge(request.headers.get("Authorization", ""))
        if ruling.status == 200:
            return _figures(metrics)
        return web.Response(status=ruling.status, text=ruling.why + "\n", headers=_HEADERS.get(ruling.status))

    return [web.get("/metrics", handle)]


def open_metrics(metrics: Scraped, *, host: str) -> list[web.RouteDef]:
    """The route `/metrics` for everybody on this machine. ConfigError unless `host` is a loopback address."""
    if not is_loopback(host):
        raise ConfigError(
            f"metrics without authentication on {host}: bind them to 127.0.0.1, or leave authentication on"
        )

    async def handle(_: web.Request) -> web.Response:
        return _figures(metrics)

    return [web.get("/metrics", handle)]


def _figures(metrics: Scraped) -> web.Response:
    return web.Response(body=metrics.text(), headers={"Content-Type": CONTENT_TYPE})
