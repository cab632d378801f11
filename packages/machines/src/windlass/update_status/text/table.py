"""Aligns the columns of texts by elastic tab stops, as Go's `text/tabwriter` does for `oc`.

A cell is the text up to a TAB (or a vertical tab). What follows the last TAB of a line belongs to no column. Adjacent
lines that have the same column share its width, so one line without the column ends it, and the lines below have
another width. Widths count code points: a wide character counts as one, a combining one too.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final, TypeAlias

PADDING: Final = 3
"""Spaces after the widest cell of a column."""

_CELL_END = re.compile("[\t\v]")

Line: TypeAlias = list[str]


def table(*rows: Iterable[str]) -> str:
    """Rows of cells with aligned columns; each row is a line that ends.

    Cells are taken as they are: a newline or a TAB in one of them acts as it does in `aligned`.
    """
    return aligned("".join("\t".join(row) + "\n" for row in rows))


def aligned(text: str) -> str:
    """The text with spaces instead of TABs. A form feed ends a line and all columns."""
    return "\n".join(_aligned(part) for part in text.split("\f"))


def _aligned(text: str) -> str:
    lines = [_CELL_END.split(line) for line in text.split("\n")]
    blocks, column = [lines], 0
    while blocks:
        blocks = [inner for block in blocks for inner in _blocks(block, column)]
        for block in blocks:
            width = PADDING + max(len(line[column]) for line in block)
            for line in block:
                line[column] = line[column].ljust(width)
        column += 1
    return "\n".join(map("".join, lines))


def _blocks(lines: list[Line], column: int) -> Iterator[list[Line]]:
    """Runs of lines that have this column."""
    for has_column, run in groupby(lines, lambda line: len(line) - 1 > column):
        if has_column:
            yield list(run)
