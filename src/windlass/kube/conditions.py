"""Pure functions that find, set, merge, mirror and summarise conditions.

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

    from windlass.kube.conditions import condition, find, put, summarise

    before = machine.status.conditions
    synced = condition("Synchronized", False, "FailedToConvert", "spec.taints cannot be expressed")
    after = put(before, synced, now=now)

| function | gives |
|---|---|
| `condition(type, status, reason, message)` | a condition without a time, as `put` takes it |
| `find(conditions, type)` | the one of that type, or None |
| `status_of(conditions, type)`, `is_true(conditions, type)` | what it says; a missing one is unknown |
| `put(conditions, new, now=...)` | the list with `new` in it |
| `merge(conditions, *news, now=...)` | the same for several |
| `drop(conditions, *types)` | the list without them |
| `mirror(source, as_type=..., fallback=...)` | another object's condition, as a condition of ours |
| `summarise(conditions, of=..., as_type=...)` | one condition: whether all are well, and which are not |

Source: Kubernetes API conventions, "Typical status properties"; `meta.SetStatusCondition` of apimachinery.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import msgspec
from msgspec import structs

from windlass.api.meta import Condition
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


def merge(conditions: Sequence[C], *news: AnyCondition, now: datetime) -> list[C]:
    """The list with each of `news` put into it, in turn."""
    result = list(conditions)
    for new in news:
        result = put(result, new, now=now)
    return result


def drop(conditions: Iterable[C], *types: str) -> list[C]:
    """The list without the conditions of these types."""
    return [each for each in conditions if _text(each, "type") not in types]


def mirror(source: AnyCondition | None, *, as_type: str, fallback: Condition) -> Condition:
    """Another object's condition, as a condition of type `as_type` with its `lastTransitionTime`.

    `fallback` replaces a missing condition; its reason replaces a missing reason (older APIs allow that).
    """
    if source is None:
        return structs.replace(fallback, type=as_type)
    return Condition(
        type=as_type,
        status=_text(source, "status") or UNKNOWN,
        reason=_text(source, "reason") or fallback.reason,
        message=_text(source, "message"),
        last_transition_time=_time(source),
    )


def summarise(
    conditions: Sequence[AnyCondition],
    *,
    of: Sequence[str],
    as_type: str,
    negative: Sequence[str] = (),
    well: str = "AllWell",
    unwell: str = "NotWell",
    unclear: str = "Unclear",
    observed_generation: int = 0,
) -> Condition:
    """One condition for many: True if all of types `of` are well, False if one is unwell, else Unknown.

    Types in `negative` are well when False (`Degraded`, `Deleting`). The message has a line for each unwell one, then
    for each unknown one: `* Ready: the node does not answer`. If there is only one cause, its reason is used.
    """
    unwell_types, unclear_types = [], []
    for wanted in of:
        status = status_of(conditions, wanted)
        if status == UNKNOWN:
            unclear_types.append(wanted)
        elif status != (FALSE if wanted in negative else TRUE):
            unwell_types.append(wanted)
    if not unwell_types and not unclear_types:
        return condition(as_type, TRUE, well, observed_generation=observed_generation)
    causes = unwell_types or unclear_types
    only = find(conditions, causes[0]) if len(causes) == 1 else None
    return condition(
        as_type,
        FALSE if unwell_types else UNKNOWN,
        (_text(only, "reason") if only is not None else "") or (unwell if unwell_types else unclear),
        "\n".join(_line(wanted, find(conditions, wanted)) for wanted in (*unwell_types, *unclear_types)),
        observed_generation=observed_generation,
    )


def _line(wanted: str, found: AnyCondition | None) -> str:
    if found is None:
        return f"* {wanted}: not reported"
    return f"* {wanted}: {_text(found, 'message') or _text(found, 'reason') or _text(found, 'status')}"


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
    return tree if isinstance(pattern, Mapping) else msgspec.convert(tree, type(pattern))
