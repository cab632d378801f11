"""Limits how deep an object may be nested, and cuts JSON that is deeper so that it can be read.

Decoders recurse: on Python 3.11 at most about 1,000 levels deep, less what is on the stack already. An API server
accepts 10,000, and anybody who may write a `providerSpec` can use them. Our own limit is far above what any kind
needs and far below what a decoder can do.
"""

import re
from typing import Final

DEEPEST: Final = 200
"""Levels of maps and lists in one object."""
TOO_DEEP: Final = f"nested more than {DEEPEST} levels deep"

CUT: Final = b'"\\u0000 nested too deeply \\u0000"'
"""The JSON that replaces whatever is too deep."""

# The end of a string is optional: else a text that ends within one would be read to its end from every escaped quote.
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"?|[\[{\]}]', re.DOTALL)
_SQUARE = bytes.maketrans(b"{}", b"[]")
_NO_MARKS = bytes(set(range(256)) - set(b"[]{}"))
_OPENING = b"[{"
_CLOSING = b"]}"


def is_deep(text: bytes, *, deepest: int = DEEPEST) -> bool:
    """Whether the JSON `text` is nested more than `deepest` levels deep."""
    if text.count(b"{") + text.count(b"[") <= deepest:
        return False
    # Every event of a large object comes here, so the work is left to methods of bytes: without escapes every second
    # piece between quotes is outside of strings, and each replacement takes away the innermost level.
    unescaped = text.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in text else text
    marks = b"".join(unescaped.split(b'"')[::2]).translate(_SQUARE, _NO_MARKS)
    too_many = b"[" * (deepest + 1)
    for _ in range(deepest):
        if not marks or too_many in marks:
            break
        marks = marks.replace(b"[]", b"")
    return bool(marks)


def cut(text: bytes, *, deepest: int = DEEPEST) -> bytes:
    """`text` with `CUT` in the place of each map or list below the level `deepest`; lines stay where they are.

    >>> cut(b'{"a": [1, {"b": 2}]}', deepest=2).replace(CUT, b"...")
    b'{"a": [1, ...]}'
    """
    kept: list[bytes] = []
    level = start = 0
    for token in _TOKEN.finditer(text):
        mark = token.group()
        if mark in _OPENING:
            level += 1
            if level == deepest + 1:
                kept += [text[start : token.start()], CUT]
                start = token.start()
        elif mark in _CLOSING:
            if level == deepest + 1:
                kept.append(b"\n" * text.count(b"\n", start, token.end()))
                start = token.end()
            level -= 1
    return b"".join([*kept, text[start:] if level <= deepest else b""])
