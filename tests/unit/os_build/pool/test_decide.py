"""What is decided about a pool and is no story: what is not said or done a second time."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.unit.os_build.fake import FakeBackend, FakeBuilders
from tests.unit.os_build.pool.snapshots import NOW, PROBLEM, TIMING, build, failed, of_pool, seen
from windlass.api.meta import ObjectMeta
from windlass.kube.control.plan import Call, Emit, Merge, Plan, RequeueAfter
from windlass.kube.control.seen import Absent, NotServedKind, Seen, Unreadable
from windlass.os_build.builder import Cause, Phase
from windlass.os_build.credentials import Auths, Secrets
from windlass.os_build.pool.decide import decide
from windlass.os_build.pool.snapshot import Materials, PoolSnapshot
from windlass.os_build.registry.answers import Answer, Kind
from windlass.os_build.request import BackendName

NOBODY = Secrets(Auths({}, b""), Auths({}, b""), "v1")


def decided(given: PoolSnapshot) -> Plan:
    backends = {name: FakeBackend(FakeBuilders(), name=name) for name in (BackendName.OPENSHIFT, BackendName.JOB)}
    return decide(given, now=NOW, backends=backends, timing=TIMING)


def afterwards(plan: Plan) -> dict[str, Any]:
    """The pool with what the plan writes to its status."""
    [merge] = [action for action in plan.actions if isinstance(action, Merge) and action.part == "status"]
    return {**of_pool(), "status": merge.desired["status"]}


def events(plan: Plan) -> list[str]:
    return [action.reason for action in plan.actions if isinstance(action, Emit)]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        pytest.param({"request": PROBLEM}, "ConfigurationInvalid", id="a request that is wrong"),
        pytest.param({"builds": (build(Phase.RUNNING),)}, "BuildStarted", id="a build that runs"),
        pytest.param({"builds": (failed(Cause.STEP),)}, "BuildFailed", id="a build that failed"),
        pytest.param(
            {"materials": Materials(NOBODY, Answer(Kind.DENIED, "no"))}, "PushRefused", id="a push that is refused"
        ),
        pytest.param(
            {"materials": Materials(NOBODY, Answer(Kind.GRANTED, ""), PROBLEM)},
            "BuildFailed",
            id="inputs that are wrong",
        ),
    ],
)
def test_an_event_is_emitted_with_the_news_and_never_again(fields: dict[str, Any], reason: str) -> None:
    builds = fields.pop("builds", ())
    first = decided(seen(of_pool(), *builds, **fields))
    assert events(first) == [reason]
    second = decided(seen(afterwards(first), *builds, **fields))
    assert (events(second), second.needed) == ([], ())


@pytest.mark.parametrize(
    ("pool", "removed"),
    [
        pytest.param(Absent(confirmed=True), ["its pool is gone"], id="the API server says that it is gone"),
        pytest.param(Absent(), [], id="no cache has it"),
        pytest.param(NotServedKind("its CRD is being replaced"), [], id="its kind is not served"),
        pytest.param(Unreadable(ObjectMeta(name="worker"), "spec.paused"), [], id="it cannot be read"),
    ],
)
def test_builders_are_removed_only_if_the_pool_is_known_to_be_gone(pool: Seen[Any], removed: list[str]) -> None:
    plan = decided(replace(seen(None, build(Phase.RUNNING)), pool=pool))
    assert [action.why for action in plan.actions] == removed


def test_what_is_being_removed_is_not_removed_again() -> None:
    superseded = build(Phase.RUNNING, inputs="other")
    assert [action.why for action in decided(seen(of_pool(), superseded)).actions] == [
        "the pool asks for another image"
    ]
    ending = build(Phase.RUNNING, inputs="other", ending=True)
    assert not any(isinstance(action, Call) for action in decided(seen(of_pool(), ending)).actions)


def test_a_registry_that_refuses_is_asked_again_since_rights_change_there() -> None:
    refused = decided(seen(of_pool(), materials=Materials(NOBODY, Answer(Kind.UNKNOWN, "no such repository"))))
    assert refused.next == RequeueAfter(TIMING.ask_again, "ask the registry again")
