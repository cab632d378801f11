"""How a scene looks: as rows of a table (`Columns`), or as a text (`Page`).

A log has the rows that change, and a text at the end of each step. A terminal has all rows or the text, live. The
picture has the rows that a step changed, or the part of the text that has room.
"""

from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from msgspec import Struct
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from windlass.demo.story import S

S_contra = TypeVar("S_contra", contravariant=True)


class Look(Protocol[S_contra]):
    """Shows scenes of one kind. `before` is the scene that was shown last, None if none was."""

    def changes(self, before: S_contra | None, after: S_contra) -> list[Text]:
        """The lines of a log for what has changed."""

    def closing(self, scene: S_contra) -> list[Text]:
        """The lines of a log at the end of a step."""

    def whole(self, scene: S_contra) -> RenderableType | None:
        """All that a terminal shows, None if there is nothing."""

    def pictured_part(self, before: S_contra, after: S_contra) -> RenderableType:
        """What the picture shows of a step."""


class Columns(Struct, Generic[S], frozen=True):
    """The objects of a scene as rows, the name first. The picture has only the columns up to `pictured`."""

    headings: tuple[str, ...]
    widths: tuple[int, ...]
    rows: Callable[[S], list[list[Text]]]
    pictured: int

    def changes(self, before: S | None, after: S) -> list[Text]:
        old = {} if before is None else self._by_name(before)
        new = self._by_name(after)
        found = {name: new.get(name, [Text(name), Text("gone", "yellow")]) for name in sorted(old.keys() | new.keys())}
        return [Text("  ").join(_padded(cells, self.widths)) for name, cells in found.items() if cells != old.get(name)]

    def closing(self, scene: S) -> list[Text]:
        return []

    def whole(self, scene: S) -> RenderableType | None:
        rows = self.rows(scene)
        return _table(self.headings, rows) if rows else None

    def pictured_part(self, before: S, after: S) -> RenderableType:
        known = self.rows(before)
        changed = [row for row in self.rows(after) if row not in known]
        return _table(self.headings[: self.pictured], [row[: self.pictured] for row in changed])

    def _by_name(self, scene: S) -> dict[str, list[Text]]:
        return {cells[0].plain: cells for cells in self.rows(scene)}


class Page(Struct, Generic[S], frozen=True):
    """A scene as a text, empty if there is nothing to say; `pictured` is the part of it that the picture has."""

    text: Callable[[S], str]
    pictured: Callable[[S], str]

    def changes(self, before: S | None, after: S) -> list[Text]:
        return []

    def closing(self, scene: S) -> list[Text]:
        return _lines(self.text(scene))

    def whole(self, scene: S) -> RenderableType | None:
        lines = _lines(self.text(scene))
        return Group(*lines) if lines else None

    def pictured_part(self, before: S, after: S) -> RenderableType:
        # A picture has no room for the rest of a line.
        return Group(*(Text(line.plain, no_wrap=True, overflow="ellipsis") for line in _lines(self.pictured(after))))


def _lines(text: str) -> list[Text]:
    return [Text(line.rstrip()) for line in text.splitlines()]


def _table(headings: Sequence[str], rows: Sequence[Sequence[Text]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in headings:
        table.add_column(heading, no_wrap=True)
    for cells in rows:
        table.add_row(*cells)
    return table


def _padded(cells: Sequence[Text], widths: Sequence[int]) -> list[Text]:
    padded = [cell.copy() for cell in cells]
    for cell, width in zip(padded, widths, strict=False):
        cell.pad_right(max(0, width - len(cell)))
    return padded
