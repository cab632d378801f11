"""The files of the page, read from the package once and kept compressed.

A browser asks each time whether its copy is current (`ETag`), so that after an upgrade nobody runs old scripts.
"""

import gzip
import hashlib
from importlib.resources import files
from typing import Final

from aiohttp import web
from msgspec import Struct

INDEX: Final = "index.html"

_TYPES: Final = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


class Asset(Struct, frozen=True):
    """A file: as it is, compressed, and a name of its content."""

    content_type: str
    plain: bytes
    packed: bytes
    tag: str

    def answer(self, request: web.Request) -> web.Response:
        headers = {"ETag": self.tag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
        if self.tag in request.headers.get("If-None-Match", ""):
            return web.Response(status=304, headers=headers)
        body = self.plain
        if accepts_gzip(request):
            headers["Content-Encoding"], body = "gzip", self.packed
        return web.Response(body=body, headers={**headers, "Content-Type": self.content_type})


def accepts_gzip(request: web.Request) -> bool:
    return "gzip" in request.headers.get("Accept-Encoding", "")


def assets() -> dict[str, Asset]:
    """All files of the page by name. What is not among them cannot be asked for."""
    found = {}
    for file in files("windlass.web").joinpath("static").iterdir():
        content_type = _TYPES.get(file.name.rpartition(".")[2])
        if content_type is not None:
            plain = file.read_bytes()
            tag = f'"{hashlib.sha256(plain).hexdigest()[:16]}"'
            found[file.name] = Asset(content_type, plain, gzip.compress(plain, mtime=0), tag)
    return found
