"""Taints of Machines, which both APIs put on Nodes, in both directions.

| | the taint is missing on the Node | the Machine has it no more |
|---|---|---|
| the Machine API | is put there again | stays on the Node |
| Cluster API, `Always` | is put there again | is removed from the Node |
| Cluster API, `OnInitialization` | stays away: it was put there once | stays on the Node |

So a taint of the Machine API becomes one of `Always`. Cluster API admits a key and effect once, and its CRDs check
keys, values and effects, which the Machine API does not.
"""

import re
from collections.abc import Sequence
from typing import Final

from windlass.api import capi
from windlass.api.core import Taint
from windlass.machine_sync.conversion.field_errors import FieldError, Findings, dropped, invalid, too_many

PATH: Final = "spec.taints"
ALWAYS: Final = "Always"

_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_AT_MOST: Final = 64
_KEY_LENGTH, _VALUE_LENGTH = 317, 63
_DOMAIN: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/"
_NAME: Final = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_KEY: Final = re.compile(rf"({_DOMAIN})?{_NAME}")
_VALUE: Final = re.compile(_NAME)
"""The patterns of Cluster API's CRDs."""


def cluster_api_taints(
    taints: Sequence[Taint],
) -> tuple[list[capi.Taint], list[FieldError], list[FieldError]]:
    """The taints of a Machine of Cluster API, what is wrong with those that were given, and what is lost of them."""
    made: dict[tuple[str, str], capi.Taint] = {}
    errors: list[FieldError] = []
    losses: list[FieldError] = []
    for place, taint in enumerate(taints):
        path = f"{PATH}[{place}]"
        errors += _invalid(path, taint)
        if taint.time_added:
            losses.append(dropped(f"{path}.timeAdded", taint.time_added, by="Cluster API"))
        new = capi.Taint(key=taint.key, value=taint.value, effect=taint.effect, propagation=ALWAYS)
        first = made.setdefault((taint.key, taint.effect), new)
        if first != new:
            # The Machine API takes the first one too.
            losses.append(dropped(f"{path}.value", taint.value, by="Cluster API", becomes=f"that of {first.key} above"))
    if len(made) > _AT_MOST:
        errors.append(too_many(PATH, len(made), _AT_MOST))
    return [*made.values()], errors, losses


def machine_api_taints(taints: Sequence[capi.Taint], found: Findings) -> list[Taint]:
    """The taints of a Machine of the Machine API; `found` gets what is lost."""
    for place, taint in enumerate(taints):
        if taint.propagation != ALWAYS:
            path, what = f"{PATH}[{place}].propagation", f"{ALWAYS}: a taint that is removed from the Node comes back"
            found.lose(path, taint.propagation, by="the Machine API", becomes=what)
    return [Taint(key=taint.key, value=taint.value, effect=taint.effect) for taint in taints]


def _invalid(path: str, taint: Taint) -> list[FieldError]:
    errors = []
    if len(taint.key) > _KEY_LENGTH or not _KEY.fullmatch(taint.key):
        errors.append(invalid(f"{path}.key", taint.key, "Cluster API takes only keys that labels can have"))
    if taint.value and (len(taint.value) > _VALUE_LENGTH or not _VALUE.fullmatch(taint.value)):
        errors.append(invalid(f"{path}.value", taint.value, "Cluster API takes only values that labels can have"))
    if taint.effect not in _EFFECTS:
        errors.append(invalid(f"{path}.effect", taint.effect, f"must be one of {', '.join(_EFFECTS)}"))
    return errors
