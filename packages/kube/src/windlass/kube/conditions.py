"""Pure functions that find and set conditions.

A condition states one aspect of an object (`type`, `status` True/False/Unknown), why in one word for programs
(`reason`) and in a sentence for people (`message`), and when the status last changed. The rules that every function
here keeps:

* there is one condition of a type in a list, and its place in the list does not change;
* `lastTransitionTime` moves when `status` does, and at no other time;
* `reason` is never empty (the API refuses it);
* an unchanged condition is returned as it is, so that comparing finds nothing to write; a changed one replaces the
  old one whole.

A condition may be any Struct with these fields (`windlass.api.meta.Condition`, the Machine API's, which has a severity)
or a plain tree; a list keeps the form that it has.

    from windlass.kube.conditions import condition, put

    before = machine.status.conditions
    synced = condition("Synchronized", False, "FailedToConvert", "spec.taints cannot be expressed")
    after = put(before, synced, now=now)

| function | gives |
|---|---|
| `condition(type, status, reason, message)` | a condition without a time, as `put` takes it |
| `find(conditions, type)` | the one of that type, or None |
| `status_of(conditions, type)`, `is_true(conditions, type)` | what it says; a missing one is unknown |
| `put(conditions, new, now=...)` | the list with `new` in it |

Source: Kubernetes API conventions, "Typical status properties"; `meta.SetStatusCondition` of apimachinery.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import msgspec

from windlass.api.meta import Condition
from windlass.kube import decoding
from windlass.kube.clock import rfc3339

Status: TypeAlias = Literal["True", "False", "Unknown"]


class Conditional(Protocol):
    """A Struct that is a condition."""

    @property
    def type(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def last_transition_time(self) -> str | None: ...


AnyCondition: TypeAlias = Conditional | Mapping[str, Any]
C = TypeVar("C", bound=AnyCondition)

TRUE: Status = "True"
FALSE: Status = "False"
UNKNOWN: Status = "Unknown"


def condition(
    type: str,  # noqa: A002 - the word of the field
    status: Status | bool | None,
    reason: str,
    message: str = "",
    *,
    observed_generation: int = 0,
) -> Condition:
    """A condition that has no time yet. `status` True, False or None stand for True, False and Unknown."""
    if not reason:
        raise ValueError(f"condition {type} has no reason: the API requires one")
    return Condition(
        type=type,
        status=status if isinstance(status, str) else UNKNOWN if status is None else str(status),
        reason=reason,
        message=message,
        observed_generation=observed_generation,
    )


def find(conditions: Iterable[C], type: str) -> C | None:  # noqa: A002
    """The condition of this type, or None."""
    return next((each for each in conditions if _text(each, "type") == type), None)


def status_of(conditions: Iterable[AnyCondition], type: str) -> Status:  # noqa: A002
    """True, False or Unknown; Unknown also if there is no such condition."""
    found = find(conditions, type)
    match _text(found, "status") if found is not None else "":
        case "True":
            return TRUE
        case "False":
            return FALSE
    return UNKNOWN


def is_true(conditions: Iterable[AnyCondition], type: str) -> bool:  # noqa: A002
    return status_of(conditions, type) == TRUE


def put(conditions: Sequence[C], new: AnyCondition, *, now: datetime) -> list[C]:
    """The list with `new` in the place of the one of its type, or at the end.

    If `new` has a time, that is when its status changed (a mirrored condition has its own); else it is `now`.
    Raises ValueError if `new` has no reason.
    """
    wanted = _text(new, "type")
    if not _text(new, "reason"):
        raise ValueError(f"condition {wanted} has no reason: the API requires one")
    result = list(conditions)
    for place, old in enumerate(result):
        if _text(old, "type") == wanted:
            since = _time(old) if _text(old, "status") == _text(new, "status") else None
            if not since or _content(old) != _content(new):
                result[place] = _in_the_form_of(old, new, since or _time(new) or rfc3339(now))
            return result
    result.append(_in_the_form_of(result[0] if result else new, new, _time(new) or rfc3339(now)))  # type: ignore[arg-type]
    return result


def _text(one: AnyCondition, name: str) -> str:
    value = one.get(name) if isinstance(one, Mapping) else getattr(one, name)
    return value or ""


def _time(one: AnyCondition) -> str | None:
    return one.get("lastTransitionTime") if isinstance(one, Mapping) else one.last_transition_time


def _content(one: AnyCondition) -> dict[str, Any]:
    """Everything but the time; absent and empty are the same."""
    return {name: value for name, value in _tree(one).items() if value and name != "lastTransitionTime"}


def _tree(one: AnyCondition) -> dict[str, Any]:
    tree: dict[str, Any] = dict(one) if isinstance(one, Mapping) else msgspec.to_builtins(one)
    return tree


def _in_the_form_of(pattern: C, new: AnyCondition, since: str) -> C:
    """`new`, a Struct of the type of `pattern` or a tree as that one is."""
    tree: Any = {**_tree(new), "lastTransitionTime": since}
    return tree if isinstance(pattern, Mapping) else decoding.convert(tree, type(pattern))
