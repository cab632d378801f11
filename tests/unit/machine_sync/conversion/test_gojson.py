"""Strings and JSON as Go prints them. The expected texts were printed by strconv.Quote and encoding/json of Go 1.26."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.explore import examples
from windlass.api import capa, capo
from windlass.machine_sync.conversion.gojson import as_given, compact, quote


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


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (-(2**63), "-9223372036854775808"),
        ([], "[]"),
        ({}, "{}"),
        (["a", 1, None], '["a",1,null]'),
        ({"b": "2", "a": "1", "Z": "0"}, '{"Z":"0","a":"1","b":"2"}'),
        ("<>&", r'"\u003c\u003e\u0026"'),
        ("\u2028\u2029", r'"\u2028\u2029"'),
        ('\b\f\n\r\t\x01\x7f"\\', '"\\b\\f\\n\\r\\t\\u0001\x7f\\"\\\\"'),
        ("ż😀\u200b", '"ż😀\u200b"'),
        (capo.SecurityGroup(), "{}"),
        (capo.Subnet(filter=capo.SubnetFilter(name="n", ip_version=4)), '{"filter":{"name":"n","ipVersion":4}}'),
        (capa.LoadBalancer(name=""), '{"name":"","crossZoneLoadBalancing":false}'),
        (capa.Volume(type="gp3"), '{"size":0,"type":"gp3"}'),
        (capa.DynamicHostAllocation(tags={"b": "", "a": ""}), '{"tags":{"a":"","b":""}}'),
        (capo.AdditionalBlockDevice(), '{"name":"","sizeGiB":0,"storage":{"type":""}}'),
    ],
    ids=repr,
)
def test_a_value_is_compact_json_in_gos_form(value: object, text: str) -> None:
    assert compact(value) == text


def test_json_that_was_given_keeps_the_order_of_its_keys() -> None:
    assert as_given({"b": "<", "a": {"d": 1, "c": None}}) == r'{"b":"\u003c","a":{"d":1,"c":null}}'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"n": 10**30}, '{"n":1000000000000000000000000000000}'),
        (["a\ud800<"], '["a\ufffd\\u003c"]'),
        (capo.SecurityGroup(id="\ud800"), '{"id":"\ufffd"}'),
        (["a", 1 << 20_000], '"with a number too long to be shown"'),
    ],
    ids=["a huge number", "half of a pair", "half of a pair in a struct", "a number that Python does not print"],
)
def test_what_go_cannot_hold_is_shown_all_the_same(value: object, text: str) -> None:
    assert compact(value) == as_given(value) == text


def test_keys_are_in_order_also_beside_what_go_cannot_hold() -> None:
    tree = {"b": "\udfff", "a": 1}
    assert compact(tree) == '{"a":1,"b":"\ufffd"}'
    assert as_given(tree) == '{"b":"\ufffd","a":1}'
