"""The state of a build from a Job and its Pods, as tables. Deviation from the Machine Config Operator: conditions that
end a Job come before its counters, so a Job that failed early is seen to have failed."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from windlass.api.batch import Job
from windlass.api.core import Pod
from windlass.os_build.backends.job_state import says
from windlass.os_build.builder import BuildState, Cause, Phase
from windlass.os_build.request import BackendName

NOW = "2026-11-23T12:00:00Z"
DIGEST = "sha256:" + "ab" * 32
KNOWN = BuildState(name="b", backend=BackendName.JOB, pool="worker", inputs="i", phase=Phase.PENDING)
P, R, S, F = Phase.PENDING, Phase.RUNNING, Phase.SUCCEEDED, Phase.FAILED


def job(*, spec: Any = None, **status: Any) -> Job:
    return msgspec.convert({"metadata": {"name": "build-worker"}, "spec": spec or {}, "status": status}, Job)


def counted(active: int, succeeded: int, failed: int, **more: Any) -> Job:
    return job(active=active, succeeded=succeeded, failed=failed, **more)


def condition(kind: str, reason: str = "", message: str = "") -> list[dict[str, str]]:
    return [{"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": NOW}]


def pod(exit_code: int | None = None, message: str = "", *, at: str = NOW, **more: Any) -> Pod:
    ended = {"exitCode": exit_code, "message": message, "finishedAt": at, **more}
    state = {} if exit_code is None else {"terminated": ended}
    return msgspec.convert({"status": {"containerStatuses": [{"name": "build", "state": state}]}}, Pod)


@pytest.mark.parametrize(
    ("found", "phase", "retries"),
    [
        pytest.param(counted(0, 0, 0), P, 0, id="0-0-0"),
        pytest.param(counted(1, 0, 0), R, 0, id="1-0-0"),
        pytest.param(
            counted(0, 0, 0, uncountedTerminatedPods={"failed": ["uid"]}), R, 0, id="and an uncounted Pod"
        ),
        pytest.param(counted(0, 0, 2), R, 2, id="0-0-2"),
        pytest.param(counted(1, 0, 3), R, 3, id="the last attempt"),
        pytest.param(counted(0, 1, 0), S, 0, id="0-1-0"),
        pytest.param(counted(0, 1, 0, conditions=condition("Complete")), S, 0, id="row 5"),
        pytest.param(counted(0, 1, 2, conditions=condition("Complete")), S, 2, id="the third attempt succeeded"),
        pytest.param(counted(0, 1, 0, conditions=condition("Failed")), F, 0, id="row 6"),
        pytest.param(counted(0, 1, 0, conditions=condition("SuccessCriteriaMet")), S, 0, id="deviation: row 7"),
        pytest.param(counted(0, 0, 4), F, 3, id="0-0-4"),
        pytest.param(
            counted(0, 0, 1, conditions=condition("Failed", "PodFailurePolicy")), F, 0, id="deviation: Pod policy"
        ),
        pytest.param(
            counted(0, 0, 0, conditions=condition("Failed", "DeadlineExceeded")), F, 0, id="deviation: deadline"
        ),
        pytest.param(counted(1, 0, 1, conditions=condition("FailureTarget")), R, 1, id="it is about to fail"),
        pytest.param(job(spec={"suspend": True}, active=1), R, 0, id="cancelled, and its Pod still runs"),
        pytest.param(job(spec={"suspend": True}), F, 0, id="cancelled"),
        pytest.param(
            job(spec={"suspend": True}, succeeded=1, conditions=condition("Complete")), S, 0, id="cancelled too late"
        ),
    ],
)  # fmt: skip
def test_the_phase_follows_from_conditions_and_counters(found: Job, phase: Phase, retries: int) -> None:
    said = says(found, replace(KNOWN, attempt=7), pods=[])
    assert (said.phase, said.attempt) == (phase, 7 + retries)
    assert (said.failed is not None) == (phase is F)


@pytest.mark.parametrize(
    ("reason", "pods", "cause", "tail"),
    [
        pytest.param("PodFailurePolicy", [pod(65, 'Error: building at STEP "RUN x": exit status 1')], Cause.STEP,
                     'Error: building at STEP "RUN x": exit status 1', id="a step"),
        pytest.param("PodFailurePolicy", [pod(65, "Error: unauthorized")], Cause.PULL_DENIED,
                     "Error: unauthorized", id="while building"),
        pytest.param("PodFailurePolicy", [pod(66, "Error: unauthorized")], Cause.PUSH_DENIED,
                     "Error: unauthorized", id="while pushing"),
        pytest.param("BackoffLimitExceeded", [pod(76, "Error: connection refused")], Cause.UNREACHABLE,
                     "Error: connection refused", id="transient, too often"),
        pytest.param("BackoffLimitExceeded",
                     [pod(75, "Error: no space left on device"), pod(76, "Error: EOF", at="2026-11-23T11:00:00Z")],
                     Cause.DISK, "Error: no space left on device", id="the last Pod decides"),
        pytest.param("DeadlineExceeded", [pod(143, "STEP 2/9")], Cause.DEADLINE, "STEP 2/9", id="deadline"),
        pytest.param("DeadlineExceeded", [], Cause.DEADLINE, "", id="deadline, Pod gone"),
        pytest.param("BackoffLimitExceeded", [], Cause.UNKNOWN, "BackoffLimitExceeded: played", id="Pods deleted"),
        pytest.param("BackoffLimitExceeded", [pod(137, "", reason="OOMKilled")], Cause.MEMORY, "", id="out of memory"),
        pytest.param("BackoffLimitExceeded", [pod(0, DIGEST), pod(75, "Error: EOF")], Cause.UNREACHABLE, "Error: EOF",
                     id="a Pod that succeeded says nothing about a failure"),
    ],
)  # fmt: skip
def test_the_cause_is_that_of_the_last_pod_that_failed(reason: str, pods: list[Pod], cause: Cause, tail: str) -> None:
    said = says(job(failed=1, conditions=condition("Failed", reason, "played")), KNOWN, pods=pods)
    assert said.failed is not None
    assert (said.failed.cause, said.failed.tail) == (cause, tail)
    assert said.ended is not None


@pytest.mark.parametrize(
    ("pods", "digest"),
    [
        pytest.param([pod(0, f"{DIGEST}\n")], DIGEST, id="trimmed"),
        pytest.param([pod(75, "Error: EOF"), pod(0, DIGEST)], DIGEST, id="after a failure"),
        pytest.param([], "", id="no Pod is left: the registry knows"),
        pytest.param([pod(0, "")], "", id="empty"),
        pytest.param([pod(0, "STEP 1/2: FROM base")], "", id="the end of a log instead"),
    ],
)
def test_the_digest_is_the_termination_message_of_the_pod_that_succeeded(pods: list[Pod], digest: str) -> None:
    assert says(job(succeeded=1, conditions=condition("Complete")), KNOWN, pods=pods).digest == digest


@pytest.mark.parametrize(
    ("status", "note"),
    [
        pytest.param({"phase": "Pending"}, "", id="nothing is known"),
        pytest.param(
            {
                "phase": "Pending",
                "conditions": [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"}],
            },
            "waits: Pod p is not scheduled: 0/3 nodes are available",
            id="no Node",
        ),
        pytest.param(
            {
                "phase": "Pending",
                "containerStatuses": [{"name": "build", "state": {"waiting": {"reason": "ImagePullBackOff"}}}],
            },
            "waits: Pod p: ImagePullBackOff: ",
            id="the builder's image",
        ),
        pytest.param(
            {
                "phase": "Pending",
                "containerStatuses": [{"name": "build", "state": {"waiting": {"reason": "ContainerCreating"}}}],
            },
            "",
            id="a moment",
        ),
        pytest.param({"phase": "Running"}, "", id="it runs"),
    ],
)
def test_a_pod_that_does_not_start_says_what_it_waits_for(status: Any, note: str) -> None:
    waiting = msgspec.convert({"metadata": {"name": "p"}, "status": status}, Pod)
    assert says(job(active=1), KNOWN, pods=[waiting]).note == note.strip()
