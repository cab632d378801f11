"""Stands in front of the registry's program: says who may do what, disturbs, and keeps a log of requests.

| `Auth` | without credentials | with others' rights |
|---|---|---|
| NONE | everything is allowed | |
| BASIC | 401, `Basic` | 403 DENIED |
| BEARER | 401, `Bearer` with the token service of this front | 401, insufficient_scope |

The user with the empty name is everybody without credentials.
"""

import asyncio
import base64
import binascii
import re
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Final

import aiohttp
from aiohttp import web

_REPOSITORY: Final = re.compile(r"^/v2/(.+?)/(?:blobs|manifests|tags|referrers)/")
_NOT_PASSED_ON: Final = frozenset({"authorization", "connection", "expect", "host", "keep-alive", "transfer-encoding"})
_CODES: Final = {401: "UNAUTHORIZED", 403: "DENIED", 404: "NAME_UNKNOWN", 429: "TOOMANYREQUESTS"}
_SERVICE: Final = "windlass"


class Auth(Enum):
    """How users authenticate."""

    NONE = "none"
    BASIC = "basic"
    BEARER = "bearer"


@dataclass(frozen=True)
class User:
    """A user, and the repositories that are theirs: by prefixes, of which the empty one means all."""

    password: str
    pull: tuple[str, ...] = ("",)
    push: tuple[str, ...] = ("",)
    identity_token: str = ""

    def may(self, action: str, repository: str) -> bool:
        prefixes = self.pull if action == "pull" else self.push
        return any(not prefix or f"{repository}/".startswith(f"{prefix.rstrip('/')}/") for prefix in prefixes)


@dataclass
class Asked:
    """A request. `status` is 0 until it is answered, or for ever if it never is.

    `user` is empty if it had no credentials, and `nobody` if they were wrong; `at` is the time of the clock
    `time.monotonic`.
    """

    method: str
    path: str
    user: str
    user_agent: str
    status: int = 0
    at: float = field(default_factory=time.monotonic)


@dataclass(eq=False, kw_only=True)
class Fault:
    """Selects requests, and says how they fail; `hits` counts the failed requests.

    method, path, user   of the request; the path is a regular expression that is searched
    skip, count          let that many pass first; hit that many at most
    status               the answer, with the error that registries have for it
    retry_after          seconds, in its header
    body                 another body of the answer
    cut                  close the connection, after the first bytes of the body if there is one
    hang                 answer nothing until the fault is cleared
    slow                 answer after so many seconds, without a fault
    """

    method: str = ""
    path: str = ""
    user: str | None = None
    skip: int = 0
    count: int | None = None
    status: int = 0
    retry_after: int | None = None
    body: str | None = None
    cut: bool = False
    hang: bool = False
    slow: float = 0.0
    hits: int = 0
    over: asyncio.Event = field(default_factory=asyncio.Event)

    def hit(self, request: web.Request, user: str) -> bool:
        """It happens to this request."""
        if self.over.is_set() or (self.method and self.method != request.method) or self.user not in (None, user):
            return False
        if not re.search(self.path, request.path) or self.hits == self.count:
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.hits += 1
        return True


@dataclass(frozen=True)
class _Token:
    user: str
    grants: frozenset[tuple[str, str]]


class Front:
    """The front of the program that listens at `socket`. `users` may change at any time."""

    def __init__(self, socket: Path, *, auth: Auth, users: Mapping[str, User], url: str) -> None:
        self.faults: list[Fault] = []
        self.asked: list[Asked] = []
        self._socket = socket
        self._auth = auth
        self._users = users
        self._url = url
        self._tokens: dict[str, _Token] = {}
        self._session: aiohttp.ClientSession | None = None

    async def context(self, app: web.Application) -> AsyncIterator[None]:
        """The connections to the program, for `cleanup_ctx`."""
        connector = aiohttp.UnixConnector(str(self._socket), limit=0)
        async with aiohttp.ClientSession(connector=connector, auto_decompress=False) as self._session:
            yield

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer a request."""
        user, grants = self._identify(request)
        # Before it is answered: a client that has its answer finds the request in the log.
        asked = Asked(request.method, request.path, user, request.headers.get("User-Agent", ""))
        self.asked.append(asked)
        response = await self._disturbed(request, user)
        if response is None:
            response = self._refused(request, user, grants)
        if response is None and request.path == "/token":
            response = await self._token(request, user)
        if response is None:
            return await self._passed_on(request, asked)
        if request.transport is not None and not request.transport.is_closing():
            asked.status = response.status
        return response

    async def _disturbed(self, request: web.Request, user: str) -> web.StreamResponse | None:
        fault = next((fault for fault in self.faults if fault.hit(request, user)), None)
        if fault is None:
            return None
        if fault.hang:
            await fault.over.wait()
            return None
        if fault.slow:
            with suppress(TimeoutError):
                await asyncio.wait_for(fault.over.wait(), fault.slow)
            return None
        if fault.cut:
            if request.can_read_body:
                await request.content.readany()
            if request.transport is not None:
                request.transport.abort()
            return web.Response()
        headers = {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)}
        if fault.status == 401:
            headers |= self._challenge(request)
        if fault.body is not None:
            return web.Response(status=fault.status, headers=headers, text=fault.body)
        return _error(fault.status, "a fault of the test", headers=headers)

    def _refused(
        self, request: web.Request, user: str, grants: frozenset[tuple[str, str]] | None
    ) -> web.Response | None:
        asked = _access(request)
        if self._auth is Auth.NONE or request.path == "/token":
            return None
        if self._auth is Auth.BEARER:
            if grants is None or (asked is not None and asked not in grants):
                more = {} if grants is None else {"error": "insufficient_scope"}
                return _error(401, "authentication required", headers=self._challenge(request, **more))
        elif user not in self._users:
            return _error(401, "authentication required", headers=self._challenge(request))
        elif asked is not None and not self._users[user].may(asked[1], asked[0]):
            if user:
                return _error(403, "requested access to the resource is denied")
            return _error(401, "authentication required", headers=self._challenge(request))
        return None

    def _identify(self, request: web.Request) -> tuple[str, frozenset[tuple[str, str]] | None]:
        """The user, and what their token grants; a wrong password or token is that of nobody."""
        scheme, _, credentials = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer" and (token := self._tokens.get(credentials)):
            return token.user, token.grants
        if scheme.lower() == "basic":
            try:
                name, _, password = base64.b64decode(credentials).decode().partition(":")
            except (binascii.Error, UnicodeDecodeError):
                return "nobody", None
            known = self._users.get(name)
            return (name if known is not None and known.password == password else "nobody"), None
        return "", None

    async def _token(self, request: web.Request, user: str) -> web.Response:
        """What a token service grants of the scopes that were asked for: as much as the user may, perhaps nothing."""
        asked: Mapping[str, Any] = request.query
        scopes = request.query.getall("scope", [])
        if request.method == "POST":
            asked = await request.post()
            scopes = str(asked.get("scope", "")).split()
            given = asked.get("refresh_token")
            user = next(
                (name for name, known in self._users.items() if given and known.identity_token == given), "nobody"
            )
        if user and user not in self._users:
            return _error(401, "incorrect username or password")
        known = self._users.get(user)
        grants = {
            (repository, action)
            for kind, repository, actions in (scope.split(":") for scope in scopes if scope.count(":") == 2)
            for action in actions.split(",")
            if known is not None and kind == "repository" and known.may(action, repository)
        }
        token = secrets.token_urlsafe()
        self._tokens[token] = _Token(user, frozenset(grants))
        return web.json_response({"token": token, "access_token": token, "expires_in": 300})

    def _challenge(self, request: web.Request, **more: str) -> dict[str, str]:
        if self._auth is not Auth.BEARER:
            return {"WWW-Authenticate": 'Basic realm="windlass"'}
        parameters = {"realm": f"{self._url}/token", "service": _SERVICE}
        if (asked := _access(request)) is not None:
            parameters["scope"] = f"repository:{asked[0]}:{'pull' if asked[1] == 'pull' else 'pull,push'}"
        named = ",".join(f'{name}="{value}"' for name, value in (parameters | more).items())
        return {"WWW-Authenticate": f"Bearer {named}"}

    async def _passed_on(self, request: web.Request, asked: Asked) -> web.StreamResponse:
        assert self._session is not None
        async with self._session.request(
            request.method,
            f"http://{request.host}{request.rel_url}",
            headers=_passed(request.headers),
            data=request.content if request.can_read_body else None,
            allow_redirects=False,
        ) as answer:
            asked.status = answer.status
            response = web.StreamResponse(status=answer.status, headers=_passed(answer.headers))
            await response.prepare(request)
            async for piece in answer.content.iter_any():
                await response.write(piece)
            await response.write_eof()
            return response


def _access(request: web.Request) -> tuple[str, str] | None:
    """The repository and the action on it; None for a request that is about neither."""
    found = _REPOSITORY.search(request.path)
    return (found[1], "pull" if request.method in ("GET", "HEAD") else "push") if found else None


def _passed(headers: Mapping[str, str]) -> list[tuple[str, str]]:
    # As pairs: builders send a header Accept for each media type.
    return [(name, value) for name, value in headers.items() if name.lower() not in _NOT_PASSED_ON]


def _error(status: int, message: str, *, headers: Mapping[str, str] | None = None) -> web.Response:
    content = {"errors": [{"code": _CODES.get(status, "UNKNOWN"), "message": message}]}
    return web.json_response(content, status=status, headers=headers)
