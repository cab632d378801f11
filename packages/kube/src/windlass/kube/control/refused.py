"""Tells people which write the API server refused, in its own words, and what to do about it.

    manager.start(lambda reader: reporting(widget_controller(reader), OnWidget()))

A refusal reaches `decide` once (`windlass.kube.control.rounds`). If `decide` plans the same write again, it has nothing
to say about the refusal: then `reporting` reports it, and the write is tried again with growing delays. A `decide` that
turns a refusal into a condition of its own plans no such write, and its plan is carried out as it is.

| the API server's answer | remedy |
|---|---|
| an admission webhook cannot be called | start what serves it, or remove its configuration |
| an admission webhook refuses | what the webhook says, or its owner |
| an admission policy refuses | the same |
| a quota is exceeded | raise it, or delete something that it counts |
| RBAC, or admission in other words | grant the right, or correct the policy |
| anything else, such as Invalid | correct what the message names |
"""

import re
from collections.abc import Callable, Hashable
from datetime import datetime
from typing import Any, Final, Protocol, TypeVar

from msgspec.structs import replace

from windlass.kube.control.controller import Controller
from windlass.kube.control.plan import Action, Create, Delete, Emit, Outcome, Plan, Result, Target
from windlass.kube.control.question import Asking
from windlass.kube.errors import Failure, Forbidden, WebhookFailed
from windlass.kube.shorten import shortened

LONGEST: Final = 1024
"""Characters of the server's message that are told."""

_QUOTA: Final = "exceeded quota"
_WEBHOOK: Final = "admission webhook "
_POLICY: Final = "ValidatingAdmissionPolicy '"
_OWN_PORT: Final = re.compile(r":\d+->")
"""In `read udp 10.0.0.2:45678->10.96.0.10:53`: another one at each attempt, so the text would change each time."""

Key = TypeVar("Key", bound=Hashable)
SnapshotT = TypeVar("SnapshotT", contravariant=True)


class RefusalReporter(Protocol[SnapshotT]):
    """Where the objects of a controller say what was refused."""

    def refused(self, seen: SnapshotT, before: Plan, text: str, /, *, now: datetime) -> Plan:
        """Tell it. `before` is what the decision plans before the write that was refused."""
        ...

    def decided(self, seen: SnapshotT, plan: Plan, /) -> Plan:
        """The plan of a decision that was made without a refusal."""
        ...


class Round(Asking, frozen=True, kw_only=True):
    """A snapshot, and the outcome of the round before."""

    snapshot: Any
    last: Outcome

    @property
    def answered(self) -> Any:
        """The snapshot, with the answers that its decision asked for."""
        asks = isinstance(self.snapshot, Asking)
        return replace(self.snapshot, answers=self.answers) if asks else self.snapshot


def reporting(made: Controller[Key, Any], reporter: RefusalReporter[Any]) -> Controller[Key, Round]:
    """The controller, with refusals told that it does not decide about itself."""

    async def observe(key: Key, last: Outcome) -> Round:
        return Round(snapshot=await made.observe(key, last), last=last)

    def decide(seen: Round, *, now: datetime) -> Plan:
        plan, refusal = made.decide(seen.answered, now=now), seen.last.refusal
        if refusal is None:
            return reporter.decided(seen.snapshot, plan)
        place = next((place for place, each in enumerate(plan.needed) if repeats(each, refusal.action)), None)
        if place is None:
            return plan
        text = refusal_text(refusal)
        return reporter.refused(seen.snapshot, Plan(plan.needed[:place]), text, now=now).retry(text)

    return replace(made, observe=observe, decide=decide)


class ByEvent:
    """Tells by an Event where no condition can. `about` is the object of a snapshot, `source` who tells."""

    def __init__(self, source: str, about: Callable[[Any], Target | None]) -> None:
        self._source = source
        self._about = about

    def refused(self, seen: Any, before: Plan, text: str, /, *, now: datetime) -> Plan:
        aim = self._about(seen)
        if aim is None:
            return before
        event = Emit(target=aim, type="Warning", reason="WriteRefused", note=text, source=self._source)
        return Plan.of(*before.actions, event)

    def decided(self, seen: Any, plan: Plan, /) -> Plan:
        return plan


def repeats(action: Action, refused: Action) -> bool:
    """It is the same kind of write to the same object."""
    one, other = action.target, refused.target
    same = (one.kind, one.namespace, one.name) == (other.kind, other.namespace, other.name)
    return same and (type(action), action.subresource) == (type(refused), refused.subresource)


def refusal_text(refusal: Result) -> str:
    """What was refused, the server's message, and the remedy."""
    action, error = refusal.action, refusal.error
    match action:
        case Create():
            what = "create"
        case Delete():
            what = "delete"
        case _:
            what = "change" if not action.subresource else f"change the {action.subresource} of"
    said = shortened(_OWN_PORT.sub("->", str(error)), LONGEST)
    return f"The API server refuses to {what} {action.target}: {said}. {remedy(error)}"


def remedy(error: Failure | None) -> str:
    """What people can do about it, as a sentence."""
    text = str(error)
    if isinstance(error, WebhookFailed):
        return (
            "Start what serves this webhook; if it was removed, save and delete the ValidatingWebhookConfiguration "
            "or MutatingWebhookConfiguration that names it."
        )
    if text.startswith(_WEBHOOK):
        return "Correct what the webhook names, or ask its owner."
    if _POLICY in text:
        return "Correct what the policy names, or ask its owner."
    if _QUOTA in text:
        return "Raise that ResourceQuota, or delete something that it counts."
    if isinstance(error, Forbidden):
        return "Grant the right that is missing, or correct the admission policy or webhook that says no."
    return "Correct what the message names."
