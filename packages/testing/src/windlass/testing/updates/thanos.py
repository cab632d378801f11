"""Plays thanos-querier, the service that has the alerts of a cluster: `GET /api/v1/alerts` over TLS, with a token.

    async with ThanosQuerier(token="secret") as thanos:
        await thanos.announce(client)          # the Route by which it is found
        thanos.alerts = [alert("ClusterOperatorDown", severity="critical", active_at=...)]
        thanos.trouble = Trouble.FAILS         # or worse

It listens on 127.0.0.1, and its certificate is signed by an authority of its own, `thanos.authority`.
"""

import asyncio
import ssl
from datetime import datetime
from enum import Enum
from types import TracebackType
from typing import Final, Self

from aiohttp import web

from windlass.api.core import Namespace
from windlass.api.route import Route
from windlass.kube.clock import SystemClock, rfc3339_micro
from windlass.kube.process.serving import stop
from windlass.kube.verbs import Api
from windlass.testing.authority import new_authority
from windlass.testing.updates.objects import Objects, Tree, condition

NAME: Final = "thanos-querier"
NAMESPACE: Final = "openshift-monitoring"
_LOOPBACK: Final = "127.0.0.1"


class Trouble(Enum):
    """How it may answer whoever has the right token: with this status and text, or not at all."""

    UNAUTHORIZED = (401, "Unauthorized\n")
    FORBIDDEN = (403, "Forbidden (user=system:anonymous, verb=get, resource=prometheuses)\n")
    FAILS = (500, '{"status":"error","errorType":"internal","error":"no store is available"}')
    AWAY = (503, "Application is not available\n")
    GARBAGE = (200, "<html><body>Log in to continue</body></html>")
    HANGS = (0, "")


class ThanosQuerier:
    """The service, from the start of an `async with` block to its end; it listens on another port each time.

    `alerts` are returned, unless `trouble` says how the service fails. `user_agents` has those of all requests so far.
    """

    def __init__(self, *, token: str) -> None:
        self.alerts: list[Tree] = []
        self.trouble: Trouble | None = None
        self.user_agents: list[str] = []
        self._token = token
        self._signer = new_authority()
        self._runner: web.AppRunner | None = None

    @property
    def authority(self) -> bytes:
        """The certificate, as PEM, that clients verify it with."""
        return self._signer.cert_pem.bytes()

    @property
    def host(self) -> str:
        """`127.0.0.1:<port>`. Raises RuntimeError outside of the block."""
        if self._runner is None:
            raise RuntimeError("thanos-querier is not running: use it inside `async with`")
        return f"{_LOOPBACK}:{self._runner.addresses[0][1]}"

    async def announce(self, api: Api) -> None:
        """Create the Route whose host it is, or correct the one that is there."""
        objects = Objects(api, SystemClock())
        await objects.ensure(Namespace, {"metadata": {"name": NAMESPACE}})
        await objects.ensure(Route, self._route(), namespace=NAMESPACE)

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_get("/api/v1/alerts", self._answer)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._signer.issue_cert(_LOOPBACK).configure_cert(context)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, _LOOPBACK, 0, ssl_context=context).start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        runner, self._runner = self._runner, None
        if runner is not None:
            await stop(runner)

    async def _answer(self, request: web.Request) -> web.Response:
        self.user_agents.append(request.headers.get("User-Agent", ""))
        if request.headers.get("Authorization") != f"Bearer {self._token}":
            return web.Response(status=401, text="Unauthorized\n")
        if self.trouble is Trouble.HANGS:
            await asyncio.Event().wait()
        if self.trouble is not None:
            status, text = self.trouble.value
            return web.Response(status=status, text=text)
        return web.json_response({"status": "success", "data": {"alerts": self.alerts}})

    def _route(self) -> Tree:
        admitted = condition("Admitted", True)
        service = {"kind": "Service", "name": NAME, "weight": 100}
        tls = {"termination": "reencrypt", "insecureEdgeTerminationPolicy": "Redirect"}
        return {
            "metadata": {"name": NAME},
            "spec": {"path": "/api", "port": {"targetPort": "web"}, "tls": tls, "to": service},
            "status": {"ingress": [{"host": self.host, "routerName": "default", "conditions": [admitted]}]},
        }


def alert(
    name: str,
    *,
    severity: str,
    active_at: datetime,
    state: str = "firing",
    namespace: str = "",
    **annotations: str,
) -> Tree:
    """An alert as Prometheus has it; `annotations` are summary, description, message, runbook_url."""
    labels = {"alertname": name, "severity": severity, **({"namespace": namespace} if namespace else {})}
    return {
        "labels": labels,
        "annotations": annotations,
        "state": state,
        "activeAt": rfc3339_micro(active_at),
        "value": "1e+00",
        "partialResponseStrategy": "WARN",
    }
