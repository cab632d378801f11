"""Tokens of ServiceAccounts: requested by a plan, given to the next decision, and shown to nobody else."""

import logging
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec import Struct

from windlass.api.authentication import BoundObjectReference, TokenRequestStatus
from windlass.api.core import Secret, ServiceAccount
from windlass.kube.control.executor import Executor
from windlass.kube.control.permissions import Declared, Permission, permission, requests_tokens
from windlass.kube.control.plan import Create, Outcome, Plan, RequestToken, Target
from windlass.kube.control.rounds import Ending, reconcile
from windlass.kube.control.seen import Absent, Seen
from windlass.kube.errors import NotFound, OutcomeUnknown, Undeclared
from windlass.kube.verbs import Api
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader
from windlass.testing.crash import Scenario, crash_everywhere
from windlass.testing.logs import captured

NOW = datetime(2026, 5, 1, tzinfo=UTC)
PULLER = Target(ServiceAccount, "puller", "builds")
LOGIN = Target(Secret, "login", "builds")
TOKEN = "token.builds.puller.registry.example"
"""The token that the model gives."""


def ask(**how: Any) -> RequestToken:
    return RequestToken(target=PULLER, audiences=("registry.example",), seconds=1200, why="to pull", **how)


def world() -> MemoryApi:
    api = MemoryApi(ServiceAccount, Secret, clock=lambda: NOW)
    api.load({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "puller", "namespace": "builds"}})
    return api


class Snapshot(Struct, frozen=True):
    login: Seen[Secret]
    last: Outcome


def decide(seen: Snapshot, *, now: datetime) -> Plan:
    """Keep a login with a token."""
    given = next((result.answer for result in seen.last.results if isinstance(result.answer, TokenRequestStatus)), None)
    if not isinstance(seen.login, Absent):
        return Plan.nothing("there is a login")
    if given is None:
        return Plan.of(ask())
    return Plan.of(Create(target=LOGIN, body={"data": {"token": given.token}}))


async def settle(api: Api, reader: MemoryReader) -> Ending:
    async def observe(_: str, last: Outcome) -> Snapshot:
        return Snapshot(await reader.see(Secret, "login", namespace="builds", confirm=True), last)

    executor = Executor(api, ledger=reader)
    return await reconcile("login", observe=observe, decide=decide, executor=executor, now=lambda: NOW)


async def test_the_next_decision_gets_the_token_and_when_it_expires() -> None:
    outcome = await Executor(world()).apply(Plan.of(ask()))
    answer = outcome.results[0].answer
    assert answer == TokenRequestStatus(token=TOKEN, expiration_timestamp=datetime(2026, 5, 1, 0, 20, tzinfo=UTC))
    api = world()
    assert not (await settle(api, MemoryReader(api))).failed
    login = api.peek(Secret, "login", namespace="builds")
    assert login is not None
    assert login.decode().data == {"token": TOKEN}


async def test_no_text_has_the_token(caplog: pytest.LogCaptureFixture) -> None:
    plan = Plan.of(ask())
    with captured() as logged, caplog.at_level(logging.DEBUG):
        outcome = await Executor(world()).apply(plan)
    assert outcome.results[0].answer.token == TOKEN
    texts = (plan, repr(plan), repr(outcome), *outcome.results, *plan.actions[0].diff(), logged, caplog.text)
    assert not [text for text in map(str, texts) if TOKEN in text]


def test_the_plan_says_for_whom_for_which_services_for_how_long_and_for_which_pod() -> None:
    action = ask(bound=BoundObjectReference(kind="Pod", api_version="v1", name="build-7"))
    assert str(action) == "request a token for ServiceAccount.core builds/puller: to pull"
    assert {change.path: change.after for change in action.diff()} == {
        "audiences": ["registry.example"],
        "expirationSeconds": 1200,
        "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "build-7"},
    }


@pytest.mark.parametrize(
    "declared",
    [
        (),
        (permission(ServiceAccount, "create", "patch"),),
        (requests_tokens("deployer", namespace="builds"),),
        (requests_tokens("puller", namespace="elsewhere"),),
    ],
)
async def test_a_token_needs_the_declared_right_to_it(declared: tuple[Permission, ...]) -> None:
    outcome = await Executor(world(), permits=Declared(declared)).apply(Plan.of(ask()))
    assert isinstance(outcome.error, Undeclared)
    assert "create serviceaccounts/token 'puller' in builds" in str(outcome.error)
    allowed = Declared((requests_tokens("puller", namespace="builds"),))
    assert (await Executor(world(), permits=allowed).apply(Plan.of(ask()))).error is None


class Deaf:
    """A ledger that may not be told anything."""

    def wrote(self, _: object) -> None:
        raise AssertionError

    removed = doubt = wrote


async def test_a_request_that_fails_says_nothing_about_the_service_account() -> None:
    api = world()
    executor = Executor(api, ledger=Deaf())
    api.lose_answer_next("request_token", ServiceAccount)
    assert isinstance((await executor.apply(Plan.of(ask()))).error, OutcomeUnknown)
    nobody = RequestToken(target=Target(ServiceAccount, "nobody", "builds"))
    assert isinstance((await executor.apply(Plan.of(nobody))).error, NotFound)


async def test_a_crash_around_the_request_is_harmless() -> None:
    report = await crash_everywhere(lambda: Scenario(world(), settle))
    assert report.points == 4, "before and after the token, before and after the Secret"
    assert TOKEN in str(report.end["Secret.v1 builds/login"])
