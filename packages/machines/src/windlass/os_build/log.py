"""Makes the end of a builder's log safe and short enough to show to people and to store in an object. Pure.

A log is untrusted: a build runs whatever a Containerfile says, and its output ends in conditions, terminals and web
pages.
"""

import re
import unicodedata
from typing import Final

LINES: Final = 20
CHARACTERS: Final = 2048
"""The longest tail."""

_CUT: Final = "…"
_ESCAPES: Final = re.compile(
    r"(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\r\n]*(?:\x07|\x1b\\|\x9c)?"  # strings, such as a title
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI: colours, cursor
    r"|\x1b[ -/]*[0-~]?"
)
_BREAKS: Final = re.compile("[\n\v\f\x85\u2028\u2029]")
_UNSAFE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
"""Control, format (such as the direction of text), surrogate, private and unassigned characters."""


def clean(text: str) -> str:
    """All lines of `text`, without characters that could affect a terminal or hide others. Of a line that was written
    over, as progress bars are, the last state."""
    lines = _BREAKS.split(_ESCAPES.sub("", text))
    return "\n".join(_harmless(_last_state(line)).rstrip() for line in lines)


def tail(text: str) -> str:
    """The last lines of `text` that are not empty: at most `LINES` of them, and `CHARACTERS` characters."""
    lines = [line for line in clean(text).split("\n") if line][-LINES:]
    kept = "\n".join(lines)
    if len(kept) <= CHARACTERS:
        return kept
    kept = kept[-(CHARACTERS - len(_CUT)) :]
    # Whole lines, unless that would leave out too much.
    _, newline, rest = kept.partition("\n")
    return _CUT + (rest if newline and len(rest) > CHARACTERS // 2 else kept)


def _last_state(line: str) -> str:
    return next((part for part in reversed(line.split("\r")) if part.strip()), "")


def _harmless(line: str) -> str:
    if line.isascii() and line.isprintable():
        return line
    spaced = line.replace("\t", "    ")
    return "".join(character for character in spaced if unicodedata.category(character) not in _UNSAFE)
