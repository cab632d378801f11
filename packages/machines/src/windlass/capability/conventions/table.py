"""Prints aligned columns of text as kubectl does. No cell is empty, so `awk` can read them too.

Texts of objects are not trusted: control characters are made harmless, so that no cell can affect the terminal.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from windlass.capability.conventions.terminal import paint
from windlass.kube.foreign import harmless

R = TypeVar("R")

GAP = "   "


class Cell(NamedTuple):
    """`text`, and its colour on a terminal with colours."""

    text: str
    colour: str | None = None


@dataclass(frozen=True, slots=True)
class Column(Generic[R]):
    """A heading, and the function that makes its cell from a row. `wide`: only shown with `-o wide`."""

    heading: str
    cell: Callable[[R], Cell]
    wide: bool = False


class Table(Generic[R]):
    """Lays out rows. Widths only ever grow, so that rows printed one by one stay below their headings."""

    def __init__(self, columns: Sequence[Column[R]], *, colour: bool = False) -> None:
        self._columns = columns
        self._colour = colour
        self._widths = [len(column.heading) for column in columns]

    def lines(self, rows: Iterable[R], *, headings: bool = True) -> list[str]:
        """The rows as lines, below their headings if wanted."""
        cells = [[_harmless(column.cell(row)) for column in self._columns] for row in rows]
        for line in cells:
            self._widths = [max(width, len(cell.text)) for width, cell in zip(self._widths, line, strict=True)]
        top = [[Cell(column.heading) for column in self._columns]] if headings else []
        return [self._line(line) for line in [*top, *cells]]

    def _line(self, cells: Sequence[Cell]) -> str:
        painted = [paint(cell.text, cell.colour, on=self._colour) for cell in cells]
        # Colour codes have no width, and the end of a line is not padded.
        fill = [width - len(cell.text) for cell, width in zip(cells[:-1], self._widths[:-1], strict=True)]
        return GAP.join([*(text + " " * spaces for text, spaces in zip(painted, fill, strict=False)), painted[-1]])


def _harmless(cell: Cell) -> Cell:
    return cell if cell.text.isprintable() else cell._replace(text=harmless(cell.text))
