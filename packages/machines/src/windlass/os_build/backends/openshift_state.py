"""Reads the state of a build from an OpenShift Build. Pure.

| `status.phase` | state |
|---|---|
| New, Pending, none yet | Pending; `note` is OpenShift's message if it waits for something |
| Running | Running |
| Complete | Succeeded |
| Cancelled | Failed, BuildCancelled |
| Failed, Error | by `status.reason`, see below |

| `status.reason` | state |
|---|---|
| BuildPodEvicted, BuildPodDeleted, NoBuildContainerStatus | Interrupted: the Pod was lost, not the build |
| CancelledBuild | Failed, BuildCancelled |
| ManageDockerfileFailed | Failed, ContainerfileInvalid |
| PushImageToRegistryFailed | Failed while pushing, cause from the log |
| any other, such as DockerBuildFailed, PullBuilderImageFailed, OutOfMemoryKilled | Failed, cause from the log |

OpenShift has no reason for a deadline that passed: GenericBuildFailed, no cause in the log and an age beyond
`completionDeadlineSeconds` mean that.
"""

from typing import Final

from msgspec.structs import replace

from windlass.api.build import Build, BuildStatus
from windlass.os_build import log
from windlass.os_build.backends.owned import moment
from windlass.os_build.builder import BuildState, Cause, Failed, Phase
from windlass.os_build.failure import explain

_LOST: Final = frozenset({"BuildPodEvicted", "BuildPodDeleted", "NoBuildContainerStatus"})
_CERTAIN: Final = {"CancelledBuild": Cause.CANCELLED, "ManageDockerfileFailed": Cause.CONTAINERFILE}
_PUSH: Final = "PushImageToRegistryFailed"
_GENERIC: Final = "GenericBuildFailed"


def says(build: Build, known: BuildState) -> BuildState:
    """The state of a build, of which the rest is known."""
    status = build.status
    phase, failed, note = _phase(build)
    state = replace(
        known,
        phase=phase,
        digest=status.output.to.image_digest if status.output.to is not None else "",
        failed=failed,
        started=moment(status.start_timestamp),
        ended=moment(status.completion_timestamp),
        note=note,
    )
    return replace(state, ending=status.cancelled and not state.is_over)


def _phase(build: Build) -> tuple[Phase, Failed | None, str]:
    status = build.status
    match status.phase:
        case "Running":
            return Phase.RUNNING, None, ""
        case "Complete":
            return Phase.SUCCEEDED, None, ""
        case "Cancelled":
            return Phase.FAILED, Failed(cause=Cause.CANCELLED, tail=_tail(status)), ""
        case "Failed" | "Error":
            if status.reason in _LOST:
                return Phase.INTERRUPTED, None, log.tail(f"{status.reason}: {status.message}")
            return Phase.FAILED, _failed(build), ""
        case _:
            return Phase.PENDING, None, log.tail(f"waits: {status.reason}: {status.message}") if status.reason else ""


def _failed(build: Build) -> Failed:
    status = build.status
    if status.reason in _CERTAIN:
        return Failed(cause=_CERTAIN[status.reason], tail=_tail(status))
    explained = explain(
        status.log_snippet or status.message, exit_code=None, doing="push" if status.reason == _PUSH else "build"
    )
    if explained.cause is Cause.UNKNOWN and status.reason == _GENERIC and _is_overdue(build):
        return replace(explained, cause=Cause.DEADLINE, tail=_tail(status))
    return replace(explained, tail=_tail(status))


def _is_overdue(build: Build) -> bool:
    created, ended = moment(build.metadata.creation_timestamp), moment(build.status.completion_timestamp)
    deadline = build.spec.completion_deadline_seconds
    # From the creation: it is not recorded when the Pod was scheduled, from which OpenShift counts.
    if created is None or ended is None or deadline is None:
        return False
    return (ended - created).total_seconds() >= deadline


def _tail(status: BuildStatus) -> str:
    """The end of the log; without one, what OpenShift says."""
    return log.tail(status.log_snippet) or log.tail(f"{status.reason}: {status.message}" if status.reason else "")
