"""Texts from the cluster in tables."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.update_status.text.safe import safe_lines, safe_table


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [""]),
        ("as it is: ä 日本 🚀", ["as it is: ä 日本 🚀"]),
        ("one\ntwo\r\n\nfour\n\n", ["one", "two", "", "four"]),
        ("\n", [""]),
        ("a\tb\vc\fd", [r"a\tb\x0bc\x0cd"]),
        ("\x1b]0;owned\x07\x1b[2J", [r"\x1b]0;owned\x07\x1b[2J"]),
        ("over\rwritten", [r"over\rwritten"]),
        ("\x9b31m\u202eevil\u2028\u200b", [r"\x9b31m\u202eevil\u2028\u200b"]),
    ],
)
def test_only_printable_characters_are_left(text: str, expected: list[str]) -> None:
    assert safe_lines(text) == expected


def test_a_cell_of_several_lines_continues_in_its_column() -> None:
    assert safe_table(("A", "B", "C"), [("1", "x\nlonger", "one"), ("2", "y", "one\n\nthree\t!"), ("3", "", "")]) == (
        "A   B        C\n1   x        one\n    longer\n2   y        one\n\n             three\\t!\n3\n"
    )


@given(st.lists(st.tuples(st.text(), st.text()), max_size=4))
def test_no_text_can_break_a_table_or_command_the_terminal(rows: list[tuple[str, str]]) -> None:
    lines = safe_table(("A", "B"), rows).split("\n")
    assert all(line.isprintable() for line in lines)
    assert len(lines) == 2 + sum(max(len(safe_lines(cell)) for cell in row) for row in rows)
