"""The page and its interface as a web application.

| path | what |
|---|---|
| `GET /`, `GET /VIEW` | the page, which holds nothing: it asks for what it shows; `overview` is a view here |
| `GET /static/FILE` | its scripts and styles |
| `GET /api/session` | who is signed in, and which views they may see |
| `POST /api/session` | sign in with `{"token"}`; `DELETE` signs out |
| `GET /api/views/VIEW/document?since=STAMP` | the document, or what changed in it |
| `GET /api/views/VIEW/changes?since=STAMP` | the same as server-sent events |
| `GET /api/views/VIEW/details?...` | more about one thing, with the rights of whoever asks |

Refusals are JSON: `{"error"}`, a text for people.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

import msgspec
from aiohttp import web

from windlass.kube.errors import Forbidden, KubeError, NotFound, Unauthorized
from windlass.kube.logger import Logger
from windlass.web import overview
from windlass.web.access import Access, ClientOf, ClusterAccess, HomeAccess, Visitor, best_of, same_origin, why
from windlass.web.assets import assets, indexes
from windlass.web.board import Board
from windlass.web.overview import Overview
from windlass.web.personal import Readings
from windlass.web.streams import Streams
from windlass.web.view import Refused, View

# What each answer tells the browser to forbid, so that a text of a cluster stays a text whatever it contains.
#
# Scripts and styles come from this server's files alone, never from the page; nothing is loaded from elsewhere; the
# page cannot be framed; and the browser refuses to turn text into HTML (trusted types), should a script ever try.

POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)

HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


async def forbid(request: web.Request, response: web.StreamResponse) -> None:
    """A signal handler of `on_response_prepare`: it also sees answers of the framework itself, such as 404."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers.setdefault("Cache-Control", "no-store")
    response.headers.pop("Server", None)


LARGEST_BODY: Final = 64 * 1024

log = Logger(__name__)


class Page:
    """The web application; `boards` has one board for each view, by name. `over`: the page begins with it; None: with
    the first view."""

    def __init__(
        self,
        views: Sequence[View],
        boards: Mapping[str, Board],
        *,
        access: Access,
        streams: Streams,
        client: ClientOf,
        readings: Readings,
        over: Overview | None = None,
    ) -> None:
        self._own = {view.name: view for view in views}
        self._overview = over
        self._views = {view.name: view for view in ((overview.VIEW,) if over else ())} | self._own
        self._boards = boards
        self._access = access
        self._streams = streams
        self._client = client
        self._readings = readings
        self._assets = assets(self._views.values())
        self._indexes = indexes(self._views.values())

    def application(self) -> web.Application:
        app = web.Application(middlewares=[self._explain], client_max_size=LARGEST_BODY)
        app.on_response_prepare.append(forbid)
        app.on_shutdown.append(self._stop)
        app.add_routes(
            [
                web.get("/", self._index),
                web.get("/static/{file}", self._static),
                web.get("/api/session", self._session),
                web.post("/api/session", self._sign_in),
                web.delete("/api/session", self._sign_out),
                web.get("/api/views/{view}/document", self._document),
                web.get("/api/views/{view}/changes", self._changes),
                web.get("/api/views/{view}/details", self._details),
                web.get("/{view}", self._index),
            ]
        )
        return app

    @web.middleware
    async def _explain(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Checks each request, and turns refusals into answers."""
        try:
            self._access.check(request)
            return await handler(request)
        except Refused as refused:
            return _refusal(refused.status, str(refused))
        except web.HTTPException as error:
            return _refusal(error.status, error.reason)
        except Forbidden as error:
            return _refusal(403, str(error))
        except NotFound as error:
            return _refusal(404, str(error))
        except Unauthorized:
            return _refusal(401, "the API server does not accept that token any more: sign in again")
        except KubeError as error:
            return _refusal(503, str(error))

    async def _stop(self, _: web.Application) -> None:
        self._streams.stop()

    # the page

    async def _index(self, request: web.Request) -> web.Response:
        name = request.match_info.get("view", "")
        if name and name not in self._views:
            raise Refused(404, f"there is no view {name!r}")
        if not isinstance(self._access, HomeAccess):
            return self._indexes[name if self._is_known(request) else ""].answer(request)
        # At home everything may be seen, so a page without a name begins with the first one.
        whole = self._indexes[name or next(iter(self._views))].answer(request)
        if self._access.unlock(request, whole) or self._is_known(request):
            return whole
        return self._indexes[""].answer(request)

    def _is_known(self, request: web.Request) -> bool:
        try:
            self._access.visitor(request)
        except Refused:
            return False
        return True

    async def _static(self, request: web.Request) -> web.Response:
        found = self._assets.get(request.match_info["file"])
        if found is None:
            raise Refused(404, "there is no such file")
        return found.answer(request)

    # who is there

    async def _session(self, request: web.Request) -> web.Response:
        return _json(await self._about(self._access.visitor(request)))

    async def _about(self, visitor: Visitor) -> dict[str, Any]:
        views = []
        for view in self._own.values():
            ruling = await self._access.may(visitor, view)
            views.append({"name": view.name, "title": view.title, "allowed": ruling.status not in (401, 403)})
        if self._overview:
            allowed = any(view["allowed"] for view in views)
            views.insert(0, {"name": overview.VIEW.name, "title": overview.VIEW.title, "allowed": allowed})
        return {"user": visitor.user, "signsIn": self._access.signs_in, "views": views}

    async def _sign_in(self, request: web.Request) -> web.Response:
        access = self._only_our_page(request)
        token = await _token(request)
        response = web.Response(status=204)
        try:
            await access.sign_in(request, token, response)
        except Refused as refused:
            if refused.status == 500:
                raise Refused(503, str(refused)) from None
            raise
        return response

    async def _sign_out(self, request: web.Request) -> web.Response:
        response = web.Response(status=204)
        self._only_our_page(request).sign_out(request, response)
        return response

    def _only_our_page(self, request: web.Request) -> ClusterAccess:
        if not isinstance(self._access, ClusterAccess):
            raise Refused(404, "nobody signs in here: the link that `windlass web` has printed is the key")
        if not same_origin(request):
            raise Refused(403, "sign in and out on this server's own page")
        return self._access

    # views

    async def _document(self, request: web.Request) -> web.Response:
        return await self._streams.document(request, self._view(request).name, lambda: self._pick(request))

    async def _changes(self, request: web.Request) -> web.StreamResponse:
        self._view(request)
        return await self._streams.follow(request, lambda: self._pick(request))

    async def _pick(self, request: web.Request) -> Board:
        view = self._view(request)
        if view is overview.VIEW and self._overview:
            return self._overview.board(await self._allowed(request))
        await self._streams.allow(request, view)
        return await self._readings.board(self._access.visitor(request), view, self._boards[view.name])

    async def _allowed(self, request: web.Request) -> list[str]:
        """The views whose sources whoever asks may see now. Raises Refused if there is no view for them, or if that is
        not known."""
        visitor = self._access.visitor(request)
        rulings = {name: await self._access.may(visitor, view) for name, view in self._own.items()}
        if unknown := [ruling for ruling in rulings.values() if ruling.status in (429, 500)]:
            raise Refused(503, why(unknown[0]))
        found = [name for name, ruling in rulings.items() if ruling.allowed]
        if not found:
            best = best_of(rulings.values())
            raise Refused(best.status, why(best))
        # What is read with their own rights is not what the first page has.
        return [name for name in found if await self._access.shares(visitor, self._own[name])]

    async def _details(self, request: web.Request) -> web.Response:
        view = self._view(request)
        if view is overview.VIEW:
            raise Refused(404, f"{view.title} has no details: ask the view")
        await self._streams.allow(request, view)
        if view.details is None:
            raise Refused(404, f"{view.title} has no details")
        async with self._client(self._access.visitor(request)) as client:
            return _json(await view.details(client, request.query))

    def _view(self, request: web.Request) -> View:
        # Before anything else: what views there are is nothing that strangers learn.
        self._access.visitor(request)
        view = self._views.get(request.match_info["view"])
        if view is None:
            raise Refused(404, "there is no such view")
        return view


async def _token(request: web.Request) -> str:
    try:
        sent = await request.json()
    except (ValueError, RecursionError):
        sent = None
    token = sent.get("token") if isinstance(sent, dict) else None
    if not isinstance(token, str):
        raise Refused(400, 'send JSON: {"token": "..."}')
    return token


def _json(value: Any) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), content_type="application/json")


def _refusal(status: int, why: str) -> web.Response:
    return web.Response(status=status, body=msgspec.json.encode({"error": why}), content_type="application/json")
