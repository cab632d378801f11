"""The first page: what each view that somebody may see says of itself in a line, and what needs somebody there.

It is made from what the views publish for it (`windlass.web.view`: `brief`, `runs`, `stale`, `troubles`), so it reads
nothing itself. Of a view that a visitor may not see, the page tells that visitor nothing: each set of views has a
document of its own.

| part | what |
|---|---|
| `view/NAME` | title, place, and those four parts of a view |
"""

import asyncio
import contextlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import msgspec

from windlass.web.board import Board
from windlass.web.view import BRIEF, RUNS, STALE, TROUBLES, View

NAME: Final = "overview"
TITLE: Final = "Overview"
SCRIPTS: Final = "windlass.web.overview"
BREATH: Final = 0.5
"""Seconds between two documents: views change by themselves, and the first page follows them."""

PARTS: Final = (BRIEF, RUNS, STALE, TROUBLES)


async def _nothing(board: Board) -> None:
    """Its boards are made by `Overview`."""
    await asyncio.Event().wait()


VIEW: Final = View(name=NAME, title=TITLE, scripts=SCRIPTS, rule=(), source=_nothing)
"""The frame's own view. It has no rule of its own: the rules of the other views decide what a visitor's page has."""


class Overview:
    """The first page of these views, whose documents are on `boards`. `run` keeps it up to date."""

    def __init__(self, views: Sequence[View], boards: Mapping[str, Board]) -> None:
        self._views = views
        self._boards = boards
        self._pages: dict[frozenset[str], Board] = {}

    def board(self, allowed: Collection[str]) -> Board:
        """The document of the first page for visitors who may see the `allowed` views."""
        chosen = frozenset(allowed)
        if chosen not in self._pages:
            self._pages[chosen] = Board(self._views[0].clock)
            self._show(chosen)
        return self._pages[chosen]

    async def run(self) -> None:
        """Follow the views until cancelled."""
        while True:
            stamps = {name: board.stamp for name, board in self._boards.items()}
            for chosen in self._pages:
                self._show(chosen)
            await self._changed(stamps)
            await asyncio.sleep(BREATH)

    async def _changed(self, stamps: Mapping[str, str]) -> None:
        waiting = [asyncio.ensure_future(self._boards[name].newer_than(stamp)) for name, stamp in stamps.items()]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waiting:
                each.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.gather(*waiting, return_exceptions=True)

    def _show(self, chosen: frozenset[str]) -> None:
        self._pages[chosen].show(
            {
                f"view/{view.name}": line(view, self._boards[view.name], place)
                for place, view in enumerate(self._views)
                if view.name in chosen
            }
        )


def line(view: View, board: Board, place: int) -> dict[str, Any]:
    """What the first page says of a view."""
    said = {name: msgspec.Raw(body) for name in PARTS if (body := board.part(name)) is not None}
    return {"name": view.name, "title": view.title, "place": place, "shown": board.shown, **said}
