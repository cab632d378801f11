"""Strings as Go quotes them. The expected texts were printed by strconv.Quote of Go 1.26."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.explore import examples
from windlass.capability.goquote import quote


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("", '""'),
        ("plain text", '"plain text"'),
        ('say "hi"', r'"say \"hi\""'),
        ("back\\slash", r'"back\\slash"'),
        ("it's", '"it\'s"'),
        ("<a href='x'>&", "\"<a href='x'>&\""),
        ("\a\b\f\n\r\t\v", r'"\a\b\f\n\r\t\v"'),
        ("\x00\x01\x1b\x7f", r'"\x00\x01\x1b\x7f"'),
        ("\x80\x85\xa0\xad", r'"\u0080\u0085\u00a0\u00ad"'),
        ("\u200b\u200d\u2028\u2029\ufeff\u3000", r'"\u200b\u200d\u2028\u2029\ufeff\u3000"'),
        ("zażółć 漢字 عربى", '"zażółć 漢字 عربى"'),
        ("e\u0301", '"e\u0301"'),
        ("😀🏽", '"😀🏽"'),
        ("\ufffd", '"\ufffd"'),
        ("\ue000\uffff", r'"\ue000\uffff"'),
        ("\U000e0001\U000f0000\U0010ffff", r'"\U000e0001\U000f0000\U0010ffff"'),
        ("\u0cf3\U0001fae8\U00031350", '"\u0cf3\U0001fae8\U00031350"'),
        ("\u0378\U000323b0", r'"\u0378\U000323b0"'),
    ],
    ids=ascii,
)
def test_a_string_is_quoted_as_go_does(text: str, quoted: str) -> None:
    assert quote(text) == quoted


def test_a_lone_surrogate_is_quoted_as_the_replacement_character() -> None:
    assert quote("a\ud800b") == '"a\ufffdb"'


@given(st.text())
@examples()
def test_a_quoted_string_is_printable_ascii_or_printable_text(text: str) -> None:
    quoted = quote(text)
    assert quoted[0] == quoted[-1] == '"'
    assert "\n" not in quoted
    assert all(char >= " " and char != "\x7f" for char in quoted)
