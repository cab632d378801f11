"""The control plane and its operators as insights, and back. `before` is the same insight as it stands."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, Literal

from msgspec import structs

from windlass.api.update_insights import (
    ARCHITECTURE,
    INSTALLATION,
    MOST_BASIS,
    MOST_SUMMARY,
    MOST_UNFINISHED,
    MOST_VERSION,
    NO_VERSION,
    PARTIAL,
    Assessment,
    ClusterOperatorInsight,
    ClusterVersionInsight,
    Condition,
    ControlPlaneVersions,
    ExpectedEnd,
    OperatorCondition,
    Progressing,
    ProgressingCondition,
    ResourceRef,
    Status,
    UpdateRequest,
    Version,
    VersionMetadata,
)
from windlass.update_status.assessment.control_plane import with_last_progress
from windlass.update_status.constants import CLUSTER_VERSION
from windlass.update_status.document.validity import holds
from windlass.update_status.document.writer import Writer, fitting, settled_estimate, settles, written, written_if_known
from windlass.update_status.estimate import Progress, progress
from windlass.update_status.report import (
    ControlPlane,
    Estimate,
    Health,
    Operator,
    Request,
    RequestState,
    State,
    Versions,
)
from windlass.update_status.times import SECOND, known_moment, moment

CONFIG: Final = "config.openshift.io"
VERSION_REF: Final = ResourceRef(group=CONFIG, resource="clusterversions", name=CLUSTER_VERSION)
MOST_REASON: Final = 1024
MULTI: Final = "multi"
SINGLE: Final = "single"

OperatorReason = Literal["Updated", "Pending", "Progressing", "CannotDetermine"]
ProgressingReason = Literal["ClusterVersionProgressing", "ClusterVersionNotProgressing", "CannotDetermineUpdating"]


def condition_of(conditions: Iterable[Condition], kind: str) -> Condition:
    return next((one for one in conditions if one.type == kind), _ABSENT)


# Nothing is known of a condition that is not there.
_ABSENT: Final = Condition(type="", status="Unknown", reason="", message="", last_transition_time="")


# The control plane.


def progressing_condition(
    plane: ControlPlane, before: tuple[ProgressingCondition, ...], writer: Writer
) -> ProgressingCondition:
    status: Status = "Unknown" if plane.doubt else _progressing_status(plane)
    return ProgressingCondition(
        type="Updating",
        status=status,
        reason=_PROGRESSING[status],
        message=plane.doubt or writer.message(plane.message, "ClusterVersion"),
        last_transition_time=writer.changed(before, "Updating", status, None if plane.doubt else plane.since),
    )


def _progressing_status(plane: ControlPlane) -> Status:
    return "True" if plane.updating == "True" else "False" if plane.updating == "False" else "Unknown"


_PROGRESSING: Final[dict[Status, ProgressingReason]] = {
    "True": "ClusterVersionProgressing",
    "False": "ClusterVersionNotProgressing",
    "Unknown": "CannotDetermineUpdating",
}


def cluster_version(plane: ControlPlane, before: ClusterVersionInsight | None, writer: Writer) -> ClusterVersionInsight:
    found = progress(plane, writer.now)
    estimated = None
    if found.estimate:
        stood = before.estimated_completed_at if before else None
        estimated = settled_estimate(writer.now + found.estimate, before=stood, now=writer.now)
    return ClusterVersionInsight(
        conditions=(progressing_condition(plane, before.conditions if before else (), writer),),
        resource=VERSION_REF,
        assessment=assessed(found),
        versions=_versions(plane.versions, writer),
        completion_percent=percent(found),
        started_at=written_if_known(plane.started),
        completed_at=None if plane.completed is None else written(plane.completed),
        estimated_completed_at=estimated,
        baseline_seconds=plane.baseline // SECOND,
        progressing_reason=writer.shortened(plane.reason, MOST_REASON, "the reason of ClusterVersion"),
        # What the condition Updating does not tell.
        progressing=Progressing(
            status=_progressing_status(plane),
            message=writer.message(plane.message, "ClusterVersion"),
            last_transition_time=written(plane.since),
        )
        if plane.doubt
        else None,
        expected_end=expected_end(plane.expected, before.expected_end if before else None, writer),
        request=_request(plane.request, writer),
    )


def _request(found: Request | None, writer: Writer) -> UpdateRequest | None:
    if found is None:
        return None
    return UpdateRequest(
        target=writer.shortened(found.target, MOST_SUMMARY, "the release that was asked for"),
        state=found.state.value,
        reason=writer.shortened(found.reason, MOST_REASON, "the reason of the refusal"),
        message=writer.message(found.message, "the refusal"),
        since=written_if_known(found.since),
    )


def _request_of(found: UpdateRequest | None) -> Request | None:
    if found is None:
        return None
    return Request(
        target=found.target,
        state=RequestState(found.state),
        reason=found.reason,
        message=found.message,
        since=known_moment(found.since),
    )


_ASSESSMENTS: Final[dict[str, Assessment]] = {
    "Progressing": "Progressing",
    "Completed": "Completed",
    "Progressing - Slow": "Slow",
    "Stalled": "Stalled",
}


def assessed(found: Progress) -> Assessment:
    return _ASSESSMENTS[found.assessment]


def percent(found: Progress) -> int:
    return int(f"{found.completion:.0f}")


def control_plane_of(found: ClusterVersionInsight, operators: Iterable[ClusterOperatorInsight]) -> ControlPlane:
    updating = condition_of(found.conditions, "Updating")
    progressing = found.progressing or updating
    plane = ControlPlane(
        updating=progressing.status,
        reason=found.progressing_reason,
        message=progressing.message,
        since=moment(progressing.last_transition_time),
        doubt=updating.message if found.progressing else "",
        versions=_versions_of(found.versions) if found.versions else None,
        started=moment(found.started_at),
        completed=None if found.completed_at is None else moment(found.completed_at),
        baseline=found.baseline_seconds * SECOND,
        operators=tuple(map(operator_of, operators)),
        expected=estimate_of(found.expected_end),
        request=_request_of(found.request),
    )
    return plane if plane.versions is None else with_last_progress(plane)


# Expected ends.


def expected_end(found: Estimate | None, before: ExpectedEnd | None, writer: Writer) -> ExpectedEnd | None:
    """The range of before as long as none of its ends moved by much: otherwise each look would be a write."""
    if found is None:
        return None
    ends = (found.earliest, found.middle, found.latest)
    basis = fitting(found.basis, MOST_BASIS)
    if before is not None:
        stood = (before.earliest, before.middle, before.latest)
        width = found.latest - found.earliest
        if all(settles(end, before=one, now=writer.now, width=width) for end, one in zip(ends, stood, strict=True)):
            return before if before.basis == basis else structs.replace(before, basis=basis)
    earliest, middle, latest = map(written, ends)
    return ExpectedEnd(earliest=earliest, middle=middle, latest=latest, basis=basis)


def estimate_of(found: ExpectedEnd | None) -> Estimate | None:
    if found is None:
        return None
    earliest, middle, latest = map(moment, (found.earliest, found.middle, found.latest))
    return Estimate(earliest=earliest, middle=middle, latest=latest, basis=found.basis)


# Versions.


def _versions(versions: Versions | None, writer: Writer) -> ControlPlaneVersions | None:
    if versions is None:
        return None
    for one in (versions.target, versions.previous):
        if one is not None and not is_version(one):
            writer.said.append(f"the versions of the update were left out: {one[:64]!r} is not a version")
            return None
    if versions.previous is None:
        previous = Version(version=NO_VERSION, metadata=(VersionMetadata(key=INSTALLATION),))
    else:
        marks = (VersionMetadata(key=PARTIAL),) if versions.incomplete else ()
        previous = Version(version=versions.previous, metadata=marks)
    architecture = SINGLE if versions.same_arch else MULTI
    multi = (VersionMetadata(key=ARCHITECTURE, value=architecture),) if versions.multi_arch else ()
    if len(versions.unfinished) > MOST_UNFINISHED:
        writer.said.append(f"{len(versions.unfinished) - MOST_UNFINISHED} unfinished versions were left out")
    return ControlPlaneVersions(
        previous=previous,
        target=Version(version=versions.target, metadata=multi),
        unfinished=tuple(_version_text(one, writer) for one in versions.unfinished[:MOST_UNFINISHED]),
        last_completed=None if versions.completed is None else _version_text(versions.completed, writer),
    )


def _version_text(text: str, writer: Writer) -> str:
    return writer.shortened(text, MOST_VERSION, "an earlier version")


@lru_cache(maxsize=256)  # thousands of nodes run a few versions
def is_version(text: str) -> bool:
    return text != NO_VERSION and holds(Version(version=text))


def _versions_of(found: ControlPlaneVersions) -> Versions:
    of_target, of_previous = ({one.key for one in each.metadata} for each in (found.target, found.previous))
    return Versions(
        target=found.target.version,
        previous=None if INSTALLATION in of_previous else found.previous.version,
        incomplete=PARTIAL in of_previous,
        multi_arch=ARCHITECTURE in of_target,
        same_arch=any(one.key == ARCHITECTURE and one.value == SINGLE for one in found.target.metadata),
        unfinished=found.unfinished,
        completed=found.last_completed,
    )


# Operators.

_UPDATING: Final[dict[State, tuple[Status, OperatorReason]]] = {
    State.UPDATED: ("False", "Updated"),
    State.PENDING: ("False", "Pending"),
    State.PROGRESSING: ("True", "Progressing"),
    State.UNKNOWN: ("Unknown", "CannotDetermine"),
}
_HEALTH: Final[dict[Health, Literal["AsExpected", "Unavailable", "Degraded"]]] = {
    Health.HEALTHY: "AsExpected",
    Health.UNAVAILABLE: "Unavailable",
    Health.DEGRADED: "Degraded",
}
_STATE_OF: Final[dict[str, State]] = {reason: state for state, (_, reason) in _UPDATING.items()}
_HEALTH_OF: Final[dict[str, Health]] = {reason: health for health, reason in _HEALTH.items()}


def cluster_operator(
    operator: Operator, before: ClusterOperatorInsight | None, writer: Writer
) -> ClusterOperatorInsight:
    name = f"ClusterOperator {operator.name}"
    stood = before.conditions if before else ()
    updating, reason = _UPDATING[operator.state]
    healthy: Status = "True" if operator.health is Health.HEALTHY else "False"
    since = operator.since if updating == "True" else None
    health_since = operator.health_since if healthy == "False" else None
    return ClusterOperatorInsight(
        conditions=(
            OperatorCondition(
                type="Updating",
                status=updating,
                reason=reason,
                message=writer.message(operator.message, name),
                last_transition_time=writer.changed(stood, "Updating", updating, since),
            ),
            OperatorCondition(
                type="Healthy",
                status=healthy,
                reason=_HEALTH[operator.health],
                message=writer.message(operator.health_message, name),
                last_transition_time=writer.changed(stood, "Healthy", healthy, health_since),
            ),
        ),
        name=operator.name,
        resource=ResourceRef(group=CONFIG, resource="clusteroperators", name=operator.name),
        progressing_reason=writer.shortened(operator.reason, MOST_REASON, f"the reason of {name}"),
        progressing_since=written_if_known(operator.since),
        health_reason=writer.shortened(operator.health_reason, MOST_REASON, f"the reason of {name}"),
        health_since=written_if_known(operator.health_since),
    )


def operator_of(found: ClusterOperatorInsight) -> Operator:
    updating, healthy = (condition_of(found.conditions, kind) for kind in ("Updating", "Healthy"))
    return Operator(
        name=found.name,
        state=_STATE_OF.get(updating.reason, State.UNKNOWN),
        health=_HEALTH_OF.get(healthy.reason, Health.HEALTHY),
        since=moment(found.progressing_since),
        reason=found.progressing_reason,
        message=updating.message,
        health_since=moment(found.health_since),
        health_reason=found.health_reason,
        health_message=healthy.message,
    )
