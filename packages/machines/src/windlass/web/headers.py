"""What each answer tells the browser to forbid, so that a text of a cluster stays a text whatever it contains.

Scripts and styles come from this server's files alone, never from the page; nothing is loaded from elsewhere; the page
cannot be framed; and the browser refuses to turn text into HTML (trusted types), should a script ever try.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web

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
