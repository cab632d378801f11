"""Columns of text, and ages."""

from datetime import UTC, datetime

import pytest

from windlass.capability.conventions.ages import age
from windlass.capability.conventions.table import Cell, Column, Table

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.fixture
def columns() -> list[Column[tuple[str, str]]]:
    return [
        Column("NAME", lambda row: Cell(row[0], "green")),
        Column("PHASE", lambda row: Cell(row[1])),
    ]


def test_columns_are_as_wide_as_their_widest_cell(columns: list[Column[tuple[str, str]]]) -> None:
    lines = Table(columns).lines([("a", "Running"), ("worker-0", "-")])

    assert lines == ["NAME       PHASE", "a          Running", "worker-0   -"]


def test_widths_never_shrink_so_later_rows_stay_below_their_headings(columns: list[Column[tuple[str, str]]]) -> None:
    table = Table(columns)
    table.lines([("worker-0", "-")])

    assert table.lines([("a", "b")], headings=False) == ["a          b"]


def test_colour_has_no_width(columns: list[Column[tuple[str, str]]]) -> None:
    (line,) = Table(columns, colour=True).lines([("worker", "x")], headings=False)

    assert line == "\x1b[32mworker\x1b[0m   x"


def test_a_cell_can_do_nothing_to_a_terminal() -> None:
    columns: list[Column[str]] = [Column("NAME", Cell), Column("X", lambda _: Cell("x"))]

    (line,) = Table(columns).lines(["a\x1b[2J\nb"], headings=False)

    assert line == r"a\x1b[2J\nb   x"


@pytest.mark.parametrize(
    ("since", "expected"),
    [
        ("2026-11-21T12:00:00Z", "0s"),
        ("2026-11-21T11:58:01Z", "119s"),
        ("2026-11-21T11:58:00Z", "2m"),
        ("2026-11-21T11:54:30Z", "5m30s"),
        ("2026-11-21T11:00:00Z", "60m"),
        ("2026-11-21T08:48:00Z", "3h12m"),
        ("2026-11-21T09:00:00Z", "3h"),
        ("2026-11-20T10:00:00Z", "26h"),
        ("2026-11-18T08:00:00Z", "3d4h"),
        ("2026-10-21T12:00:00Z", "31d"),
        ("2024-11-21T12:00:00Z", "2y"),
        ("2023-11-01T12:00:00Z", "3y21d"),
        ("2016-11-21T12:00:00Z", "10y"),
        ("2026-11-21T13:00:00Z", "0s"),
        ("", "<unknown>"),
        (None, "<unknown>"),
        ("yesterday", "<unknown>"),
        ("2026-11-21T12:00:00", "<unknown>"),
    ],
)
def test_ages_are_as_short_as_kubectl_writes_them(since: str | None, expected: str) -> None:
    assert age(since, NOW) == expected
