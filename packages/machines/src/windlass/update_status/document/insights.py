"""Writes each part of a report as the insight of its kind. `before` is the same insight as it stands."""

from functools import lru_cache
from typing import Final, Literal

from msgspec import Struct, structs

from windlass.api.machineconfiguration import GROUP as MACHINE_CONFIGURATION
from windlass.api.update_insights import (
    ARCHITECTURE,
    INSTALLATION,
    MOST_BASIS,
    MOST_NODE_MESSAGE,
    MOST_RESOURCES,
    MOST_SUMMARY,
    MOST_UNFINISHED,
    MOST_VERSION,
    NO_VERSION,
    PARTIAL,
    AboutRef,
    ClusterOperatorInsight,
    ClusterVersionInsight,
    ControlPlaneVersions,
    ExpectedEnd,
    HealthInsight,
    InsightImpact,
    InsightRemediation,
    InsightScope,
    MachineConfigPoolInsight,
    NodeCondition,
    NodeCount,
    NodeInsight,
    OperatorCondition,
    PoolCondition,
    PoolRef,
    Progressing,
    ProgressingCondition,
    ResourceRef,
    ScopeType,
    Status,
    Version,
    VersionMetadata,
)
from windlass.update_status.assessment.alerts import NO_RUNBOOK
from windlass.update_status.constants import CLUSTER_VERSION, MASTER
from windlass.update_status.document.validity import holds
from windlass.update_status.document.writer import Writer, fitting, settled_estimate, settles, written, written_if_known
from windlass.update_status.estimate import Progress, progress
from windlass.update_status.report import (
    ControlPlane,
    Estimate,
    Health,
    InformerInsight,
    Insight,
    Level,
    Node,
    Operator,
    Phase,
    Pool,
    Reference,
    State,
    Summary,
)
from windlass.update_status.times import SECOND, ZERO

CONFIG: Final = "config.openshift.io"
VERSION_REF: Final = ResourceRef(group=CONFIG, resource="clusterversions", name=CLUSTER_VERSION)
MOST_REASON: Final = 1024
MULTI: Final = "multi"

OperatorReason = Literal["Updated", "Pending", "Progressing", "CannotDetermine"]
NodeReason = Literal["Draining", "Updating", "Rebooting", "Paused", "Pending", "Completed", "CannotDetermine"]


@lru_cache(maxsize=64)
def pool_ref(name: str) -> ResourceRef:
    return ResourceRef(group=MACHINE_CONFIGURATION, resource="machineconfigpools", name=name)


@lru_cache(maxsize=64)
def _pool_of(name: str) -> PoolRef:
    """The same in an insight."""
    return PoolRef(group="machineconfiguration.openshift.io", resource="machineconfigpools", name=name)


def scope_of_pool(name: str) -> ScopeType:
    return "ControlPlane" if name == MASTER else "WorkerPool"


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


def _progressing(plane: ControlPlane, writer: Writer) -> Progressing | None:
    """What the condition Updating does not tell."""
    if not plane.doubt:
        return None
    return Progressing(
        status=_progressing_status(plane),
        message=writer.message(plane.message, "ClusterVersion"),
        last_transition_time=written(plane.since),
    )


_PROGRESSING: Final[
    dict[
        Status,
        Literal["ClusterVersionProgressing", "ClusterVersionNotProgressing", "CannotDetermineUpdating"],
    ]
] = {
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
        assessment=_ASSESSMENTS[found.assessment],
        versions=_versions(plane, writer),
        completion=percent(found),
        started_at=written_if_known(plane.started),
        completed_at=None if plane.completed is None else written(plane.completed),
        estimated_completed_at=estimated,
        last_progress_at=None if plane.last_progress is None else written(plane.last_progress),
        baseline_seconds=plane.baseline // SECOND,
        progressing_reason=writer.shortened(plane.reason, MOST_REASON, "the reason of ClusterVersion"),
        progressing=_progressing(plane, writer),
        expected_end=_expected_end(plane.expected, before.expected_end if before else None, writer),
    )


def _expected_end(found: Estimate | None, before: ExpectedEnd | None, writer: Writer) -> ExpectedEnd | None:
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


_ASSESSMENTS: Final[dict[str, Literal["Progressing", "Completed", "Slow", "Stalled"]]] = {
    "Progressing": "Progressing",
    "Completed": "Completed",
    "Progressing - Slow": "Slow",
    "Stalled": "Stalled",
}


def percent(found: Progress) -> int:
    return int(f"{found.completion:.0f}")


def _versions(plane: ControlPlane, writer: Writer) -> ControlPlaneVersions | None:
    versions = plane.versions
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
    multi = (VersionMetadata(key=ARCHITECTURE, value=MULTI),) if versions.multi_arch else ()
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


def cluster_operator(
    operator: Operator, before: ClusterOperatorInsight | None, writer: Writer
) -> ClusterOperatorInsight:
    name = f"ClusterOperator {operator.name}"
    stood = before.conditions if before else ()
    updating, reason = _UPDATING[operator.state]
    progressing = updating == "True"
    healthy: Status = "True" if operator.health is Health.HEALTHY else "False"
    return ClusterOperatorInsight(
        conditions=(
            OperatorCondition(
                type="Updating",
                status=updating,
                reason=reason,
                message=writer.message(operator.message, name),
                last_transition_time=writer.changed(
                    stood, "Updating", updating, operator.since if progressing else None
                ),
            ),
            OperatorCondition(
                type="Healthy",
                status=healthy,
                reason=_HEALTH[operator.health],
                message=writer.message(operator.health_message, name),
                last_transition_time=writer.changed(
                    stood, "Healthy", healthy, operator.health_since if healthy == "False" else None
                ),
            ),
        ),
        name=operator.name,
        resource=ResourceRef(group=CONFIG, resource="clusteroperators", name=operator.name),
        progressing_reason=writer.shortened(operator.reason, MOST_REASON, f"the reason of {name}"),
        progressing_since=written_if_known(operator.since),
        health_reason=writer.shortened(operator.health_reason, MOST_REASON, f"the reason of {name}"),
        health_since=written_if_known(operator.health_since),
    )


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


def pool_condition(summary: Summary, before: tuple[PoolCondition, ...], writer: Writer) -> PoolCondition:
    status: Status = "False"
    reason: Literal["Progressing", "Pending", "Updated", "Excluded"]
    if not summary.left:
        reason = "Updated"
    elif summary.progressing:
        status, reason = "True", "Progressing"
    elif summary.pending == summary.total:
        reason = "Pending"
    elif summary.excluded:
        reason = "Excluded"
    else:
        status, reason = "True", "Progressing"
    return PoolCondition(
        type="Updating",
        status=status,
        reason=reason,
        message="",
        last_transition_time=writer.changed(before, "Updating", status),
    )


def machine_config_pool(
    pool: Pool, before: MachineConfigPoolInsight | None, writer: Writer
) -> MachineConfigPoolInsight:
    summary = pool.summary
    return MachineConfigPoolInsight(
        conditions=(pool_condition(summary, before.conditions if before else (), writer),),
        name=pool.name,
        resource=_pool_of(pool.name),
        scope_type=scope_of_pool(pool.name),
        assessment=_POOL[summary.assessment],
        completion=round(summary.updated / summary.managed * 100) if summary.managed else 100,
        paused=pool.paused,
        expected_end=_expected_end(pool.expected, before.expected_end if before else None, writer),
        summaries=(
            NodeCount(type="Total", count=summary.total),
            NodeCount(type="Available", count=summary.available),
            NodeCount(type="Progressing", count=summary.progressing),
            NodeCount(type="Outdated", count=summary.outdated),
            NodeCount(type="Draining", count=summary.draining),
            NodeCount(type="Excluded", count=summary.excluded),
            NodeCount(type="Degraded", count=summary.degraded),
            NodeCount(type="Pending", count=summary.pending),
        ),
        unmanaged=summary.unmanaged,
    )


_POOL: Final[dict[str, Literal["Pending", "Completed", "Degraded", "Excluded", "Progressing"]]] = {
    "Pending": "Pending",
    "Completed": "Completed",
    "Degraded": "Degraded",
    "Excluded": "Excluded",
    "Progressing": "Progressing",
}


class _PhaseText(Struct, frozen=True):
    reason: NodeReason
    message: str
    estimate: str | None


_PHASES: Final = {
    Phase.DRAINING: _PhaseText("Draining", "The node is draining", "10m0s"),
    Phase.UPDATING: _PhaseText("Updating", "The node is updating", "5m0s"),
    Phase.REBOOTING: _PhaseText("Rebooting", "The node is rebooting", "5m0s"),
    Phase.PAUSED: _PhaseText("Paused", "The update of the node is paused", "0s"),
    Phase.PENDING: _PhaseText("Pending", "The update of the node is pending", None),
    Phase.UPDATED: _PhaseText("Completed", "The node is updated", "0s"),
}
_UNMANAGED: Final = _PhaseText("CannotDetermine", "No Machine Config Daemon has annotated the node yet", None)


def node_insight(node: Node, pool: str, before: NodeInsight | None, writer: Writer) -> NodeInsight:
    phase = _PHASES[node.phase] if node.managed else _UNMANAGED
    name = f"Node {node.name}"
    stood = before.conditions if before else ()
    updating: Status = "True" if node.updating else "False" if node.managed else "Unknown"
    available: Status = "False" if node.unavailable else "True"
    degraded: Status = "True" if node.degraded else "False"
    seen = next((one.reason for one in stood if one.type == "Updating"), None)
    return NodeInsight(
        conditions=(
            NodeCondition(
                type="Updating",
                status=updating,
                reason=phase.reason,
                message=phase.message,
                last_transition_time=writer.changed(stood, "Updating", updating),
            ),
            NodeCondition(
                type="Available",
                status=available,
                reason="Unavailable" if node.unavailable else "AsExpected",
                message=writer.message(node.why_unavailable, name) if node.unavailable else "The node is available",
                last_transition_time=writer.changed(stood, "Available", available, node.unavailable_since),
            ),
            NodeCondition(
                type="Degraded",
                status=degraded,
                reason="Degraded" if node.degraded else "AsExpected",
                message=writer.message(node.why_degraded, name) if node.degraded else "The node is not degraded",
                last_transition_time=writer.changed(stood, "Degraded", degraded, node.degraded_since),
            ),
        ),
        name=node.name,
        resource=ResourceRef(resource="nodes", name=node.name),
        pool_resource=_pool_of(pool),
        scope_type=scope_of_pool(pool),
        version=_node_version(node, writer),
        estimated_to_complete=_estimate(node) if node.managed else None,
        # The conditions have the whole text, so that nothing is lost.
        message=fitting(node.message, MOST_NODE_MESSAGE),
        step=node.step,
        step_started_at=written_if_known(node.since),
        unavailable_since=written_if_known(node.unavailable_since),
        degraded_since=written_if_known(node.degraded_since),
        observed_since=before.observed_since if before and seen == phase.reason else written(writer.now),
    )


def _node_version(node: Node, writer: Writer) -> str | None:
    if node.version and not is_version(node.version):
        writer.said.append(f"the version of Node {node.name} was left out: {node.version[:64]!r} is not a version")
        return None
    return node.version or None


def _estimate(node: Node) -> str | None:
    if node.degraded or node.out_of_service:
        return "0s" if node.updated else None
    return _PHASES[node.phase].estimate


def health_insight(insight: Insight, before: HealthInsight | None, writer: Writer) -> HealthInsight:
    what = f"{insight.summary[:80]!r}"
    started, source = _start(insight, before, writer)
    if len(insight.resources) > MOST_RESOURCES:
        writer.said.append(f"{len(insight.resources) - MOST_RESOURCES} objects of {what} were left out")
    reference = insight.reference if holds(InsightRemediation(reference=insight.reference)) else None
    if reference is None and insight.reference not in ("", NO_RUNBOOK):
        writer.said.append(f"the link of {what} was left out: it is no URL of http or https")
    return HealthInsight(
        started_at=started,
        start_source=source,
        scope=InsightScope(
            type=insight.scope.value,
            resources=tuple(map(about_ref, insight.resources[:MOST_RESOURCES])),
        ),
        impact=InsightImpact(
            level=_LEVELS[insight.level],
            type=insight.impact.value,
            summary=writer.shortened(insight.summary, MOST_SUMMARY, what),
            description=writer.message(insight.description, what),
        ),
        remediation=InsightRemediation(reference=reference),
        follows=None if insight.follows is None else about_ref(insight.follows),
    )


def informer_insight(told: InformerInsight, before: HealthInsight | None, writer: Writer) -> HealthInsight:
    insight = health_insight(told.insight, before, writer)
    stood = before.remediation.estimated_finish if before else None
    finish = None if told.finish is None else settled_estimate(told.finish, before=stood, now=writer.now)
    return structs.replace(insight, remediation=structs.replace(insight.remediation, estimated_finish=finish))


def about_ref(one: Reference) -> AboutRef:
    return AboutRef(group=one.group or None, resource=one.resource, name=one.name, namespace=one.namespace or None)


_LEVELS: Final[dict[Level, Literal["Info", "Warning", "Error", "Critical"]]] = {
    Level.INFO: "Info",
    Level.WARNING: "Warning",
    Level.ERROR: "Error",
    Level.CRITICAL: "Critical",
}


def _start(
    insight: Insight, before: HealthInsight | None, writer: Writer
) -> tuple[str, Literal["Reported", "FirstSeen", "Present"]]:
    source: Literal["FirstSeen", "Present"]
    if insight.started is None or insight.started == ZERO:
        source = "FirstSeen"
    elif insight.started == writer.now and any(one.resource == "clusterversions" for one in insight.resources):
        source = "Present"
    else:
        return written(insight.started), "Reported"
    stood = before.started_at if before and before.start_source == source else written(writer.now)
    return stood, source
