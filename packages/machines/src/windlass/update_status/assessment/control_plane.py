"""Assesses the control plane: how many operators have reached the target, what they say, and since when."""

import re
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Final

from msgspec import structs

from windlass.api.config import ClusterOperator, ClusterVersionStatus, UpdateHistory
from windlass.api.meta import PlainCondition
from windlass.update_status.assessment.request import request_of
from windlass.update_status.conditions import find, find_last
from windlass.update_status.constants import MACHINE_CONFIG_OPERATOR, PAYLOAD_ANNOTATIONS
from windlass.update_status.report import ControlPlane, Health, Operator, State, Versions
from windlass.update_status.sources import Known, Sources, Unknown
from windlass.update_status.times import HOUR, ZERO, Duration, Moment, moment, since

USUAL: Final[Duration] = HOUR
"""What an update of the control plane takes if no earlier one tells."""


class Problem(Exception):
    """There can be no report; the text is `oc`'s."""


def assess_control_plane(sources: Sources) -> tuple[ControlPlane, list[str]]:
    """The control plane, and what is not known of it. Raises Problem."""
    if not sources.operators:
        raise Problem(
            "no cluster operator information available - you must be connected to an OpenShift version 4 server"
        )
    status = sources.cluster_version.status
    progressing = find(status.conditions, "Progressing")
    if progressing is None:
        raise Problem("no current Progressing info, see `oc describe clusterversion` for more details.")
    operators = [
        _operator(operator, target=status.desired.version, image=sources.operator_image)
        for operator in platform_operators(sources.operators)
    ]
    history, gaps = status.history, list[str]()
    changed = moment(progressing.last_transition_time)
    plane = ControlPlane(
        updating=progressing.status,
        reason=progressing.reason,
        message=progressing.message,
        since=changed,
        doubt=_doubt(progressing.status, history),
        versions=_versions(status),
        started=changed,
        baseline=USUAL,
        operators=tuple(operators),
        request=request_of(sources.cluster_version),
    )
    if isinstance(sources.operator_image, Unknown) and progressing.status != "False":
        gaps.append(f"whether {MACHINE_CONFIG_OPERATOR} runs the image of the target: {sources.operator_image.reason}")
    if history:
        plane = _by_history(plane, history, gaps)
    return plane, gaps


def platform_operators(operators: Iterable[ClusterOperator]) -> list[ClusterOperator]:
    """Those that come with the release; others have no part in an update."""
    return [one for one in operators if any(key.startswith(PAYLOAD_ANNOTATIONS) for key in one.metadata.annotations)]


def is_multi_arch(history: Sequence[UpdateHistory]) -> bool:
    """Whether the update is a migration of the same version to the payload for several architectures."""
    return len(history) > 1 and history[0].version == history[1].version and history[0].image != history[1].image


def _doubt(progressing: str, history: Sequence[UpdateHistory]) -> str:
    """How the history contradicts the condition Progressing. Source: the rules of OpenShift's status controller."""
    if not history:
        return "Empty history in ClusterVersion"
    newest = history[0]
    match progressing:
        case "True" if newest.state != "Partial":
            return "Progressing=True in ClusterVersion but last history item is not Partial"
        case "True" if newest.completion_time:
            return "Progressing=True in ClusterVersion but last history item has completion time"
        case "False" if newest.state != "Completed":
            return "Progressing=False in ClusterVersion but last history item is not completed"
        case "False" if not newest.completion_time:
            return "Progressing=False in ClusterVersion but last history item has no completion time"
    return ""


def _is_same_arch(status: ClusterVersionStatus) -> bool:
    """Whether the release is known to be for one architecture. Older operators do not say it in `status.desired`."""
    accepted = find(status.conditions, "ReleaseAccepted")
    named = _ARCHITECTURE.search(accepted.message) if accepted else None
    return status.desired.architecture != _MULTI and named is not None and named[1] != _MULTI


_MULTI: Final = "Multi"
_ARCHITECTURE: Final = re.compile(r'^Payload loaded .*\barchitecture="([^"]*)"')


def _versions(status: ClusterVersionStatus) -> Versions | None:
    history = status.history
    if not history:
        return None
    if len(history) == 1:
        return Versions(target=history[0].version)
    unfinished = [item.version for item in takewhile(lambda item: item.state == "Partial", history[1:])]
    return Versions(
        target=history[0].version,
        previous=history[1].version,
        incomplete=bool(unfinished),
        multi_arch=is_multi_arch(history),
        same_arch=is_multi_arch(history) and _is_same_arch(status),
        unfinished=tuple(unfinished),
        completed=next((item.version for item in history[1:] if item.state == "Completed"), None),
    )


def _operator(operator: ClusterOperator, *, target: str, image: Known[str]) -> Operator:
    conditions = operator.status.conditions
    progressing = find_last(conditions, "Progressing") or _NONE
    available = find_last(conditions, "Available") or _NONE
    degraded = find_last(conditions, "Degraded") or _NONE
    if _is_updated(operator, target=target, image=image):
        state = State.UPDATED
    else:
        state = {"True": State.PROGRESSING, "False": State.PENDING}.get(progressing.status, State.UNKNOWN)
    if available.status != "True":
        health, tells = Health.UNAVAILABLE, available
    elif degraded.status == "True":
        health, tells = Health.DEGRADED, degraded
    else:
        health, tells = Health.HEALTHY, available
    return Operator(
        name=operator.metadata.name,
        state=state,
        health=health,
        since=moment(progressing.last_transition_time),
        reason=progressing.reason,
        message=progressing.message,
        health_since=moment(tells.last_transition_time),
        health_reason=tells.reason,
        health_message=tells.message,
    )


_NONE: Final = PlainCondition(type="", status="")


def _is_updated(operator: ClusterOperator, *, target: str, image: Known[str]) -> bool:
    """An operator reports its version at once; the Machine Config Operator has arrived when it runs the new image."""
    versions = operator.status.versions
    if not any(one.name == "operator" and one.version == target for one in versions):
        return False
    if operator.metadata.name != MACHINE_CONFIG_OPERATOR or isinstance(image, Unknown):
        return True
    return all(one.version == image for one in versions if one.name == "operator-image")


def _by_history(plane: ControlPlane, history: Sequence[UpdateHistory], gaps: list[str]) -> ControlPlane:
    newest = history[0]
    started = moment(newest.started_time)
    completed = None
    if newest.state == "Completed":
        if newest.completion_time:
            completed = moment(newest.completion_time)
        else:
            gaps.append("when the update was completed: status.history[0] of ClusterVersion has no completionTime")
    baseline = USUAL if plane.all_updated else _baseline(history, gaps)
    return with_last_progress(structs.replace(plane, started=started, completed=completed, baseline=baseline))


def with_last_progress(plane: ControlPlane) -> ControlPlane:
    """The control plane with the last transition of an operator since its update began, if there was one."""
    last = _last_progress(plane)
    return structs.replace(plane, last_progress=last if last > plane.started else None)


def _last_progress(plane: ControlPlane) -> Moment:
    """When an operator last changed; the nodes' restarts make others change while the Machine Config Operator works."""
    if len(plane.operators) - plane.updated == 1:
        for one in plane.operators:
            if one.name == MACHINE_CONFIG_OPERATOR and one.state is State.PROGRESSING and one.since != ZERO:
                return one.since
    return max((one.since for one in plane.operators), default=ZERO)


def _baseline(history: Sequence[UpdateHistory], gaps: list[str]) -> Duration:
    """What the latest completed update took, the installation excluded."""
    for number, item in enumerate(history[1:-1], start=1):
        if item.state == "Completed":
            if item.completion_time:
                return since(moment(item.started_time), moment(item.completion_time))
            gaps.append(
                f"how long earlier updates took: status.history[{number}] of ClusterVersion has no completionTime"
            )
            return USUAL
    return USUAL
