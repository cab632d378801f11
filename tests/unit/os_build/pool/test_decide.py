"""What is decided about a pool and is no story: what is not said or done a second time."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.unit.os_build.fake import FakeBackend, FakeBuilders
from tests.unit.os_build.pool.snapshots import LONG_AGO, NOW, PROBLEM, REQUEST, TIMING, build, failed, of_pool, seen
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.api.meta import ObjectMeta
from windlass.kube.control.plan import Call, Emit, Merge, Plan, RequeueAfter
from windlass.kube.control.question import Answers, Confirmed, Needs, Question
from windlass.kube.control.seen import Absent, NotServedKind, Seen, Unreadable
from windlass.os_build.builder import BuildState, Cause, Phase
from windlass.os_build.credentials import Auths
from windlass.os_build.inputs.context import Context
from windlass.os_build.pool.decide import decide, plan_of
from windlass.os_build.pool.questions import Answered, Credentials, Rendered, Unfit, push_credentials
from windlass.os_build.pool.snapshot import PoolFacts, PoolSnapshot, Settings
from windlass.os_build.registry.answers import Answer, Kind
from windlass.os_build.request import PULL_SECRET, BackendName
from windlass.os_build.turns import Turn

NOBODY = Auths({}, b"")
PULL = Credentials("pull", PULL_SECRET, "", "v1")
PUSH = push_credentials(REQUEST, "v1")
PROBE = Answered(str(REQUEST.target), "v1")
TURN = Turn("worker", LONG_AGO)
BACKENDS = {name: FakeBackend(FakeBuilders(), name=name) for name in (BackendName.OPENSHIFT, BackendName.JOB)}


def decided(given: PoolFacts) -> Plan:
    return plan_of(given, now=NOW, backends=BACKENDS, timing=TIMING)


def told(answers: dict[Question[Any], Any]) -> Answers:
    """These answers, and Secrets without credentials."""
    return Answers.of({PULL: NOBODY, PUSH: NOBODY, TURN: None, **answers}, at=NOW)


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
        pytest.param({"answers": told({PROBE: Answer(Kind.DENIED, "no")})}, "PushRefused", id="a push that is refused"),
        pytest.param(
            {"answers": told({PROBE: Answer(Kind.GRANTED, "")}), "unfit": PROBLEM},
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
        pytest.param(NotServedKind("its CRD is being replaced"), [], id="its kind is not served"),
        pytest.param(Unreadable(ObjectMeta(name="worker"), "spec.paused"), [], id="it cannot be read"),
    ],
)
def test_builders_are_removed_only_if_the_pool_is_known_to_be_gone(pool: Seen[Any], removed: list[str]) -> None:
    plan = decided(replace(seen(None, build(Phase.RUNNING)), pool=pool))
    assert [action.why for action in plan.actions] == removed


def test_a_pool_that_no_cache_has_is_looked_for_before_its_builders_are_removed() -> None:
    with pytest.raises(Needs) as needs:
        decide(
            PoolSnapshot(name="worker", builds=(build(Phase.RUNNING),)), now=NOW, backends=BACKENDS, settings=Settings()
        )
    assert needs.value.questions == (Confirmed(MachineConfigPool, "worker"),)


ASKS: list[tuple[dict[Question[Any], Any], tuple[Question[Any], ...]]] = [
    ({}, (PULL, PUSH)),
    ({PULL: NOBODY, PUSH: NOBODY}, (PROBE,)),
    ({PULL: NOBODY, PUSH: NOBODY, PROBE: Answer(Kind.GRANTED, "")}, (TURN,)),
    ({PULL: NOBODY, PUSH: NOBODY, PROBE: Answer(Kind.GRANTED, ""), TURN: None}, (Rendered(REQUEST),)),
]


@pytest.mark.parametrize(("known", "asks"), ASKS, ids=["the Secrets", "the registry", "its turn", "the context"])
def test_a_build_that_is_due_asks_for_its_secrets_then_for_the_right_to_push_and_last_for_its_context(
    known: dict[Question[Any], Any], asks: tuple[Question[Any], ...]
) -> None:
    with pytest.raises(Needs) as needs:
        decided(seen(of_pool(), answers=Answers.of(known, at=NOW)))
    assert needs.value.questions == asks


def test_a_context_that_its_backend_cannot_build_is_noted_so_that_it_is_not_rendered_again() -> None:
    context = Context({"Containerfile": b"x" * 2_000_000})
    with pytest.raises(Needs) as needs:
        decided(seen(of_pool(), answers=told({PROBE: Answer(Kind.GRANTED, ""), Rendered(REQUEST): context})))
    [note] = needs.value.questions
    assert isinstance(note, Unfit)
    assert note.about == (REQUEST, BackendName.JOB)


def test_what_is_being_removed_is_not_removed_again() -> None:
    def removed(superseded: BuildState) -> list[str]:
        plan = decided(seen(of_pool(), superseded, answers=told({PROBE: Answer(Kind.DENIED, "no")})))
        return [action.why for action in plan.actions if isinstance(action, Call)]

    assert removed(build(Phase.RUNNING, inputs="other")) == ["the pool asks for another image"]
    assert removed(build(Phase.RUNNING, inputs="other", ending=True)) == []


def test_a_registry_that_refuses_is_asked_again_since_rights_change_there() -> None:
    refused = decided(seen(of_pool(), answers=told({PROBE: Answer(Kind.UNKNOWN, "no such repository")})))
    assert refused.next == RequeueAfter(TIMING.ask_again, "ask the registry again")
