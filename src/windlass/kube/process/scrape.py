"""Serves `/metrics` to authorized scrapers: the API server authenticates and authorizes them.

    guard = Guard(client)                              # a separate client without a fence: a standby is scraped too
    app = web.Application()
    app.add_routes(metrics_routes(metrics, guard=guard))
    async with serve(app, host="0.0.0.0", port=8443, tls=TlsFiles(certificate, key)):
        ...

A scraper sends its ServiceAccount token. A TokenReview gives the user, a SubjectAccessReview says whether that user may
`get` the path `/metrics`. Grant it with a ClusterRole rule `{nonResourceURLs: [/metrics], verbs: [get]}`. This process
itself needs `create` on tokenreviews and subjectaccessreviews (`guard_permissions()`; ClusterRole
system:auth-delegator).

A permission is cached for a minute, a refusal for ten seconds, by a hash of the token. Anybody may send any number of
tokens, so at most ten a second are reviewed and only a few wait; a token that was accepted before does not wait. Give
the guard a separate client: an API server that calls a webhook may take long to review a token.

| answer | when |
|---|---|
| 200 | allowed |
| 401 | no bearer token, or an invalid one |
| 403 | a valid token whose user may not read metrics |
| 429 | too many tokens wait for a review |
| 500 | the API server could not be asked |

Without a guard anybody who can connect reads the metrics; `open_metrics` allows that only on a loopback address.

Send tokens over TLS only: give `serve` the files of a certificate. On OpenShift the service CA issues one for a Service
with the annotation `service.beta.openshift.io/serving-cert-secret-name`, elsewhere cert-manager does.

Source: controller-runtime's `filters.WithAuthenticationAndAuthorization` does the same.
"""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Protocol

from aiohttp import web
from msgspec import Struct

from windlass.api.authentication import TokenReview, UserInfo
from windlass.api.authorization import SubjectAccessReview
from windlass.kube.clock import Clock, SystemClock
from windlass.kube.control.metrics import CONTENT_TYPE
from windlass.kube.control.permissions import Permission, permission
from windlass.kube.errors import ConfigError, KubeError
from windlass.kube.logger import Logger
from windlass.kube.process.serving import is_loopback
from windlass.kube.verbs import Api

AT_ONCE = 2
"""Unknown tokens that are reviewed at the same time."""
IN_LINE = 16
"""Tokens that are reviewed or wait for it. More are refused with 429."""
PAUSE = 0.2
"""Seconds for which a refused token occupies its slot, so that at most ten a second are reviewed."""
_REMEMBERED = 256
"""Permissions, and as many refusals."""


_HEADERS = {401: {"WWW-Authenticate": 'Bearer realm="metrics"'}, 429: {"Retry-After": "1"}}


class Scraped(Protocol):
    """A source of metrics: `windlass.kube.process.figures.ProcessMetrics`, or the `Metrics` of one cluster."""

    def text(self) -> bytes: ...


class Ruling(Struct, frozen=True):
    """HTTP status of the answer, and why, for people."""

    status: int
    why: str = ""


class _Memory:
    """The last rulings of one kind, each for `seconds`."""

    def __init__(self, seconds: float, clock: Clock) -> None:
        self._seconds = seconds
        self._clock = clock
        self._rulings: OrderedDict[bytes, tuple[Ruling, float]] = OrderedDict()

    def __contains__(self, digest: bytes) -> bool:
        """There was such a ruling; it may have expired."""
        return digest in self._rulings

    def get(self, digest: bytes) -> Ruling | None:
        ruling, until = self._rulings.get(digest, (None, 0.0))
        return ruling if until > self._clock.monotonic() else None

    def put(self, digest: bytes, ruling: Ruling) -> None:
        self._rulings[digest] = ruling, self._clock.monotonic() + self._seconds
        self._rulings.move_to_end(digest)
        while len(self._rulings) > _REMEMBERED:
            self._rulings.popitem(last=False)

    def drop(self, digest: bytes) -> None:
        self._rulings.pop(digest, None)


class Guard:
    """Asks the API server behind `api` whether a token may read metrics.

    `remember`, `refuse`: seconds for which a permission and a refusal are cached.
    """

    def __init__(
        self,
        api: Api,
        *,
        path: str = "/metrics",
        remember: float = 60.0,
        refuse: float = 10.0,
        clock: Clock | None = None,
    ) -> None:
        clock = clock or SystemClock()
        self._clock = clock
        self._api = api
        self._path = path
        self._allowed = _Memory(remember, clock)
        self._refused = _Memory(refuse, clock)
        self._turn = asyncio.Semaphore(AT_ONCE)
        self._reviews: dict[bytes, asyncio.Task[Ruling]] = {}
        self._log = Logger(__name__)

    async def judge(self, authorization: str) -> Ruling:
        """Judge the value of an Authorization header."""
        scheme, _, token = authorization.partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            return Ruling(401, "a bearer token is needed")
        digest = hashlib.sha256(token.encode()).digest()
        if ruling := self._allowed.get(digest) or self._refused.get(digest):
            return ruling
        review = self._reviews.get(digest)
        if review is None:
            if len(self._reviews) >= IN_LINE and digest not in self._allowed:
                return Ruling(429, "too many tokens at a time")
            review = self._reviews[digest] = asyncio.create_task(self._review(digest, token))
            review.add_done_callback(lambda _: self._reviews.pop(digest))
        # The review outlives this request: others may wait for the same one.
        return await asyncio.shield(review)

    async def _review(self, digest: bytes, token: str) -> Ruling:
        try:
            if digest in self._allowed:
                ruling = await self._ask(token)
            else:
                async with self._turn:
                    ruling = await self._ask(token)
                    if ruling.status != 200:
                        await self._clock.sleep(PAUSE)
        except KubeError as error:
            self._log.warning("cannot ask the API server who may read metrics", error=str(error))
            return Ruling(500, "the API server could not be asked")
        if ruling.status == 200:
            self._allowed.put(digest, ruling)
        else:
            self._allowed.drop(digest)
            self._refused.put(digest, ruling)
        return ruling

    async def _ask(self, token: str) -> Ruling:
        review = (await self._api.create(TokenReview, {"spec": {"token": token}})).decode()
        if not review.status.authenticated:
            return Ruling(401, "the token is not valid")
        user = review.status.user
        access = (await self._api.create(SubjectAccessReview, {"spec": self._question(user)})).decode()
        if not access.status.allowed:
            return Ruling(403, f"{user.username} may not get {self._path}")
        return Ruling(200)

    def _question(self, user: UserInfo) -> Mapping[str, Any]:
        who = {"user": user.username, "uid": user.uid, "groups": user.groups, "extra": user.extra}
        given = {name: value for name, value in who.items() if value}
        return {**given, "nonResourceAttributes": {"path": self._path, "verb": "get"}}


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


def guard_permissions() -> tuple[Permission, ...]:
    """The permissions that a guard needs."""
    return (permission(TokenReview, "create"), permission(SubjectAccessReview, "create"))


def _figures(metrics: Scraped) -> web.Response:
    return web.Response(body=metrics.text(), headers={"Content-Type": CONTENT_TYPE})
