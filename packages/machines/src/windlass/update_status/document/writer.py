"""What insights are written with: the present, times and texts as the API takes them, and a note of what was cut."""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from windlass.api.update_insights import MOST_MESSAGE, Condition, Status
from windlass.update_status.times import MINUTE, ZERO, Duration, Moment, moment, rfc3339_nano

_LAST: Final[Moment] = moment("9999-12-31T23:59:59Z")
_ESTIMATE_MOVES: Final = 0.05
ELLIPSIS: Final = "…"


class Writer(Struct, frozen=True):
    """`said`: what was cut, in words; it grows."""

    now: Moment
    said: list[str]

    def changed(self, before: Iterable[Condition], kind: str, status: Status, reported: Moment | None = None) -> str:
        """When a condition got its status: what the cluster reports, else when it was first seen."""
        if reported is not None and reported != ZERO:
            return written(reported)
        for one in before:
            if one.type == kind and one.status == status:
                return one.last_transition_time
        return written(self.now)

    def message(self, text: str, of: str) -> str:
        return self.shortened(text, MOST_MESSAGE, f"the message of {of}")

    def shortened(self, text: str, most: int, what: str) -> str:
        text = _unicode(text)
        if len(text) <= most:
            return text
        self.said.append(f"{what} was shortened to {most} characters")
        return fitting(text, most)


def fitting(text: str, most: int) -> str:
    """The text, or so much of its beginning that it has `most` characters with an ellipsis."""
    text = _unicode(text)
    return text if len(text) <= most else text[: most - 1] + ELLIPSIS


def _unicode(text: str) -> str:
    """Files can name halves of a character (`"\\ud800"` in JSON), which JSON of Kubernetes cannot."""
    return text.encode("utf-8", "replace").decode()


def written(when: Moment) -> str:
    """A moment as the API takes it."""
    return rfc3339_nano(max(ZERO, min(_LAST, when)))


def written_if_known(when: Moment | None) -> str | None:
    return None if when is None or when == ZERO else written(when)


def settled_estimate(end: Moment, *, before: str | None, now: Moment) -> str:
    """An end that is expected; the one of before as long as it `settles`."""
    return before if before is not None and settles(end, before=before, now=now) else written(end)


def settles(end: Moment, *, before: str, now: Moment, width: Duration = 0) -> bool:
    """Whether an expected end is about the one of before.

    They differ by a minute at most, or by 5 % of what is left, or by a tenth of the `width` of the range that it is of.
    """
    return abs(moment(before) - end) <= max(MINUTE, int(abs(end - now) * _ESTIMATE_MOVES), width // 10)
