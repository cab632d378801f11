"""Cleans texts and links of informers: whatever they hold, they can be shown in a terminal and on a page."""

import re
import unicodedata
from typing import Final
from urllib.parse import urlsplit

from windlass.update_status.document.writer import fitting

MOST_LINK: Final = 512

_SEQUENCES: Final = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles and links of terminals
    r"|[\x1b\x9b]\[?[0-?]*[ -/]*[@-~]"  # colours, movements
)
_LINK: Final = re.compile(r"https://[!-~]+")
_NOT_IN_LINKS: Final = frozenset("\"'<>\\^`{|}")


def one_line(text: str, most: int) -> str:
    r"""At most `most` characters on one line, without control, format and direction characters.

    >>> one_line("a\x1b[31mred\x1b[0m\n\tb\u202e", 20)
    'ared b'
    """
    text = _SEQUENCES.sub("", text[: 16 * most])
    spaced = "".join(" " if char.isspace() else char for char in text)
    shown = "".join(char for char in spaced if char == " " or _is_shown(char))
    return fitting(" ".join(shown.split()), most)


def link(text: str) -> str:
    """The link if it is one of https to a host, else ""."""
    if len(text) > MOST_LINK or not _LINK.fullmatch(text) or _NOT_IN_LINKS & set(text):
        return ""
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return ""
    return text if parts.hostname and "@" not in parts.netloc else ""


def _is_shown(char: str) -> bool:
    """Neither control (Cc), format and direction (Cf), half (Cs), private (Co) nor unassigned (Cn)."""
    return unicodedata.category(char)[0] != "C"
