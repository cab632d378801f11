r"""Reads what other systems send, and shows it to people: within limits, with one error, on one line.

| text or JSON | here |
|---|---|
| is malformed, nested too deeply, no UTF-8, or of another shape | `Malformed`, whose text can be shown |
| is long | it is cut before anything else looks at it: a pattern on a body of megabytes may take minutes |
| has control characters, or characters that turn the direction of writing | they are escaped |

YAML is read by `yaml_reader`, with limits of its own.

>>> one_line("a\x1b[31m\n\nred  line", 100)
'a\\x1b[31m red line'
"""

import json
from collections.abc import Callable
from typing import Any, Final, TypeVar, overload

import msgspec

from windlass.kube import decoding
from windlass.kube.shorten import shortened

LONGEST: Final = 1000
"""Characters of a foreign text that people are shown, unless a caller needs fewer."""
TOO_DEEP: Final = "it is nested too deeply"

T = TypeVar("T")


class Malformed(ValueError):
    """The bytes are not the JSON that was expected. The text names the field, and can be shown."""


@overload
def read_json(body: bytes | str | msgspec.Raw) -> Any: ...
@overload
def read_json(body: bytes | str | msgspec.Raw, shape: type[T]) -> T: ...
def read_json(body: bytes | str | msgspec.Raw, shape: Any = Any) -> Any:
    """The JSON value in `body`, as `shape`. Raises Malformed, and nothing else.

    >>> read_json(b'{"code": "x"}', dict[str, int])
    Traceback (most recent call last):
    windlass.kube.foreign.Malformed: Expected `int`, got `str` - at `$[...]`
    """
    try:
        return decoding.decode(body, shape)
    except RecursionError:
        problem = TOO_DEEP
    except (msgspec.MsgspecError, ValueError) as error:
        problem = one_line(str(error), LONGEST)
    raise Malformed(problem)


def one_line(text: str, most: int = LONGEST) -> str:
    """At most `most` characters of `text`, cut at a word, with single spaces; what a terminal would obey is escaped."""
    return harmless(" ".join(shortened(text, most).split()))


def harmless(text: str) -> str:
    r"""`text` without characters that could affect a terminal or turn the direction of writing: they are escaped.

    >>> harmless("a\r\x9b\u202e")
    'a\\r\\x9b\\u202e'
    """
    return text if text.isprintable() else _escaped(text, _as_python)


def harmless_lines(text: str) -> str:
    """The same of a text of several lines; its lines and TABs stay."""
    return text if text.isprintable() else _escaped(text, _as_python, kept="\n\t")


def is_harmless(text: str) -> bool:
    """Whether `text`, which may have several lines, stays as it is."""
    return text.isprintable() or text.replace("\n", "").isprintable()


def harmless_json(text: str) -> str:
    r"""The JSON `text` with those characters as JSON escapes them, so that its value stays the same.

    >>> harmless_json('"a\x9b\u202e"')
    '"a\\u009b\\u202e"'
    """
    return text if is_harmless(text) else _escaped(text, lambda char: json.dumps(char)[1:-1], kept="\n")


def json_text(value: Any, *, indent: int | None = None) -> str:
    """`value` as JSON whose text is `harmless_json`; other characters stay readable."""
    return harmless_json(json.dumps(value, indent=indent, ensure_ascii=False))


def harmless_yaml(text: str) -> str:
    """The same of YAML whose scalars that are not `is_harmless` stand in double quotes."""
    return text if is_harmless(text) else _escaped(text, lambda char: f"\\U{ord(char):08X}", kept="\n")


def _escaped(text: str, escape: Callable[[str], str], kept: str = "") -> str:
    return "".join(char if char.isprintable() or char in kept else escape(char) for char in text)


def _as_python(char: str) -> str:
    return char.encode("unicode_escape").decode()
