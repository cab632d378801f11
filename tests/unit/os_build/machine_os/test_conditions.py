"""How a build reads on its MachineOSBuild and on the pool: the operator's tables, row by row."""

from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.explore import examples
from tests.unit.os_build.machine_os.samples import DIGEST, NOW, REPOSITORY, machine_os_build
from windlass.api.machineosconfig import MachineOSBuildStatus
from windlass.kube.clock import rfc3339
from windlass.os_build.backends.job import job_named
from windlass.os_build.builder import BuildState, Phase
from windlass.os_build.machine_os.conditions import (
    State,
    image_build_degraded,
    may_move,
    moved,
    reused,
    state_of,
    state_of_build,
    vector,
)
from windlass.os_build.pullspec import Target
from windlass.os_build.request import BackendName

TARGET = Target.parse(REPOSITORY)
ENDS = (State.SUCCEEDED, State.FAILED, State.INTERRUPTED)


def build(phase: Phase, **changes: Any) -> BuildState:
    usual: dict[str, Any] = {"digest": DIGEST if phase is Phase.SUCCEEDED else "", "backend": BackendName.JOB}
    usual["builder"] = job_named("build-worker-1")
    return BuildState(**{"name": "build-worker-1", "pool": "worker", "inputs": "i", "phase": phase, **usual, **changes})


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


@pytest.mark.parametrize("state", State, ids=lambda state: state or "initial")
def test_a_vector_has_all_conditions_with_the_texts_that_the_operator_has(state: State) -> None:
    told = [(one.type, one.status, one.reason, one.message) for one in vector(state, now=NOW)]
    assert told == [
        ("Prepared", str(state == "Prepared"), "Prepared", "Build Prepared and Pending"),
        ("Building", str(state == "Building"), "Building", "Image Build In Progress"),
        ("Failed", str(state == "Failed"), "Failed", "Build Failed"),
        ("Interrupted", str(state == "Interrupted"), "Interrupted", "Build Interrupted"),
        ("Succeeded", str(state == "Succeeded"), "Ready", "Build Ready"),
    ]
    assert state_of(vector(state, now=NOW)) is state


def test_no_conditions_are_no_state() -> None:
    assert state_of([]) is None


def test_what_has_failed_and_what_waits_say_why() -> None:
    why = "Step RUN false failed with exit code 1"
    messages = {state: [one.message for one in vector(state, now=NOW, why=why)] for state in State}
    assert [state for state, found in messages.items() if why in found] == [State.PREPARED, State.FAILED]


def test_a_reason_that_is_longer_than_the_api_takes_is_cut() -> None:
    [failed] = [one for one in vector(State.FAILED, now=NOW, why="x" * 40_000) if one.type == "Failed"]
    assert len(failed.message) == 32_768


def test_only_conditions_that_change_get_a_new_time() -> None:
    later = vector(State.BUILDING, vector(State.PREPARED, now=ago(60)), now=NOW)
    assert {one.type for one in later if one.last_transition_time == rfc3339(NOW)} == {"Prepared", "Building"}


def expected(before: State | None, after: State) -> bool:
    """As the operator's page has it."""
    if before is None:
        return True
    if before is State.INITIAL:
        return after is not State.INITIAL
    if before in (State.PREPARED, State.BUILDING):
        return after in ENDS or (before, after) == (State.PREPARED, State.BUILDING)
    return False


@pytest.mark.parametrize("after", State, ids=lambda state: state or "initial")
@pytest.mark.parametrize("before", [None, *State], ids=lambda state: "none" if state is None else state or "initial")
def test_a_state_follows_another_only_if_it_is_further(before: State | None, after: State) -> None:
    assert may_move(before, after) is expected(before, after)


@pytest.mark.parametrize(
    ("seen", "again", "state"),
    [
        pytest.param(build(Phase.PENDING), False, State.PREPARED, id="pending"),
        pytest.param(build(Phase.RUNNING), False, State.BUILDING, id="running"),
        pytest.param(build(Phase.SUCCEEDED), False, State.SUCCEEDED, id="succeeded"),
        pytest.param(build(Phase.SUCCEEDED, digest=""), False, State.BUILDING, id="succeeded-without-a-digest"),
        pytest.param(build(Phase.FAILED), False, State.FAILED, id="failed"),
        pytest.param(build(Phase.FAILED), True, State.BUILDING, id="failed-and-tried-again"),
        pytest.param(build(Phase.INTERRUPTED), False, State.INTERRUPTED, id="interrupted"),
        pytest.param(build(Phase.INTERRUPTED), True, State.BUILDING, id="interrupted-and-started-again"),
        pytest.param(build(Phase.SUCCEEDED), True, State.SUCCEEDED, id="nothing-follows-success"),
    ],
)
def test_a_build_that_is_tried_again_still_builds(seen: BuildState, again: bool, state: State) -> None:
    assert state_of_build(seen, again=again) is state


def test_a_build_from_its_beginning_to_its_end() -> None:
    status = moved(MachineOSBuildStatus(), build(Phase.PENDING), target=TARGET, now=ago(300))
    assert (state_of(status.conditions), status.build_start, status.build_end) == (
        State.PREPARED,
        rfc3339(ago(300)),
        None,
    )
    assert status.builder is not None
    assert msgspec.to_builtins(status.builder.job) == {
        "group": "batch",
        "resource": "jobs",
        "namespace": "openshift-machine-config-operator",
        "name": "build-worker-1",
    }
    running = moved(status, build(Phase.RUNNING), target=TARGET, now=ago(200))
    assert moved(running, build(Phase.PENDING), target=TARGET, now=ago(150)) is running
    over = moved(running, build(Phase.SUCCEEDED, ended=ago(20)), target=TARGET, now=NOW)
    assert state_of(over.conditions) is State.SUCCEEDED
    assert (over.build_start, over.build_end) == (rfc3339(ago(300)), rfc3339(ago(20)))
    assert over.digested_image_push_spec == f"{REPOSITORY}@{DIGEST}"
    assert moved(over, build(Phase.FAILED), target=TARGET, now=NOW) is over


def test_a_builder_that_the_api_has_no_word_for_is_not_named() -> None:
    status = moved(MachineOSBuildStatus(), build(Phase.RUNNING, builder=None), target=TARGET, now=NOW)
    assert status.builder is None


@pytest.mark.parametrize(
    ("started", "ended", "times"),
    [
        pytest.param(ago(60), ago(0), (ago(60), NOW), id="begun-a-minute-ago"),
        pytest.param(ago(0), ago(0), (NOW, NOW + timedelta(seconds=1)), id="at-the-same-instant"),
        pytest.param(ago(0.3), ago(0), (NOW, NOW + timedelta(seconds=1)), id="within-a-second"),
        pytest.param(ago(5), ago(9), (ago(5), ago(4)), id="by-a-clock-that-is-behind"),
        pytest.param(None, ago(9), (ago(9), ago(8)), id="its-start-is-unknown"),
        pytest.param(None, None, (NOW, NOW + timedelta(seconds=1)), id="nothing-is-known"),
    ],
)
def test_a_build_that_is_first_seen_over_ends_later_than_it_began(
    started: datetime | None, ended: datetime | None, times: tuple[datetime, datetime]
) -> None:
    seen = build(Phase.SUCCEEDED, started=started, ended=ended)
    status = moved(MachineOSBuildStatus(), seen, target=TARGET, now=NOW)
    assert (status.build_start, status.build_end) == tuple(map(rfc3339, times))


def test_a_build_that_takes_the_image_of_another_succeeds_without_a_builder() -> None:
    status = reused(MachineOSBuildStatus(), f"{REPOSITORY}@{DIGEST}", now=NOW)
    assert msgspec.to_builtins(status) == {
        "conditions": msgspec.to_builtins(vector(State.SUCCEEDED, now=NOW)),
        "buildStart": rfc3339(NOW),
        "buildEnd": rfc3339(NOW + timedelta(seconds=1)),
        "digestedImagePushSpec": f"{REPOSITORY}@{DIGEST}",
    }


LOOKS = st.builds(
    build,
    st.sampled_from(Phase),
    digest=st.sampled_from(["", DIGEST]),
    started=st.sampled_from([None, ago(100), ago(50)]),
    ended=st.sampled_from([None, ago(100), ago(50.5), ago(-10)]),
)


@given(st.lists(st.tuples(LOOKS, st.booleans()), max_size=6))
@examples(200)
def test_whatever_is_looked_at_the_api_takes_each_status(looks: list[tuple[BuildState, bool]]) -> None:
    """The rules of its CRD: conditions stay after an end, times stay, and the end is later than the start."""
    before = MachineOSBuildStatus()
    for number, (seen, again) in enumerate(looks):
        after = moved(before, seen, target=TARGET, now=NOW + timedelta(seconds=number), again=again)
        was_over = state_of(before.conditions) in ENDS
        assert not was_over or after == before
        assert before.build_start in (None, after.build_start)
        assert before.build_end in (None, after.build_end)
        if after.build_end:
            assert after.build_start
            assert after.build_end > after.build_start
        assert sum(one.status == "True" for one in after.conditions) == (1 if after.conditions else 0)
        assert bool(after.digested_image_push_spec) == (state_of(after.conditions) is State.SUCCEEDED)
        before = after


FAILURE = "Failed to build OS image for pool worker (MachineOSBuild: worker-1): "


@pytest.mark.parametrize(
    ("state", "why", "told"),
    [
        pytest.param(State.FAILED, "", ("True", "BuildFailed", f"{FAILURE}Failed: Build Failed"), id="failed"),
        pytest.param(
            State.FAILED, "exit code 1", ("True", "BuildFailed", f"{FAILURE}Failed: exit code 1"), id="and-says-why"
        ),
        pytest.param(State.PREPARED, "", ("False", "Building", "Build started for pool worker"), id="prepared"),
        pytest.param(State.BUILDING, "", ("False", "Building", "Build started for pool worker"), id="building"),
        pytest.param(State.SUCCEEDED, "", ("False", "BuildSuccess", "Build succeeded for pool worker"), id="succeeded"),
        pytest.param(State.INTERRUPTED, "", None, id="interrupted-stays"),
        pytest.param(State.INITIAL, "", None, id="initial-stays"),
        pytest.param(None, "", None, id="no-conditions-stays"),
    ],
)
def test_the_pool_says_whether_its_build_failed(state: State | None, why: str, told: tuple[str, ...] | None) -> None:
    found = image_build_degraded("worker", machine_os_build(state=state, why=why))
    assert (found and (found.status, found.reason, found.message)) == told


def test_a_pool_without_builds_is_not_degraded_by_one() -> None:
    found = image_build_degraded("worker", None)
    assert found is not None
    assert (found.type, found.status, found.reason) == ("ImageBuildDegraded", "False", "BuildSuccess")
