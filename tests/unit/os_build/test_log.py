"""The end of a log is safe and short, whatever a build printed."""

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.os_build.log import CHARACTERS, LINES, clean, tail


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        pytest.param("\x1b[31mred\x1b[0m and \x1b[1;4mbold\x1b[m", "red and bold", id="colours"),
        pytest.param("\x9b31mred", "red", id="colours-of-8-bits"),
        pytest.param("\x1b]0;title\x07text", "text", id="title"),
        pytest.param("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link", id="hyperlink"),
        pytest.param("\x1b]0;a title without an end\nError: no", "\nError: no", id="unended-title-hides-one-line-only"),
        pytest.param("\x1bcreset", "reset", id="reset"),
        pytest.param("10%\r50%\r100%\nready", "100%\nready", id="progress"),
        pytest.param("10%\r50%\r", "50%", id="progress-that-ends-at-the-left"),
        pytest.param("one\r\ntwo\r\r\nthree", "one\ntwo\nthree", id="line-ends-of-windows"),
        pytest.param("one\u2028two\x85three", "one\ntwo\nthree", id="line-ends-of-unicode"),
        pytest.param("a\x08b\x00c\x7fd", "abcd", id="control-characters"),
        pytest.param("user\u202etxt.exe", "usertxt.exe", id="direction-of-text"),
        pytest.param("a\u200bb\ufeffc\U000e0041d", "abcd", id="invisible"),
        pytest.param("a\tb", "a    b", id="tab"),
        pytest.param("déjà vu 日本", "déjà vu 日本", id="letters-of-the-world"),
    ],
)
def test_a_log_is_shown_without_what_affects_terminals(printed: str, shown: str) -> None:
    assert clean(printed) == shown


def test_carriage_returns_without_end_are_read_once() -> None:
    began = time.process_time()
    assert clean("\r" * 1_000_000 + "done") == "done"
    assert time.process_time() - began < 5


def test_a_tail_is_the_last_lines_that_are_not_empty() -> None:
    lines = [f"line {number}" for number in range(30)]
    assert tail("\n\n".join(lines) + "\n \n") == "\n".join(lines[-LINES:])


def test_long_lines_are_cut_at_the_front() -> None:
    assert tail("a" * 5000 + "the end") == "…" + "a" * (CHARACTERS - 8) + "the end"


def test_lines_that_are_too_many_to_fit_are_left_out_whole() -> None:
    shown = tail("\n".join(str(number % 10) * 150 for number in range(20)))
    first, *rest = shown.split("\n")
    assert first == "…" + "7" * 150
    assert [line[0] for line in rest] == list("890123456789")


@given(st.text(st.one_of(st.characters(), st.sampled_from("\x1b[]\r\n\u202e\x9b\x07;m0")), max_size=6000))
def test_any_tail_is_safe_and_short(printed: str) -> None:
    shown = tail(printed)
    assert len(shown) <= CHARACTERS
    assert len(shown.split("\n")) <= LINES
    assert not {"Cc", "Cf", "Cs"} & {unicodedata.category(one) for one in shown if one != "\n"}
    assert tail(shown) == shown
