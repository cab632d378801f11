"""The files of the page, read from the package once and kept compressed.

A browser asks each time whether its copy is current (`ETag`), so that after an upgrade nobody runs old scripts.

The frame's are in its folder `static`, and those of a view in that folder of its own package.

The page names in its head whatever its first picture needs, so that a browser fetches all of it at once instead of one
after the other: scripts, who is signed in, and, for somebody who may see a view, the script and document of that.
"""

import gzip
import hashlib
from collections.abc import Iterable
from importlib.resources import files
from typing import Final

from aiohttp import web
from msgspec import Struct

from windlass.web.view import View

_INDEX: Final = "index.html"
_VIEW: Final = "{view}"
"""Stands for the name of the view in lines of the page that are there for a view alone."""

_SCRIPT: Final = "{script}"
"""Stands for each script of the view in the line that has it."""

FRAME: Final = "windlass.web"

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


def assets(views: Iterable[View] = ()) -> dict[str, Asset]:
    """All files of the page by name. What is not among them cannot be asked for."""
    packages = dict.fromkeys((FRAME, *(view.scripts for view in views if view.scripts)))
    there = (found for package in packages for found in _files(package))
    return {name: _asset(name, plain) for name, plain in there if name != _INDEX}


def indexes(views: Iterable[View]) -> dict[str, Asset]:
    """The page that begins with each of `views`, and with none of them (empty name)."""
    lines = dict(_files(FRAME))[_INDEX].decode().splitlines(keepends=True)
    pages = {"": "".join(line for line in lines if _VIEW not in line and _SCRIPT not in line)}
    for view in views:
        scripts = sorted(name for name, _ in _files(view.scripts)) if view.scripts else []
        whole = (line.replace(_SCRIPT, script) for line in lines for script in (scripts if _SCRIPT in line else [""]))
        pages[view.name] = "".join(whole).replace(_VIEW, view.name)
    return {name: _asset(_INDEX, page.encode()) for name, page in pages.items()}


def _files(package: str) -> Iterable[tuple[str, bytes]]:
    for file in files(package).joinpath("static").iterdir():
        if _ending(file.name) in _TYPES:
            yield file.name, file.read_bytes()


def _ending(name: str) -> str:
    return name.rpartition(".")[2]


def _asset(name: str, plain: bytes) -> Asset:
    tag = f'"{hashlib.sha256(plain).hexdigest()[:16]}"'
    return Asset(_TYPES[_ending(name)], plain, gzip.compress(plain, mtime=0), tag)
