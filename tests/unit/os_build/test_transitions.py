"""What is counted between two looks at a pool."""

from typing import Any

import pytest
from msgspec.structs import replace

from windlass.os_build.builder import Cause, Phase
from windlass.os_build.transitions import Builder, Count, Counted, Is, Look, counts

RUNNING = Builder(Phase.RUNNING, began=40.0)
DONE = Builder(Phase.SUCCEEDED, began=40.0, ended=100.0)
BROKEN = Builder(Phase.FAILED, began=40.0, ended=70.0, cause=Cause.STEP)
UNPUSHED = Builder(Phase.FAILED, began=40.0, ended=90.0, cause=Cause.PUSH_DENIED, pushing=True)
LOST = Builder(Phase.INTERRUPTED, began=40.0, ended=90.0)

POOL = {"state": Is.PENDING, "reason": "BuildPending", "since": 10.0}
"""A pool without a MachineOSConfig, from second 10 on."""
CLAIMED = {"build": "uid-1", "created": 5.0, "state": Is.PENDING, "reason": "Prepared", "since": 10.0}
"""A pool with a MachineOSBuild that was created at second 5."""
SUCCEEDED = Count(Counted.BUILDS, Is.SUCCEEDED)
FAILED = Count(Counted.BUILDS, Is.FAILED)


def look(kind: dict[str, Any], *builders: Builder, **fields: Any) -> Look:
    named = {f"build-{number}": each for number, each in enumerate(builders, 1)}
    return Look(**{"config": "rendered-worker-1", **kind, **fields}, builders=named)


BUILDING = {"state": Is.BUILDING, "reason": "", "since": 40.0}


@pytest.mark.parametrize(
    ("before", "after", "counted"),
    [
        pytest.param(look(POOL), look(POOL, config="rendered-worker-2"), [Count(Counted.CONFIG_CHANGES)], id="config"),
        pytest.param(look(POOL, config=""), look(POOL), [], id="the-first-config-is-no-change"),
        pytest.param(look(POOL), look(POOL, config=""), [], id="a-config-that-goes-is-no-change"),
        pytest.param(
            look(POOL, RUNNING),
            look(POOL, RUNNING, **BUILDING),
            [Count(Counted.QUEUE, seconds=30.0)],
            id="a-pool-waits-from-its-condition-on",
        ),
        pytest.param(
            look(CLAIMED, RUNNING),
            look(CLAIMED, RUNNING, **BUILDING),
            [Count(Counted.QUEUE, seconds=35.0)],
            id="a-MachineOSBuild-waits-from-its-creation-on",
        ),
        pytest.param(
            look(POOL, replace(RUNNING, attempt=2)),
            look(POOL, replace(RUNNING, attempt=2), **BUILDING),
            [],
            id="the-pause-before-another-attempt-is-no-queue",
        ),
        pytest.param(
            look(POOL, BROKEN),
            look(POOL, BROKEN, replace(RUNNING, attempt=2)),
            [Count(Counted.RETRIES)],
            id="a-builder-of-another-attempt",
        ),
        pytest.param(
            look(POOL, RUNNING),
            look(POOL, replace(RUNNING, attempt=3)),
            [Count(Counted.RETRIES), Count(Counted.RETRIES)],
            id="two-more-attempts-of-one-builder",
        ),
        pytest.param(
            look(POOL, RUNNING, **BUILDING),
            look(POOL, DONE, **BUILDING),
            [Count(Counted.PUSHES, Is.SUCCEEDED), Count(Counted.PUSH_DURATION, Is.SUCCEEDED, 60.0)],
            id="a-push",
        ),
        pytest.param(
            look(POOL, RUNNING, **BUILDING),
            look(POOL, UNPUSHED, **BUILDING),
            [Count(Counted.PUSHES, Is.FAILED), Count(Counted.PUSH_DURATION, Is.FAILED, 50.0)],
            id="a-push-that-failed",
        ),
        pytest.param(look(POOL, RUNNING), look(POOL, BROKEN), [], id="a-step-that-failed-is-no-push"),
        pytest.param(
            look(POOL, RUNNING, **BUILDING),
            look(POOL, LOST, **BUILDING),
            [Count(Counted.BUILDS, Is.INTERRUPTED)],
            id="a-builder-that-is-lost",
        ),
        pytest.param(look(POOL), look(POOL, LOST), [], id="a-builder-that-never-ran"),
        pytest.param(
            look(POOL, DONE, **BUILDING),
            look(POOL, DONE, state=Is.SUCCEEDED, since=101.0),
            [SUCCEEDED, Count(Counted.DURATION, Is.SUCCEEDED, 61.0)],
            id="the-build-of-a-pool-begins-with-its-builder",
        ),
        pytest.param(
            look(CLAIMED, DONE, **BUILDING),
            look(CLAIMED, DONE, state=Is.SUCCEEDED, since=101.0),
            [SUCCEEDED, Count(Counted.DURATION, Is.SUCCEEDED, 96.0)],
            id="a-MachineOSBuild-begins-with-its-creation",
        ),
        pytest.param(
            look(CLAIMED, reason=""),
            look(CLAIMED, state=Is.SUCCEEDED),
            [],
            id="an-image-taken-again-is-no-build",
        ),
        pytest.param(
            look(POOL, BROKEN, **BUILDING),
            look(POOL, BROKEN, state=Is.FAILED, reason="StepFailed", since=71.0),
            [FAILED, Count(Counted.DURATION, Is.FAILED, 31.0)],
            id="a-failed-build",
        ),
        pytest.param(
            look(CLAIMED),
            look(CLAIMED, state=Is.FAILED, reason="Failed", since=11.0),
            [FAILED, Count(Counted.DURATION, Is.FAILED, 6.0)],
            id="a-MachineOSBuild-that-failed-before-a-builder",
        ),
        pytest.param(
            look(POOL),
            look(POOL, state=Is.FAILED, reason="ContainerfileInvalid", since=11.0),
            [FAILED, Count(Counted.DURATION, Is.FAILED, 1.0)],
            id="a-Containerfile-that-no-builder-takes",
        ),
        pytest.param(
            look(POOL), look(POOL, state=Is.FAILED, reason="PushDenied"), [], id="credentials-refused-before-a-build"
        ),
        pytest.param(
            look(POOL, BROKEN, state=Is.FAILED, reason="StepFailed"),
            look(POOL, BROKEN, state=Is.FAILED, reason="ConfigurationInvalid"),
            [],
            id="another-reason-of-a-failed-pool",
        ),
        pytest.param(
            look(POOL, BROKEN),
            look(POOL, BROKEN, state=Is.FAILED, reason="ConfigurationInvalid"),
            [],
            id="a-mistake-while-an-earlier-failure-can-be-looked-at",
        ),
        pytest.param(
            look(POOL, BROKEN), look(POOL, BROKEN, reason="Retrying"), [], id="an-attempt-that-is-made-again-is-no-end"
        ),
        pytest.param(
            look(CLAIMED, state=Is.FAILED, since=11.0),
            look(CLAIMED, build="uid-2", state=Is.FAILED, since=21.0, created=20.0),
            [FAILED, Count(Counted.DURATION, Is.FAILED, 1.0)],
            id="another-MachineOSBuild-that-failed",
        ),
    ],
)
def test_what_two_looks_count(before: Look, after: Look, counted: list[Count]) -> None:
    assert list(counts(before, after)) == counted
    assert counts(after, after) == (), "and once"


@pytest.mark.parametrize(
    ("seen", "job", "push"),
    [
        (look(POOL), Is.NONE, Is.NONE),
        (look(POOL, RUNNING), Is.ACTIVE, Is.PUSHING),
        (look(POOL, BROKEN, RUNNING), Is.ACTIVE, Is.PUSHING),
        (look(POOL, DONE), Is.SUCCEEDED, Is.SUCCEEDED),
        (look(POOL, state=Is.SUCCEEDED), Is.SUCCEEDED, Is.SUCCEEDED),
        (look(POOL, BROKEN), Is.FAILED, Is.NONE),
        (look(POOL, UNPUSHED), Is.FAILED, Is.FAILED),
        (look(POOL, LOST), Is.NONE, Is.NONE),
    ],
    ids=["none", "runs", "runs-again", "done", "cleaned", "step-failed", "push-failed", "lost"],
)
def test_the_state_of_builder_and_push(seen: Look, job: Is, push: Is) -> None:
    assert (seen.job, seen.push) == (job, push)
