"""Who may see what.

On one's own machine (`HomeAccess`): whoever has the link that the command printed. Its secret goes into a cookie, and
the views show what the user's own kubeconfig may read. Only names of this machine are accepted as Host, so a page of
another site cannot reach the server by a name that resolves to 127.0.0.1.

In a cluster (`ClusterAccess`): whoever signs in with a token that the API server accepts, and may do what the rule of
the view says, or may read for themselves what it shows. The rights are asked for again within a minute, and an open
stream ends with them.
"""

import asyncio
import hmac
import secrets
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol
from urllib.parse import urlsplit

from aiohttp import web
from msgspec import Struct

from windlass.kube.client import Client
from windlass.kube.clock import Clock, SystemClock
from windlass.kube.process.guard import Attributes, Guard, Ruling
from windlass.kube.process.loopback import is_loopback
from windlass.kube.verbs import Api
from windlass.web.view import Refused, View

MOST: Final = 1000
"""Sessions at the same time; the one that was not used for the longest time makes room for another."""
MOST_OF_ONE: Final = 10
"""Sessions of one user: another ends that user's oldest, and nobody else's."""
LONGEST: Final = 12 * 3600.0
"""Seconds that a session lasts, however much it is used."""
IDLE: Final = 3600.0
"""Seconds without a request after which it ends."""


class Session(Struct, frozen=True):
    """`until`: when it ends at the latest, in seconds of the clock."""

    user: str
    token: str
    until: float

    def __repr__(self) -> str:
        return f"<Session of {self.user}>"


class Sessions:
    """People who signed in with a token: in memory, so that a restart ends all sessions.

    The browser has a random number in a cookie that scripts cannot read; the token itself stays here.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._sessions: OrderedDict[str, tuple[Session, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def open(self, user: str, token: str) -> str:
        """A new session; returns its number."""
        number = secrets.token_urlsafe(32)
        now = self._clock.monotonic()
        self._sessions[number] = Session(user, token, now + LONGEST), now
        theirs = [each for each, (session, _) in self._sessions.items() if session.user == user]
        for oldest in theirs[:-MOST_OF_ONE]:
            self.close(oldest)
        while len(self._sessions) > MOST:
            self._sessions.popitem(last=False)
        return number

    def use(self, number: str) -> Session | None:
        """The session of this number, which counts as used now; None if there is none any more."""
        session, used = self._sessions.get(number, (None, 0.0))
        now = self._clock.monotonic()
        if session is None:
            return None
        if now >= session.until or now - used >= IDLE:
            self.close(number)
            return None
        self._sessions[number] = session, now
        self._sessions.move_to_end(number)
        return session

    def close(self, number: str) -> None:
        """End the session, if it exists."""
        self._sessions.pop(number, None)


REFUSED: Final = 10.0
"""Seconds for which a refusal is believed: somebody may have asked for the right."""
REMEMBERED: Final = 45.0
"""Seconds for which a right that was confirmed is believed. Open streams ask every ten seconds, so it is asked for
again within a minute."""
LONGEST_TOKEN: Final = 16 * 1024


class Visitor(Struct, frozen=True):
    """`token`: what the API server knows them by; empty on one's own machine."""

    user: str
    token: str = ""

    def __repr__(self) -> str:
        return f"<Visitor {self.user}>"


class Access(Protocol):
    """`signs_in`: whether people sign in with a token."""

    signs_in: bool

    def check(self, request: web.Request) -> None:
        """Raises Refused if nobody is answered who asks like that."""

    def visitor(self, request: web.Request) -> Visitor:
        """Raises Refused (401) for strangers."""
        ...

    async def may(self, visitor: Visitor, view: View) -> Ruling:
        """Whether they may see the view now: what its source publishes, or what is read with their own rights."""
        ...

    async def shares(self, visitor: Visitor, view: View) -> bool:
        """Whether they may see what the source of the view publishes."""
        ...

    async def rights(self, visitor: Visitor, view: View) -> Hashable | None:
        """What the view reads with their rights: those who may the same have the same. None: they may not see it, or
        that is not known."""
        ...


ClientOf = Callable[[Visitor], AbstractAsyncContextManager[Client]]
"""A client of the API server with the rights of a visitor."""


class HomeAccess:
    """See the module. `key` is the secret of the link."""

    signs_in = False

    def __init__(self, user: str) -> None:
        self.key = secrets.token_urlsafe(32)
        # Another secret than that of the link: cookies go to every server of this host, whatever its port.
        self._cookie = secrets.token_urlsafe(32)
        self._user = user

    def check(self, request: web.Request) -> None:
        if not is_loopback(_host_name(request)):
            raise Refused(421, "this server answers only to names of this machine: use the link that was printed")

    def unlock(self, request: web.Request, response: web.Response) -> bool:
        """Set the cookie of a visitor who has the link; returns whether the visitor is let in."""
        if not _equal(request.query.get("key", ""), self.key):
            return False
        response.set_cookie(_cookie_name(request), self._cookie, httponly=True, samesite="Strict", path="/")
        # A copy that is kept would be shown again without a question, and so without the cookie.
        response.headers["Cache-Control"] = "no-store"
        return True

    def visitor(self, request: web.Request) -> Visitor:
        if not _equal(request.cookies.get(_cookie_name(request), ""), self._cookie):
            raise Refused(401, "open the link that `windlass web` has printed: it holds the key to this page")
        return Visitor(self._user)

    async def may(self, visitor: Visitor, view: View) -> Ruling:
        return Ruling(200, user=visitor.user)

    async def shares(self, visitor: Visitor, view: View) -> bool:
        return True

    async def rights(self, visitor: Visitor, view: View) -> Hashable | None:
        return ()


class ClusterAccess:
    """See the module. `api` is a client of its own: reviews must not wait for other requests."""

    signs_in = True
    COOKIE: Final = "__Host-windlass"

    def __init__(
        self, api: Api, views: Iterable[View], *, remember: float = REMEMBERED, clock: Clock | None = None
    ) -> None:
        def guard(*asked: Attributes, refuse: float = REFUSED) -> Guard:
            return Guard(api, *asked, remember=remember, refuse=refuse, clock=clock)

        views = list(views)
        self._guards = {view.name: guard(*view.rule) for view in views}
        personal = {view.name: view.personal for view in views if view.personal is not None}
        self._personal = {name: guard(*one.rule) for name, one in personal.items()}
        # One guard for each right: rights that somebody lacks are no reason to ask again at each look.
        self._differs = {
            name: [guard(right, refuse=remember) for right in one.differs] for name, one in personal.items()
        }
        self.sessions = Sessions(clock)

    def check(self, request: web.Request) -> None:
        """Any name: the network outside decides by which one this server is known."""

    def visitor(self, request: web.Request) -> Visitor:
        session = self.session(request)
        if session is None:
            raise Refused(401, "sign in with a token of the cluster")
        return Visitor(session.user, session.token)

    def session(self, request: web.Request) -> Session | None:
        return self.sessions.use(request.cookies.get(self.COOKIE, ""))

    async def may(self, visitor: Visitor, view: View) -> Ruling:
        return await self._may(visitor.token, view.name)

    async def shares(self, visitor: Visitor, view: View) -> bool:
        return (await self._guards[view.name].judge_token(visitor.token)).allowed

    async def rights(self, visitor: Visitor, view: View) -> Hashable | None:
        if not (await self._personal[view.name].judge_token(visitor.token)).allowed:
            return None
        guards = self._differs[view.name]
        rulings = await asyncio.gather(*(guard.judge_token(visitor.token) for guard in guards))
        if any(ruling.status not in (200, 403) for ruling in rulings):
            return None
        return tuple(ruling.allowed for ruling in rulings)

    async def _may(self, token: str, name: str) -> Ruling:
        ruling = await self._guards[name].judge_token(token)
        if ruling.status != 403 or name not in self._personal:
            return ruling
        own = await self._personal[name].judge_token(token)
        # What is missing is named by the rule of the view: most clusters have its controller.
        return own if own.status != 403 else ruling

    async def sign_in(self, request: web.Request, token: str, response: web.Response) -> None:
        """Open a session for whoever may see a view at least. Raises Refused."""
        token = token.strip()
        if not token or len(token) > LONGEST_TOKEN or not token.isascii() or not token.isprintable():
            raise Refused(401, "that is not a token: paste what `oc whoami -t` or `kubectl create token` prints")
        rulings = await self._rulings(token)
        best = best_of(rulings.values())
        if not best.allowed:
            raise Refused(best.status, why(best))
        self._end(request)
        number = self.sessions.open(best.user, token)
        response.set_cookie(
            self.COOKIE, number, httponly=True, secure=True, samesite="Strict", path="/", max_age=int(LONGEST)
        )

    def sign_out(self, request: web.Request, response: web.Response) -> None:
        """End the session, if there is one."""
        self._end(request)
        response.del_cookie(self.COOKIE, path="/", secure=True, httponly=True, samesite="Strict")

    def _end(self, request: web.Request) -> None:
        self.sessions.close(request.cookies.get(self.COOKIE, ""))

    async def _rulings(self, token: str) -> Mapping[str, Ruling]:
        return {name: await self._may(token, name) for name in self._guards}


def best_of(rulings: Iterable[Ruling]) -> Ruling:
    """The ruling that a person is told: rather that a right could not be checked than that another is missing."""
    return min(rulings, key=lambda ruling: _TOLD_FIRST.index(ruling.status))


_TOLD_FIRST: Final = (200, 401, 429, 500, 403)


def why(ruling: Ruling) -> str:
    """The text for a user without access."""
    match ruling.status:
        case 401:
            return "the API server does not accept that token: it may have expired"
        case 403:
            return f"{ruling.why}: ask an administrator for that right"
        case 429:
            return "too many tokens are being checked: try again in a moment"
        case _:
            return "the API server cannot be asked about your rights: trying again"


def same_origin(request: web.Request) -> bool:
    """Whether a request that changes something comes from this server's own page."""
    return request.headers.get("Origin", "") == f"{request.scheme}://{request.host}"


def _host_name(request: web.Request) -> str:
    try:
        return urlsplit(f"//{request.host}").hostname or ""
    except ValueError:
        return ""


def _cookie_name(request: web.Request) -> str:
    """Named after the port, since cookies are shared by all ports of a host: two pages do not sign each other out."""
    try:
        port = urlsplit(f"//{request.host}").port
    except ValueError:
        port = None
    return f"windlass_{port or 80}"


def _equal(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode(), secret.encode())
