"""The state of a build from a Job and its Pods, as tables. Deviation from the Machine Config Operator: conditions that
end a Job come before its counters, so a Job that failed early is seen to have failed."""

from datetime import datetime
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from windlass.api.batch import Job
from windlass.api.core import Pod
from windlass.os_build.backends.job_state import says
from windlass.os_build.builder import BuildState, Cause, Failed, Obstacle, Phase
from windlass.os_build.constants import CANCELLED_ANNOTATION
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
    phase = "Failed" if exit_code else "Succeeded"
    return msgspec.convert({"status": {"phase": phase, "containerStatuses": [{"name": "build", "state": state}]}}, Pod)


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


def waiting(name: str = "p", **status: Any) -> Pod:
    return msgspec.convert({"metadata": {"name": name}, "status": {"phase": "Pending", **status}}, Pod)


def of_container(state: Any, *, name: str = "build") -> list[Any]:
    return [{"name": name, "state": state}]


@pytest.mark.parametrize(
    ("status", "obstacle", "text"),
    [
        pytest.param({}, None, "", id="nothing is known"),
        pytest.param(
            {"conditions": [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"}]},
            Obstacle.UNSCHEDULABLE,
            "Pod p is not scheduled: 0/3 nodes are available",
            id="no Node",
        ),
        pytest.param(
            {"conditions": [{"type": "PodScheduled", "status": "True"}]}, None, "", id="a Node that does not answer"
        ),
        *(
            pytest.param(
                {"containerStatuses": of_container({"waiting": {"reason": reason, "message": "why"}})},
                obstacle,
                f"Pod p: {reason}: why",
                id=reason,
            )
            for reason, obstacle in (
                ("ErrImagePull", Obstacle.IMAGE),
                ("ImagePullBackOff", Obstacle.IMAGE),
                ("InvalidImageName", Obstacle.IMAGE),
                ("SignatureValidationFailed", Obstacle.IMAGE),
                ("CreateContainerConfigError", Obstacle.START),
                ("CreateContainerError", Obstacle.START),
                ("SomethingNew", Obstacle.START),
            )
        ),
        pytest.param(
            {"containerStatuses": of_container({"waiting": {"reason": "ContainerCreating"}})}, None, "", id="a moment"
        ),
        pytest.param(
            {"containerStatuses": of_container({"waiting": {"reason": "ErrImagePull"}}, name="proxy")},
            None,
            "",
            id="a container that somebody added",
        ),
        pytest.param(
            {"initContainerStatuses": of_container({"waiting": {"reason": "ErrImagePull"}}, name="bases")},
            Obstacle.IMAGE,
            "Pod p: ErrImagePull:",
            id="the container before that of the build",
        ),
        pytest.param(
            {
                "initContainerStatuses": of_container({"running": {"startedAt": NOW}}, name="bases"),
                "containerStatuses": of_container({"waiting": {"reason": "PodInitializing"}}),
            },
            None,
            "",
            id="its base image is unpacked",
        ),
    ],
)
def test_a_pod_that_has_not_started_says_what_keeps_it(status: Any, obstacle: Obstacle | None, text: str) -> None:
    said = says(job(active=1), KNOWN, pods=[waiting(**status)])
    assert said.waits is not None
    assert (said.phase, said.waits.obstacle, said.waits.text) == (Phase.PENDING, obstacle, text)
    assert (said.waits.about.kind, said.waits.about.name) == (Pod, "p")
    assert said.note == (f"waits: {text}" if text else "")


def test_a_job_without_pods_is_asked_itself() -> None:
    said = says(job(), KNOWN, pods=[])
    assert said.waits is not None
    assert (said.waits.about.kind, said.waits.about.name, said.waits.obstacle) == (Job, "build-worker", None)


def test_the_next_attempt_may_wait_as_the_first_did() -> None:
    reason = {"waiting": {"reason": "ImagePullBackOff", "message": "why"}}
    said = says(job(active=1, failed=1), KNOWN, pods=[pod(75, "x"), waiting(containerStatuses=of_container(reason))])
    assert said.waits is not None
    assert (said.phase, said.attempt, said.waits.obstacle) == (Phase.RUNNING, 2, Obstacle.IMAGE)


def test_time_runs_from_the_start_of_the_container_that_runs() -> None:
    runs = waiting(phase="Running", containerStatuses=of_container({"running": {"startedAt": NOW}}))
    said = says(job(active=1, startTime="2026-11-23T10:00:00Z"), KNOWN, pods=[pod(75, "x"), runs])
    assert (said.runs, said.waits) == (datetime.fromisoformat(NOW), None)
    assert says(job(active=1, startTime=NOW), KNOWN, pods=[waiting()]).runs is None


def test_a_pod_that_ends_before_its_build_begins_tells_its_own_end() -> None:
    killed = of_container({"terminated": {"exitCode": 137, "reason": "OOMKilled", "finishedAt": NOW}}, name="bases")
    tree = {"status": {"phase": "Failed", "initContainerStatuses": killed}}
    said = says(job(failed=4, conditions=condition("Failed")), KNOWN, pods=[msgspec.convert(tree, Pod)])
    assert said.failed is not None
    assert said.failed.cause is Cause.MEMORY
    # One that ended well says nothing, and its log is no digest.
    done = of_container({"terminated": {"exitCode": 0, "message": DIGEST, "finishedAt": NOW}}, name="bases")
    tree = {"status": {"phase": "Succeeded", "initContainerStatuses": done}}
    said = says(job(succeeded=1, conditions=condition("Complete")), KNOWN, pods=[msgspec.convert(tree, Pod)])
    assert said.digest == ""


def taken(number: int) -> Pod:
    disrupted = {"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet"}
    tree = {
        "metadata": {"name": f"p{number}", "creationTimestamp": f"2026-11-23T0{number}:00:00Z"},
        "status": {"phase": "Failed", "reason": "Evicted", "message": f"disk {number}", "conditions": [disrupted]},
    }
    return msgspec.convert(tree, Pod)


@pytest.mark.parametrize(("pods", "doomed"), [(2, None), (3, Cause.EVICTED), (9, Cause.EVICTED)])
def test_a_build_that_is_evicted_again_and_again_is_doomed(pods: int, doomed: Cause | None) -> None:
    said = says(job(active=1), KNOWN, pods=[*map(taken, range(pods)), waiting()])
    assert (said.is_over, said.doomed) == (False, doomed)


@pytest.mark.parametrize(
    ("said", "cause", "tail"),
    [
        ("BuilderEvicted", Cause.EVICTED, "Evicted: disk 2"),
        ("DeadlineExceeded", Cause.DEADLINE, ""),
        ("", Cause.CANCELLED, ""),
        ("what a later version says", Cause.CANCELLED, ""),
    ],
)
def test_a_job_that_was_suspended_has_failed_for_the_cause_that_is_written_on_it(
    said: str, cause: Cause, tail: str
) -> None:
    stopped = job(spec={"suspend": True})
    stopped.metadata.annotations.update({CANCELLED_ANNOTATION: said} if said else {})
    assert says(stopped, KNOWN, pods=[taken(2), taken(1)]).failed == Failed(cause=cause, tail=tail)


def test_the_step_that_took_too_long_is_named() -> None:
    ended = pod(67, "STEP 1/2: FROM x\nSTEP 2/2: RUN sleep 9999")
    said = says(job(failed=1, conditions=condition("Failed", "PodFailurePolicy")), KNOWN, pods=[ended])
    assert said.failed is not None
    assert (said.failed.cause, said.failed.step) == (Cause.DEADLINE, "RUN sleep 9999")
