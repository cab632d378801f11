"""Elastic tab stops: a table of cases, and two definitions of them that are built differently."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.update_status.text.table import PADDING, aligned, table


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", "", id="an empty text"),
        pytest.param("\n\n", "\n\n", id="empty lines"),
        pytest.param("no columns\nat all\n", "no columns\nat all\n", id="lines without TABs stay as they are"),
        pytest.param("a\tb\n", "a   b\n", id="three spaces after the widest cell"),
        pytest.param("a\tb", "a   b", id="a last line that does not end"),
        pytest.param(
            "NAME\tAGE\nlonger\t1\n", "NAME     AGE\nlonger   1\n", id="a column is as wide as its widest cell"
        ),
        pytest.param("a\t\nbb\tx\n", "a    \nbb   x\n", id="an empty last cell leaves spaces at the end of its line"),
        pytest.param("\tx\n\ty\n", "   x\n   y\n", id="a column of empty cells has its padding"),
        pytest.param("a\tlong one\tx\nb\ty\tz\n", "a   long one   x\nb   y          z\n", id="two columns"),
        pytest.param(
            "a\tb\tc\nlonger\td\na\tb\tc\n",
            "a        b   c\nlonger   d\na        b   c\n",
            id="the last cell of a shorter line does not widen the column",
        ),
        pytest.param(
            "a\tlong one\tc\nlonger\td\na\tb\tc\n",
            "a        long one   c\nlonger   d\na        b   c\n",
            id="a shorter line ends the columns that it lacks, and only these",
        ),
        pytest.param(
            "longest\tb\nmessage\na\tb\n",
            "longest   b\nmessage\na   b\n",
            id="a line without TABs ends all columns",
        ),
        pytest.param(
            "NAME\tMESSAGE\nn\tone\n\ttwo\nm\tthree\n",
            "NAME   MESSAGE\nn      one\n       two\nm      three\n",
            id="a line that continues a cell keeps the columns with leading TABs",
        ),
        pytest.param("a\vb\nlong\tc\n", "a      b\nlong   c\n", id="a vertical tab ends a cell"),
        pytest.param("long\ta\fb\tc\n", "long   a\nb   c\n", id="a form feed ends a line and its columns"),
        pytest.param("ä\tx\nbb\ty\n", "ä    x\nbb   y\n", id="letters count, not bytes"),
        pytest.param("日本\tx\nbbb\ty\n", "日本    x\nbbb   y\n", id="a wide character counts as one"),
        pytest.param("a\r\tb\u2028c\x85d\n", "a\r   b\u2028c\x85d\n", id="other separators of lines do not end a line"),
    ],
)
def test_columns_are_aligned(text: str, expected: str) -> None:
    assert aligned(text) == expected


def test_a_table_is_rows_of_cells() -> None:
    assert table(("NAME", "MESSAGE"), ("a long name", ""), ("a", "x")) == (
        "NAME          MESSAGE\na long name   \na             x\n"
    )


def test_a_cell_with_a_newline_splits_its_table() -> None:
    assert table(("a long name", "one\ntwo"), ("a", "x")) == "a long name   one\ntwo\na   x\n"


CELL = st.text(st.sampled_from("ab ä日🚀"), max_size=6)


@given(st.integers(1, 4).flatmap(lambda width: st.lists(st.lists(CELL, min_size=width, max_size=width), min_size=1)))
def test_columns_of_a_regular_table_are_as_wide_as_their_widest_cell(rows: list[list[str]]) -> None:
    widths = [max(map(len, column)) + PADDING for column in zip(*rows, strict=True)]
    expected = "".join(
        "".join(f"{cell:{width}}" for cell, width in zip(row[:-1], widths, strict=False)) + row[-1] + "\n"
        for row in rows
    )
    assert table(*rows) == expected


@given(st.lists(st.lists(CELL, min_size=1, max_size=5), max_size=8))
def test_a_cell_is_as_wide_as_the_widest_among_the_adjacent_lines_with_its_column(rows: list[list[str]]) -> None:
    def in_column(row: int, column: int) -> bool:
        return 0 <= row < len(rows) and column < len(rows[row]) - 1

    def padded(row: int, column: int) -> str:
        cell = rows[row][column]
        if not in_column(row, column):
            return cell
        first = last = row
        while in_column(first - 1, column):
            first -= 1
        while in_column(last + 1, column):
            last += 1
        return cell + " " * (max(len(rows[other][column]) for other in range(first, last + 1)) + PADDING - len(cell))

    expected = ["".join(padded(row, column) for column in range(len(cells))) + "\n" for row, cells in enumerate(rows)]
    assert table(*rows) == "".join(expected)
