"""Prints values as compact JSON as Go does, for texts that must equal those of the Go program.

`compact(value)` is what `encoding/json` gives: fields in declaration order, map keys sorted, no spaces, and `<`, `>`,
`&`, U+2028 and U+2029 as `\\u` escapes.
"""

import json
import re
from typing import Any, Literal

import msgspec

_HTML = {char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}

_SURROGATE = re.compile("[\ud800-\udfff]")

_BEYOND_MSGSPEC = (OverflowError, ValueError, RecursionError)
"""The errors of msgspec's encoder for huge integers, for lone surrogates, and for deep trees."""

_ENCODER = msgspec.json.Encoder(order="deterministic")
_AS_GIVEN = msgspec.json.Encoder()


def compact(value: Any) -> str:
    """`value` (a Struct, list, dict or scalar) as compact JSON in the form of Go's `encoding/json`.

    >>> compact({"b": [1, None], "a": "x<y"})
    '{"a":"x\\\\u003cy","b":[1,null]}'
    """
    try:
        return _escaped(_ENCODER.encode(value).decode())
    except _BEYOND_MSGSPEC:
        return _escaped(_beyond_go(value, order="deterministic"))


def as_given(tree: Any) -> str:
    """`tree` as compact JSON with the keys of its maps in their order: how Go shows JSON that it got as text.

    >>> as_given({"b": 1, "a": "&"})
    '{"b":1,"a":"\\\\u0026"}'
    """
    try:
        return _escaped(_AS_GIVEN.encode(tree).decode())
    except _BEYOND_MSGSPEC:
        return _escaped(_beyond_go(tree))


def _escaped(text: str) -> str:
    for char, escape in _HTML.items():
        if char in text:
            text = text.replace(char, escape)
    return text


def _beyond_go(tree: Any, *, order: Literal["deterministic"] | None = None) -> str:
    """JSON of huge numbers and lone surrogates: a file may contain them, but no Go value and no API server."""
    try:
        plain = msgspec.to_builtins(tree, order=order)
        text = json.dumps(plain, separators=(",", ":"), ensure_ascii=False)
    except RecursionError:
        return '"nested too deeply to be shown"'
    except ValueError:
        return '"with a number too long to be shown"'
    return _SURROGATE.sub("\ufffd", text)
