"""JSON as Go prints it. The expected texts were printed by encoding/json of Go 1.26."""

import pytest

from windlass.api import capa, capo
from windlass.machine_sync.conversion.gojson import as_given, compact


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
