"""Says how an object on OpenStack is doing, by its conditions. Pure; the first row that fits wins:

| the object | state | tone |
|---|---|---|
| is being deleted, and `Progressing` is False for a reason that a person has to remove | Deletion is stuck | bad |
| is being deleted, and the cloud has failed | Deleting, tried again | warn |
| is being deleted | Deleting | busy |
| is paused | Paused | calm |
| has no `Ready` | Not seen yet | calm |
| is ready, and its bastion is not | Ready | warn |
| is ready | Ready | good |
| `Progressing` is False for a reason that a person has to remove | Needs somebody | bad |
| the cloud has failed, and is asked again | Tried again | warn |
| `Progressing` is True, or nobody has observed the object yet | Under way | busy |
| else, such as an object of another provider | Not ready | warn |

The message of a failure is that of `Progressing`, which has the remedy or the time of the next attempt, too.
"""

from collections.abc import Iterable
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from windlass.kube.conditions import find, is_true, status_of
from windlass.kube.shorten import shortened
from windlass.openstack.status import BASTION_READY, DELETING, PAUSED, PROGRESSING, READY, Reason
from windlass.web.brief import Tone

LONGEST: Final = 1000
"""Characters of a message in a row; the details have the whole."""
LONGEST_REASON: Final = 100

_BY_PEOPLE: Final = frozenset({Reason.INVALID_CONFIGURATION, Reason.UNRECOVERABLE_ERROR, Reason.WRITE_REFUSED})
"""Reasons of a False `Progressing` that do not pass by themselves."""


class Standing(Struct, frozen=True, omit_defaults=True):
    """How an object is doing. `since`: RFC 3339, of the condition that says so."""

    state: str
    tone: Tone
    reason: str = ""
    message: str = ""
    since: str | None = None

    @property
    def needs_somebody(self) -> bool:
        return self.tone in ("bad", "warn")


def standing(conditions: Iterable[Any], *, deleting: str = "") -> Standing:
    """The table of the module, for the `conditions` of an object; `deleting`: since when it is, RFC 3339, or empty."""
    conditions = [*conditions]
    ready, progress = find(conditions, READY), find(conditions, PROGRESSING)
    stuck = status_of(conditions, PROGRESSING) == "False" and progress is not None and progress.reason in _BY_PEOPLE
    failing = is_true(conditions, PROGRESSING) and progress is not None and progress.reason == Reason.TRANSIENT_ERROR
    if deleting:
        step = find(conditions, DELETING)
        if stuck:
            found = _of("Deletion is stuck", "bad", step or ready, told=progress)
        elif failing:
            found = _of("Deleting, tried again", "warn", step, told=progress)
        else:
            found = _of("Deleting", "busy", step)
        return replace(found, since=deleting)
    if is_true(conditions, PAUSED):
        return _of("Paused", "calm", find(conditions, PAUSED))
    if ready is None:
        return Standing("Not seen yet", "calm")
    if ready.status == "True":
        bastion = find(conditions, BASTION_READY)
        if bastion is not None and bastion.status == "False":
            return _of("Ready", "warn", bastion)
        return Standing("Ready", "good", since=ready.last_transition_time)
    if stuck:
        return _of("Needs somebody", "bad", ready, told=progress)
    if failing:
        return _of("Tried again", "warn", ready, told=progress)
    if is_true(conditions, PROGRESSING) or ready.reason == Reason.NOT_YET_OBSERVED:
        return _of("Under way", "busy", ready)
    return _of("Not ready", "warn", ready)


def _of(state: str, tone: Tone, why: Any, *, told: Any = None) -> Standing:
    if why is None and told is None:
        return Standing(state, tone)
    first = why or told
    message = (told.message if told is not None else "") or first.message
    reason = shortened(first.reason or "", LONGEST_REASON)
    return Standing(state, tone, reason, shortened(message or "", LONGEST), first.last_transition_time)
