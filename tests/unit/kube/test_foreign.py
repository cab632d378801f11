"""What other systems send: read or refused with one error, and shown on one short line that a terminal cannot obey."""

import doctest
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.explore import examples
from windlass.kube import foreign
from windlass.kube.foreign import Malformed, one_line, read_json

DEEP = b"[" * 60_000


@pytest.mark.parametrize(
    ("body", "shape", "problem"),
    [
        (b"", Any, "Input data was truncated"),
        (b"<html>", Any, "JSON is malformed: invalid character (byte 0)"),
        (DEEP, Any, "it is nested too deeply"),
        (b'{"x":' + DEEP, dict[str, msgspec.Raw], "it is nested too deeply"),
        (b'"\xff"', Any, "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
        (b"9" * 5000, Any, "Integer value out of range"),
        (b'{"a": 1}', dict[str, str], "Expected `str`, got `int` - at `$[...]`"),
    ],
    ids=["nothing", "HTML", "deep", "deep below what is skipped", "no UTF-8", "5,000 digits", "another shape"],
)
def test_what_cannot_be_read_is_one_error_whose_text_says_why(body: bytes, shape: Any, problem: str) -> None:
    with pytest.raises(Malformed) as refused:
        read_json(body, shape)
    assert str(refused.value) == problem


@given(st.binary() | st.text().map(str.encode) | st.text(alphabet='[]{}",:0\\u8dfe-+.').map(str.encode))
@examples()
def test_any_bytes_are_read_or_malformed(body: bytes) -> None:
    for shape in (Any, dict[str, int], list[msgspec.Raw]):
        with suppress(Malformed):
            read_json(body, shape)


@given(st.text(), st.integers(min_value=40, max_value=100))
@examples()
def test_one_line_is_printable_and_keeps_what_was_printable(text: str, most: int) -> None:
    line = one_line(text, most)
    assert line.isprintable()
    if text.isprintable() and len(text) <= most:
        assert line == " ".join(text.split())


def test_a_long_text_says_how_much_is_left_out() -> None:
    assert one_line("word " * 1000, 40) == "word word word … (4986 more characters)"


def test_the_examples_in_its_docstrings_hold() -> None:
    assert doctest.testmod(foreign) == (0, 4)
