"""Reads the state of a build from a Job and its Pods. Pure.

The first row that holds counts:

| the Job | state |
|---|---|
| condition Complete is True | Succeeded; the digest is the termination message of the Pod that succeeded |
| condition Failed is True, reason DeadlineExceeded | Failed, DeadlineExceeded: a Job of an earlier version |
| condition Failed is True | Failed, cause from the exit code and termination message of the last Pod that failed |
| a Pod has succeeded | Succeeded |
| suspended: a build was cancelled | Failed, the cause is an annotation; Running and `ending` while Pods are active |
| as many Pods have failed as there are attempts | Failed |
| no Pod is active or has ended, counted or not; or its first Pod has not started | Pending |
| anything else | Running |

The Machine Config Operator looks at the counters first. So it never sees that a Job has ended which failed by its
Pod failure policy, with fewer failed Pods than there are attempts.

A Job is several attempts: each failed Pod was one. Pods that the infrastructure took away are not counted by the Job;
after `EVICTIONS` of them the build is doomed, since the next one would most probably be taken away, too.
"""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Final

from msgspec.structs import replace

from windlass.api.batch import Job
from windlass.api.core import Pod
from windlass.api.meta import PlainCondition
from windlass.kube.conditions import find
from windlass.kube.control.plan import Target
from windlass.os_build import log
from windlass.os_build.backends.owned import moment
from windlass.os_build.backends.pods import evicted, started, terminated, waits_of
from windlass.os_build.builder import ATTEMPTS, BuildState, Cause, Failed, Phase, Waits
from windlass.os_build.constants import CANCELLED_ANNOTATION
from windlass.os_build.failure import KILLED, explain, overdue
from windlass.os_build.pullspec import DIGEST

EVICTIONS: Final = 3


class Exit(IntEnum):
    """The exit codes of the script, `job_build.sh`."""

    BUILD_FAILED = 65
    PUSH_FAILED = 66
    OVERDUE = 67
    BUILD_TRANSIENT = 75
    PUSH_TRANSIENT = 76


PERMANENT: Final = (Exit.BUILD_FAILED, Exit.PUSH_FAILED, Exit.OVERDUE)
"""Another attempt would fail, too."""
_PUSHING: Final = (Exit.PUSH_FAILED, Exit.PUSH_TRANSIENT)


def says(job: Job, known: BuildState, *, pods: Sequence[Pod]) -> BuildState:
    """The state of a build, of which the rest is known; `pods` are those of the Job that are known."""
    status = job.status
    state = replace(known, attempt=known.attempt + status.failed, started=moment(status.start_time), runs=started(pods))
    if (end := _condition(job, "Complete")) is not None:
        return _succeeded(state, job, pods, end)
    if (end := _condition(job, "Failed")) is not None:
        return _over(state, job, _failed(end, pods), end)
    if status.succeeded:
        return _succeeded(state, job, pods, None)
    if job.spec.suspend:
        if status.active:
            return replace(state, phase=Phase.RUNNING, ending=True)
        return _over(state, job, _cancelled(job, pods), _condition(job, "Suspended"))
    if status.failed >= ATTEMPTS:
        return _over(state, job, _failed(None, pods), None)
    uncounted = status.uncounted_terminated_pods
    ended = status.failed or (uncounted is not None and (uncounted.failed or uncounted.succeeded))
    waits = waits_of(pods)
    if waits is None and not pods and not status.active:
        about = Target(Job, job.metadata.name, job.metadata.namespace)
        waits = Waits(about=about, since=moment(job.metadata.creation_timestamp))
    begun = ended or (status.active and (waits is None or state.runs is not None))
    taken = evicted(pods)
    return replace(
        state,
        phase=Phase.RUNNING if begun else Phase.PENDING,
        waits=waits,
        note=f"waits: {waits.text}" if waits is not None and waits.text else "",
        doomed=Cause.EVICTED if len(taken) >= EVICTIONS else None,
    )


def _cancelled(job: Job, pods: Sequence[Pod]) -> Failed:
    said = job.metadata.annotations.get(CANCELLED_ANNOTATION, "")
    cause = Cause(said) if said in Cause.__members__.values() else Cause.CANCELLED
    if cause is Cause.EVICTED and (taken := evicted(pods)):
        last = taken[-1].status
        told = find(last.conditions, "DisruptionTarget")
        reason = last.reason or (told.reason if told else "")
        return Failed(cause=cause, tail=log.tail(f"{reason}: {last.message or (told.message if told else '')}"))
    return Failed(cause=cause)


def _condition(job: Job, type: str) -> PlainCondition | None:  # noqa: A002 - the word of the field
    return next((each for each in job.status.conditions if each.type == type and each.status == "True"), None)


def _succeeded(state: BuildState, job: Job, pods: Iterable[Pod], end: PlainCondition | None) -> BuildState:
    messages = [each.message.strip() for each in terminated(pods) if each.exit_code == 0]
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
    failures = [each for each in terminated(pods) if each.exit_code != 0]
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
    if last.exit_code == Exit.OVERDUE:
        return replace(overdue(message), tail=log.tail(message))
    known = last.exit_code in tuple(Exit)
    return replace(
        explain(
            message,
            exit_code=None if known else last.exit_code,
            doing="push" if last.exit_code in _PUSHING else "build",
        ),
        tail=log.tail(message),
    )
