"""Writes YAML byte for byte as the Machine Config Operator does: its names are hashes of that.

The operator's library is gopkg.in/yaml.v2. libyaml lays out texts in the same way, and leaves to us which of them are
quoted because they would be read as something else.

`tests/data/os_build/go_yaml.json` is a table of what the library itself wrote. Texts that the library cannot write, and
those with a U+0085, U+2028, U+2029 or U+FEFF, come out differently: the name is then another one than the operator's.
"""

import re
from datetime import date
from typing import Any, Final

import yaml

try:
    from yaml import CSafeDumper as _SafeDumper
except ImportError:  # PyYAML was built without libyaml: it breaks some long lines elsewhere, otherwise the same
    from yaml import SafeDumper as _SafeDumper  # type: ignore[assignment]

_STRING: Final = "tag:yaml.org,2002:str"
_WORDS: Final = {"", "~"} | {
    spelled
    for word in ("y", "yes", "true", "on", "n", "no", "false", "off", "null")
    for spelled in (word, word.capitalize(), word.upper())
}
_NOT_FINITE: Final = re.compile(r"\.(?:nan|NaN|NAN)|[-+]?\.(?:inf|Inf|INF)")
_INTEGER: Final = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0b[-+][01]+)")
_DECIMAL: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_BASE_60: Final = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_TIME: Final = re.compile(
    r"""([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})
    (?:(?:[Tt](?:[01]?[0-9]|2[0-3]):[0-5]?[0-9]:[0-5]?[0-9](?:[.,][0-9]+)?(?:Z|[-+][0-9]{2}:[0-9]{2}))
    |(?:\ (?:[01]?[0-9]|2[0-3]):[0-5]?[0-9]:[0-5]?[0-9](?:[.,][0-9]+)?))?""",
    re.VERBOSE,
)


class _Dumper(_SafeDumper):
    """No text stands for anything but itself: `_text` decides which are quoted."""

    yaml_implicit_resolvers = {}  # noqa: RUF012 - PyYAML's protocol

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else '"' if _reads_as_something_else(text) else None
    return dumper.represent_scalar(_STRING, text, style=style)


def _null(dumper: _Dumper, _: None) -> yaml.ScalarNode:
    return dumper.represent_scalar(_STRING, "null")


_Dumper.add_representer(str, _text)
_Dumper.add_representer(type(None), _null)


def written(tree: Any) -> bytes:
    """`tree` of mappings, lists, texts and nulls, with sorted keys.

    >>> print(written({"b": "yes", "a": ["1:30", None]}).decode(), end="")
    a:
    - "1:30"
    - null
    b: "yes"
    """
    text: str = yaml.dump(tree, Dumper=_Dumper, allow_unicode=True)
    # libyaml ends a document in this way if its last text ends with empty lines. Lines of texts are indented.
    return (text.removesuffix("...\n") if text.endswith("\n...\n") else text).encode()


def _reads_as_something_else(text: str) -> bool:
    if text in _WORDS or _NOT_FINITE.fullmatch(text) or _BASE_60.fullmatch(text) or _is_time(text):
        return True
    digits = text if text.startswith("_") else text.replace("_", "")
    return bool(_INTEGER.fullmatch(digits) or _DECIMAL.fullmatch(digits))


def _is_time(text: str) -> bool:
    if not (found := _TIME.fullmatch(text)):
        return False
    try:
        date(*map(int, found.group(1, 2, 3)))
    except ValueError:
        return False
    return True
