"""Prints plans for people: each action, its reason and its fields, in the form of `git diff`.

machine/worker-0
  merge Machine.machine.openshift.io openshift-machine-api/worker-0: the Cluster API Machine changed
    - metadata.labels.zone: "a"
    + metadata.labels.zone: "b"
  then look again at once
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click
import msgspec

from windlass.capability.conventions.ages import human
from windlass.capability.conventions.terminal import paint
from windlass.capability.planning import KeyPlan
from windlass.capability.planning.fields import field_changes
from windlass.capability.planning.following import Course
from windlass.kube.control.merge import FieldChange
from windlass.kube.control.plan import Action, Done, Next, RequeueAfter, Result, Retry, WaitFor
from windlass.kube.errors import Withheld
from windlass.kube.foreign import harmless

INDENT = "  "


def lines(plan: KeyPlan | Course, *, colour: bool, questions: bool = False) -> list[str]:
    """The plan of one key below its name. `questions`: what was asked comes first, a line for what was asked
    together."""
    name = harmless(f"{plan.kind.lower()}/{plan.name}")
    heading = click.style(name, bold=True) if colour else name
    asked = plan.questions if questions and isinstance(plan, KeyPlan) else ()
    told = (f"asked: {', '.join(map(harmless, some))}" for some in asked)
    return [heading, *(f"{INDENT}{line}" for line in (*told, *body(plan, colour=colour)))]


def body(plan: KeyPlan | Course, *, colour: bool) -> list[str]:
    """The plan of one key alone."""
    if isinstance(plan, Course):
        return [
            *_rounds(plan.rounds, colour=colour),
            _last(plan.next, acted=bool(plan.rounds), at_rest=True, colour=colour),
        ]
    if plan.error is not None:
        return [paint(f"no plan: {harmless(str(plan.error))}", "red", on=colour)]
    acts = [line for action in plan.actions for line in _action(action, colour=colour)]
    return [*acts, _last(plan.next, acted=bool(plan.actions), colour=colour)]


def nothing_to_do(counted: Mapping[str, int]) -> str:
    """One line for all objects for which there is nothing to do."""
    what = [f"1 {kind}" if count == 1 else f"{count} {kind}s" for kind, count in sorted(counted.items())]
    return f"Nothing to do for {' and '.join(what)}."


def coming(coming: Next) -> str:
    """The next step after the actions, in words."""
    match coming:
        case RequeueAfter(seconds=seconds, why=why):
            return f"look again in {human(round(seconds))}{_because(why)}"
        case WaitFor(what=what, safety=safety):
            return f"wait for {harmless(what)} (look again in {human(round(safety))} at the latest)"
        case Retry(error=error):
            return f"try again, with growing delays{_because(error)}"
        case _:
            return "look again at once"


def _last(following: Next, *, acted: bool, colour: bool, at_rest: bool = False) -> str:
    if isinstance(following, Done) and not acted:
        return f"nothing to do{_because(following.note)}"
    if isinstance(following, Done) and at_rest:
        return f"then nothing is left to do{_because(following.note)}"
    text = f"then {coming(following)}" if acted else coming(following)
    return paint(text, "yellow" if isinstance(following, Retry) else None, on=colour)


def _because(why: str) -> str:
    return f": {harmless(why)}" if why else ""


def _rounds(rounds: Sequence[Sequence[Result]], *, colour: bool) -> Iterator[str]:
    for number, tried in enumerate(rounds, start=1):
        yield f"round {number}"
        for result in tried:
            yield from (f"{INDENT}{line}" for line in _action(result.action, colour=colour))
            if result.error is not None:
                what, shade = ("not sent", "yellow") if isinstance(result.error, Withheld) else ("refused", "red")
                yield paint(f"{INDENT}{INDENT}{what}: {harmless(str(result.error))}", shade, on=colour)


def _action(action: Action, *, colour: bool) -> Iterator[str]:
    yield paint(harmless(str(action)), "cyan", on=colour)
    for change in field_changes(action):
        yield from (f"{INDENT}{line}" for line in _change(change, colour=colour))


def _change(change: FieldChange, *, colour: bool) -> Iterator[str]:
    if change.before is not None:
        yield paint(f"- {harmless(change.path)}: {_value(change.before)}", "red", on=colour)
    if change.after is not None:
        yield paint(f"+ {harmless(change.path)}: {_value(change.after)}", "green", on=colour)


def _value(value: Any) -> str:
    return harmless(msgspec.json.encode(value).decode())
