"""`/metrics` for those who may read it: the API server says who asks, and whether they may.

    guard = Guard(lease_client)                        # a client without a gate: a standby is scraped too
    app = web.Application()
    app.add_routes(metrics_routes(metrics, guard=guard))
    async with serve(app, host="0.0.0.0", port=8443, tls=TlsFiles(certificate, key)):
        ...

A scraper sends its ServiceAccount token. A TokenReview tells whose it is, a SubjectAccessReview whether that one may
`get` the path `/metrics`; who does, is remembered for a minute (by a hash of the token), who does not is asked about
again each time. Grant it with a ClusterRole rule `{nonResourceURLs: [/metrics], verbs: [get]}`. This process itself
needs `create` on tokenreviews and subjectaccessreviews (`guard_permissions()`; ClusterRole system:auth-delegator).

| answer | when |
|---|---|
| 200 | allowed |
| 401 | no bearer token, or nobody's |
| 403 | somebody's who may not |
| 500 | the API server could not be asked |

Without a guard the figures are open to whoever can connect; `open_metrics` admits that only on a loopback address.

Send tokens over TLS only: give `serve` the files of a certificate. On OpenShift the service CA makes one for a Service
with the annotation `service.beta.openshift.io/serving-cert-secret-name`, elsewhere cert-manager does.

Source: controller-runtime's `filters.WithAuthenticationAndAuthorization` does the same.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import structlog
from aiohttp import web
from msgspec import Struct

from windlass.api.authentication import TokenReview, UserInfo
from windlass.api.authorization import SubjectAccessReview
from windlass.kube.clock import Clock, SystemClock
from windlass.kube.errors import ConfigError, KubeError
from windlass.kube.metrics import CONTENT_TYPE, Metrics
from windlass.kube.permissions import Permission, permission
from windlass.kube.serving import is_loopback
from windlass.kube.verbs import Api

_REMEMBERED = 256


class Verdict(Struct, frozen=True):
    """HTTP status of the answer, and why, for people."""

    status: int
    why: str = ""


class Guard:
    """Asks the API server behind `api` who may read. `remember`: seconds that a permission is trusted."""

    def __init__(self, api: Api, *, path: str = "/metrics", remember: float = 60.0, clock: Clock | None = None) -> None:
        self._api = api
        self._path = path
        self._remember = remember
        self._clock = clock or SystemClock()
        self._allowed: OrderedDict[bytes, float] = OrderedDict()
        self._log = structlog.stdlib.get_logger(__name__)

    async def judge(self, authorization: str) -> Verdict:
        """Judge the value of an Authorization header."""
        scheme, _, token = authorization.partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            return Verdict(401, "a bearer token is needed")
        digest = hashlib.sha256(token.encode()).digest()
        if self._allowed.get(digest, 0.0) > self._clock.monotonic():
            return Verdict(200)
        try:
            verdict = await self._ask(token)
        except KubeError as error:
            self._log.warning("cannot ask the API server who may read metrics", error=str(error))
            return Verdict(500, "the API server could not be asked")
        if verdict.status == 200:
            self._allow(digest)
        return verdict

    async def _ask(self, token: str) -> Verdict:
        review = (await self._api.create(TokenReview, {"spec": {"token": token}})).decode()
        if not review.status.authenticated:
            return Verdict(401, "the token is not valid")
        user = review.status.user
        access = (await self._api.create(SubjectAccessReview, {"spec": self._question(user)})).decode()
        if not access.status.allowed:
            return Verdict(403, f"{user.username} may not get {self._path}")
        return Verdict(200)

    def _question(self, user: UserInfo) -> Mapping[str, Any]:
        who = {"user": user.username, "uid": user.uid, "groups": user.groups, "extra": user.extra}
        given = {name: value for name, value in who.items() if value}
        return {**given, "nonResourceAttributes": {"path": self._path, "verb": "get"}}

    def _allow(self, digest: bytes) -> None:
        self._allowed[digest] = self._clock.monotonic() + self._remember
        self._allowed.move_to_end(digest)
        while len(self._allowed) > _REMEMBERED:
            self._allowed.popitem(last=False)


def metrics_routes(metrics: Metrics, *, guard: Guard) -> list[web.RouteDef]:
    """The route `/metrics`, for those whom `guard` lets through."""

    async def handle(request: web.Request) -> web.Response:
        verdict = await guard.judge(request.headers.get("Authorization", ""))
        if verdict.status == 200:
            return _figures(metrics)
        headers = {"WWW-Authenticate": 'Bearer realm="metrics"'} if verdict.status == 401 else {}
        return web.Response(status=verdict.status, text=verdict.why + "\n", headers=headers)

    return [web.get("/metrics", handle)]


def open_metrics(metrics: Metrics, *, host: str) -> list[web.RouteDef]:
    """The route `/metrics` for everybody on this machine. ConfigError unless `host` is a loopback address."""
    if not is_loopback(host):
        raise ConfigError(
            f"metrics without authentication on {host}: bind them to 127.0.0.1, or leave authentication on"
        )

    async def handle(_: web.Request) -> web.Response:
        return _figures(metrics)

    return [web.get("/metrics", handle)]


def guard_permissions() -> tuple[Permission, ...]:
    """What asking needs."""
    return (permission(TokenReview, "create"), permission(SubjectAccessReview, "create"))


def _figures(metrics: Metrics) -> web.Response:
    return web.Response(body=metrics.text(), headers={"Content-Type": CONTENT_TYPE})
