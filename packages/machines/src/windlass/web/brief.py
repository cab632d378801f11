"""What the first page says of a view: a line, and what needs somebody. Views publish it as their part `brief`.

    {"line": "3 clusters, 40 machines", "tone": "bad", "needs": [{"text": ..., "tone": "bad"}], "more": 12}

A view has hundreds of troubles in a bad night: the first page names the worst `MOST`, and counts the others.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal

from msgspec import Struct

from windlass.kube.shorten import shortened

MOST: Final = 5
"""What is named of each view."""
LONGEST: Final = 240
"""Characters of a line."""

Tone = Literal["good", "busy", "warn", "bad", "calm"]
"""As the page colours it: in order, at work, passes by itself or should be seen, needs somebody, nothing to say."""
_WORST_FIRST: Final = ("bad", "warn", "busy", "calm", "good")


class Need(Struct, frozen=True, omit_defaults=True):
    """Something that needs somebody: the first line of `text` is shown. `since`: RFC 3339."""

    text: str
    tone: Tone
    since: str | None = None


def brief(line: str, needs: Iterable[Need] = (), *, tone: Tone = "good") -> dict[str, Any]:
    """The part. `tone` is that of the line while there are no needs."""
    found = sorted(needs, key=lambda need: _WORST_FIRST.index(need.tone))
    return {
        "line": shortened(line, LONGEST),
        "tone": found[0].tone if found else tone,
        "needs": [_short(need) for need in found[:MOST]],
        "more": max(len(found) - MOST, 0),
    }


def _short(need: Need) -> Need:
    first = next(iter(need.text.lstrip()[: 4 * LONGEST].splitlines()), "")
    return Need(shortened(" ".join(first.split()), LONGEST), need.tone, need.since)


def counted(number: int, one: str, many: str = "") -> str:
    """`1 machine`, `3 machines`."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def joined(parts: Sequence[str]) -> str:
    """The parts that are not empty, with commas between them."""
    return ", ".join(part for part in parts if part)
