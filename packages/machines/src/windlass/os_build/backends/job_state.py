"""Reads the state of a build from a Job and its Pods. Pure.

The first row that holds counts:

| the Job | state |
|---|---|
| condition Complete is True | Succeeded; the digest is the termination message of the Pod that succeeded |
| condition Failed is True, reason DeadlineExceeded | Failed, DeadlineExceeded |
| condition Failed is True | Failed, cause from the exit code and termination message of the last Pod that failed |
| a Pod has succeeded | Succeeded |
| suspended: that is how a build is cancelled | Failed, BuildCancelled; Running and `ending` while Pods are active |
| as many Pods have failed as there are attempts | Failed |
| no Pod is active or has ended, counted or not | Pending |
| anything else | Running |

The Machine Config Operator looks at the counters first. So it never sees that a Job has ended which failed by its
deadline or its Pod failure policy, with fewer failed Pods than there are attempts.

A Job is several attempts: each failed Pod was one. Pods that the infrastructure took away are not counted.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from typing import Final

from msgspec.structs import replace

from windlass.api.batch import Job
from windlass.api.core import ContainerStateTerminated, Pod
from windlass.api.meta import PlainCondition
from windlass.os_build import log
from windlass.os_build.backends.owned import moment
from windlass.os_build.builder import ATTEMPTS, BuildState, Cause, Failed, Phase
from windlass.os_build.failure import KILLED, explain
from windlass.os_build.pullspec import DIGEST

CONTAINER: Final = "build"
_STARTING: Final = frozenset({"ContainerCreating", "PodInitializing"})
"""Reasons of containers that wait for nothing in particular."""


class Exit(IntEnum):
    """The exit codes of the script, `job_build.sh`."""

    BUILD_FAILED = 65
    PUSH_FAILED = 66
    BUILD_TRANSIENT = 75
    PUSH_TRANSIENT = 76


PERMANENT: Final = (Exit.BUILD_FAILED, Exit.PUSH_FAILED)
"""Another attempt would fail, too."""
_PUSHING: Final = (Exit.PUSH_FAILED, Exit.PUSH_TRANSIENT)


def says(job: Job, known: BuildState, *, pods: Sequence[Pod]) -> BuildState:
    """The state of a build, of which the rest is known; `pods` are those of the Job that are known."""
    status = job.status
    state = replace(known, attempt=known.attempt + status.failed, started=moment(status.start_time))
    if (end := _condition(job, "Complete")) is not None:
        return _succeeded(state, job, pods, end)
    if (end := _condition(job, "Failed")) is not None:
        return _over(state, job, _failed(end, pods), end)
    if status.succeeded:
        return _succeeded(state, job, pods, None)
    if job.spec.suspend:
        if status.active:
            return replace(state, phase=Phase.RUNNING, ending=True)
        return _over(state, job, Failed(cause=Cause.CANCELLED), _condition(job, "Suspended"))
    if status.failed >= ATTEMPTS:
        return _over(state, job, _failed(None, pods), None)
    uncounted = status.uncounted_terminated_pods
    ended = status.failed or (uncounted is not None and (uncounted.failed or uncounted.succeeded))
    phase = Phase.RUNNING if status.active or ended else Phase.PENDING
    return replace(state, phase=phase, note=_note(pods))


def _condition(job: Job, type: str) -> PlainCondition | None:  # noqa: A002 - the word of the field
    return next((each for each in job.status.conditions if each.type == type and each.status == "True"), None)


def _succeeded(state: BuildState, job: Job, pods: Iterable[Pod], end: PlainCondition | None) -> BuildState:
    messages = [each.message.strip() for each in _terminated(pods) if each.exit_code == 0]
    digest = next((message for message in messages if DIGEST.fullmatch(message)), "")
    ended = job.status.completion_time or (end.last_transition_time if end is not None else None)
    return replace(state, phase=Phase.SUCCEEDED, digest=digest, ended=moment(ended))


def _over(state: BuildState, job: Job, failed: Failed, end: PlainCondition | None) -> BuildState:
    return replace(
        state,
        phase=Phase.FAILED,
        # The last Pod that failed was no attempt before this one.
        attempt=state.attempt - min(job.status.failed, 1),
        failed=failed,
        ended=moment(end.last_transition_time) if end is not None else None,
    )


def _failed(end: PlainCondition | None, pods: Iterable[Pod]) -> Failed:
    said = f"{end.reason}: {end.message}" if end is not None else ""
    failures = [each for each in _terminated(pods) if each.exit_code != 0]
    last = max(failures, key=lambda each: each.finished_at or "", default=None)
    message = last.message if last is not None else ""
    if end is not None and end.reason == "DeadlineExceeded":
        return Failed(cause=Cause.DEADLINE, tail=log.tail(message))
    if last is not None and (last.reason == "OOMKilled" or last.exit_code == KILLED):
        return Failed(cause=Cause.MEMORY, exit_code=last.exit_code, tail=log.tail(message))
    if last is None or not message.strip():
        # It was killed, or never ran: the exit code of the shell is that of nothing in the Containerfile.
        because = f"{last.reason}, exit code {last.exit_code}" if last is not None and last.reason else ""
        return Failed(cause=Cause.UNKNOWN, tail=log.tail("\n".join(filter(None, (said, because)))))
    known = last.exit_code in tuple(Exit)
    return replace(
        explain(
            message,
            exit_code=None if known else last.exit_code,
            doing="push" if last.exit_code in _PUSHING else "build",
        ),
        tail=log.tail(message),
    )


def _terminated(pods: Iterable[Pod]) -> list[ContainerStateTerminated]:
    states = (status.state for pod in pods for status in pod.status.container_statuses if status.name == CONTAINER)
    return [state.terminated for state in states if state.terminated is not None]


def _note(pods: Iterable[Pod]) -> str:
    """What Pods that have not started wait for."""
    notes = [note for pod in pods if pod.status.phase in ("", "Pending") for note in _waits(pod)]
    return log.tail(f"waits: {'; '.join(notes)}") if notes else ""


def _waits(pod: Pod) -> Iterator[str]:
    for condition in pod.status.conditions:
        if condition.type == "PodScheduled" and condition.status == "False":
            yield f"Pod {pod.metadata.name} is not scheduled: {condition.message}"
    for status in pod.status.container_statuses:
        waiting = status.state.waiting
        if waiting is not None and waiting.reason and waiting.reason not in _STARTING:
            yield f"Pod {pod.metadata.name}: {waiting.reason}: {waiting.message}"
