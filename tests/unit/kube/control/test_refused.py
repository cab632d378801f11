"""A refused write is told where `decide` has nothing to say about it, with the server's words and a remedy."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.unit.kube.widgets import NAMESPACE, Widget, widget
from windlass.api.core import Event
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.executor import Executor
from windlass.kube.control.plan import (
    Call,
    Create,
    Emit,
    Evict,
    Merge,
    Outcome,
    Plan,
    Request,
    Result,
    Retry,
    Target,
)
from windlass.kube.control.refused import ByEvent, refusal_text, reporting
from windlass.kube.control.rounds import Ending
from windlass.kube.errors import KubeError, Status, StatusCause, StatusDetails, TransportError, api_error
from windlass.model import MemoryApi

NOW = datetime(2026, 5, 1, tzinfo=UTC)
AIM = Target(Widget, "w", NAMESPACE, "u", "7")
OWNER = Target(Widget, "owner", NAMESPACE, "o", "1")
CHANGE = Merge(target=AIM, observed={}, desired={"spec": {"size": 1}})


def answer(code: int, message: str) -> KubeError:
    return api_error(Status("Failure", message, "", code))


def not_called(port: int = 40000) -> KubeError:
    why = f"failed to call webhook: dial tcp: read udp 10.0.0.2:{port}->10.96.0.10:53: i/o timeout"
    return answer(500, f'Internal error occurred: failed calling webhook "check.example.com": {why}')


class AskBucket(Request, frozen=True):
    SYSTEM = "buckets"


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (not_called(), "Start what serves this webhook; if it was removed, save and delete the"),
        (answer(403, 'admission webhook "c" denied the request: no'), "Correct what the webhook names"),
        (
            answer(422, "w is forbidden: ValidatingAdmissionPolicy 'p' denied request: no"),
            "Correct what the policy names",
        ),
        (answer(403, "w is forbidden: exceeded quota: small"), "Raise that ResourceQuota"),
        (answer(403, 'widgets "w" is forbidden: User "x" cannot patch'), "Grant the right that is missing"),
        (answer(422, "spec.size: Invalid value: 1"), "Correct what the message names"),
    ],
)
def test_each_refusal_has_its_remedy(error: KubeError, remedy: str) -> None:
    text = refusal_text(Result(CHANGE, error))
    assert text.startswith("The API server refuses to change Widget.example.com shop/w: ")
    assert f". {remedy}" in text


def test_the_text_is_the_same_at_each_attempt() -> None:
    assert refusal_text(Result(CHANGE, not_called(40000))) == refusal_text(Result(CHANGE, not_called(50001)))


BUDGET = StatusDetails(causes=[StatusCause("DisruptionBudget", "budget shop needs 1 healthy pods")])


@pytest.mark.parametrize(
    ("result", "is_refusal"),
    [
        (Result(CHANGE, answer(403, "no")), True),
        (Result(CHANGE, not_called()), True),
        (Result(CHANGE), False),
        (Result(CHANGE, TransportError("nobody listens")), False),
        (Result(Call(target=AIM, request=AskBucket()), answer(403, "no")), False),
        (Result(Evict(target=AIM), api_error(Status(code=429, details=BUDGET))), False),
        (Result(Evict(target=AIM), answer(403, "no")), True),
    ],
)
def test_only_a_write_that_the_api_server_refused_is_a_refusal(result: Result, is_refusal: bool) -> None:
    assert (Outcome((result,)).refusal is not None) is is_refusal


class Loop:
    """A controller of the widget `w` that tells its refusals by Events about its owner."""

    def __init__(self, decide: Callable[[Outcome], Plan]) -> None:
        self.api = MemoryApi(Widget, Event)
        plain = Controller(
            name="widgets",
            watches=(Watch(Widget, lambda found: [found.key]),),
            observe=self._observe,
            decide=lambda seen, *, now: decide(seen),
        )
        self.controller = reporting(plain, ByEvent("windlass", lambda _: OWNER))

    async def _observe(self, key: Any, last: Outcome) -> Outcome:
        return last

    async def attempt(self) -> Ending:
        made = self.controller
        return await made.reconcile((NAMESPACE, "w"), executor=Executor(self.api), now=lambda: NOW)

    def events(self) -> list[str]:
        return [each.decode().message for each in self.api.listing(Event)]


def create(last: Outcome) -> Plan:
    return Plan.of(Create(target=Target(Widget, "w", NAMESPACE), body=widget("w", size=1)))


async def test_a_refusal_that_is_not_decided_about_is_told_and_tried_again() -> None:
    loop = Loop(create)
    loop.api.fail_next("create", Widget, not_called())
    ending = await loop.attempt()
    (said,) = loop.events()
    assert said.startswith(
        "The API server refuses to create Widget.example.com shop/w: Internal error occurred: failed"
    )
    assert ending.next == Retry(said)


async def test_it_is_told_once() -> None:
    loop = Loop(create)
    loop.api.fail_next("create", Widget, not_called(), times=9)
    for _ in range(3):
        assert (await loop.attempt()).failed
    assert len(loop.events()) == 1


async def test_a_decision_about_a_refusal_stands() -> None:
    def decide(last: Outcome) -> Plan:
        if last.error is None:
            return create(last)
        return Plan.of(Emit(target=OWNER, type="Warning", reason="Own", note="told", source="me")).retry("told")

    loop = Loop(decide)
    loop.api.fail_next("create", Widget, answer(403, "no"))
    assert (await loop.attempt()).next == Retry("told")
    assert loop.events() == ["told"]


async def test_other_writes_before_the_refused_one_are_carried_out() -> None:
    other = Create(target=Target(Widget, "other", NAMESPACE), body=widget("other", size=1))

    def decide(last: Outcome) -> Plan:
        first = other if last.refusal is not None else None
        return Plan.of(first, *create(last).actions)

    loop = Loop(decide)
    loop.api.fail_next("create", Widget, answer(403, "no"), name="w")
    await loop.attempt()
    assert loop.api.peek(Widget, "other", namespace=NAMESPACE) is not None
    assert loop.api.peek(Widget, "w", namespace=NAMESPACE) is None
