"""Reads the status of UpdateStatus as the report that it was written from."""

from collections.abc import Iterable, Sequence

from msgspec import structs

from windlass.api.update import (
    OWN_INFORMERS,
    CauseEntry,
    ControlPlaneEntry,
    ControlPlaneInformer,
    ControlPlaneStatus,
    ControlPlaneUnion,
    PoolStatus,
    UpdateStatusStatus,
    WorkerPoolEntry,
    WorkerPoolInformer,
    WorkerPoolUnion,
)
from windlass.api.update_insights import (
    ARCHITECTURE,
    INSTALLATION,
    PARTIAL,
    AboutRef,
    ClusterOperatorInsight,
    ClusterVersionInsight,
    Condition,
    ControlPlaneVersions,
    ExpectedEnd,
    HealthInsight,
    MachineConfigPoolInsight,
    NodeInsight,
    Version,
)
from windlass.update_status.assessment.alerts import NO_RUNBOOK
from windlass.update_status.constants import ALERTS, MASTER
from windlass.update_status.document.sections import NI
from windlass.update_status.report import (
    Cause,
    CauseKind,
    ControlPlane,
    Estimate,
    Health,
    Impact,
    Informed,
    InformerInsight,
    Insight,
    Level,
    Node,
    Operator,
    Phase,
    Pool,
    Reference,
    Report,
    Scope,
    State,
    Summary,
    Versions,
)
from windlass.update_status.times import SECOND, Moment, known_moment, moment

Union = ControlPlaneUnion | WorkerPoolUnion
Informer = ControlPlaneInformer | WorkerPoolInformer


class NothingWritten(Exception):
    """The status has no insight into ClusterVersion: its controller has not written it yet."""


def read(status: UpdateStatusStatus, *, now: Moment) -> Report:
    """The report that `status` was written from, apart from what had to be left out.

    `now` is the start of insights that `oc` counts from the present. Raises NothingWritten.
    """
    plane = status.control_plane
    own = [one for one in plane.informers if one.name in OWN_INFORMERS] if plane else []
    inside = [(one.name, entry.insight) for one in own for entry in one.insights]
    version = next((insight.cluster_version for _, insight in inside if insight.cluster_version), None)
    if plane is None or version is None:
        raise NothingWritten("the UpdateStatus has no insight into ClusterVersion: no controller has written it yet")
    pools = [
        (one.name, [entry.insight for each in _own(one) for entry in each.insights]) for one in status.worker_pools
    ]
    # Insights of equal weight are shown in this order: those of each pool, then those of the control plane.
    place = min(plane.pools_before, len(pools))
    masters: list[Union] = [insight for informer, insight in inside if informer == NI]
    in_order: list[tuple[str, Sequence[Union]]] = [*pools[:place], (MASTER, masters), *pools[place:]]
    found = [one for name, insights in in_order for one in _insights(insights, "" if name == MASTER else name, now)]
    found += _insights((insight for informer, insight in inside if informer != NI), "", now)
    return Report(
        control_plane=_control_plane(version, [one.cluster_operator for _, one in inside if one.cluster_operator]),
        pools=tuple(_pool(name, of) for name, of in in_order if name != MASTER or plane.pool_resource is not None),
        unassigned=status.unassigned_nodes,
        insights=tuple(found),
        causes=tuple(map(_cause, status.causes)),
        alerts=status.alerts_missing,
        gaps=status.gaps,
        informed=informed_of(status, now=now),
    )


def health_insights(status: UpdateStatusStatus) -> dict[str, HealthInsight]:
    """What needs attention, by uid, without what informers of others told."""
    places = (status.control_plane, *status.worker_pools)
    found = [entry for place in places for one in _own(place) for entry in one.insights]
    return {entry.uid: entry.insight.health for entry in found if entry.insight.health}


def _own(place: ControlPlaneStatus | PoolStatus | None) -> list[Informer]:
    """The controller's own informers."""
    return [one for one in place.informers if one.name in OWN_INFORMERS] if place else []


def informed_of(status: UpdateStatusStatus, *, now: Moment) -> tuple[Informed, ...]:
    """What informers of others told, in the control plane first, and then in each pool. `now` as in `read`."""
    places: list[tuple[str, ControlPlaneStatus | PoolStatus | None]] = [("", status.control_plane)]
    places += [(pool.name, pool) for pool in status.worker_pools]
    found: dict[str, Informed] = {}
    for pool, place in places:
        for one in place.informers if place else ():
            if one.name in OWN_INFORMERS:
                continue
            told = tuple(_informer_insight(entry, pool, now) for entry in one.insights)
            stood = found.get(one.name)
            found[one.name] = Informed(
                name=one.name,
                namespace=one.namespace or "",
                stale_since=known_moment(one.stale_since),
                insights=(*(stood.insights if stood else ()), *(each for each in told if each is not None)),
            )
    return tuple(found.values())


def _informer_insight(entry: ControlPlaneEntry | WorkerPoolEntry, pool: str, now: Moment) -> InformerInsight | None:
    health = entry.insight.health
    if health is None:
        return None
    finish = known_moment(health.remediation.estimated_finish)
    return InformerInsight(uid=entry.uid, insight=_insight(health, pool, now), finish=finish)


def _control_plane(found: ClusterVersionInsight, operators: Iterable[ClusterOperatorInsight]) -> ControlPlane:
    updating = _condition(found.conditions, "Updating")
    progressing = found.progressing or updating
    return ControlPlane(
        updating=progressing.status,
        reason=found.progressing_reason,
        message=progressing.message,
        since=moment(progressing.last_transition_time),
        doubt=updating.message if found.progressing else "",
        versions=_versions(found.versions) if found.versions else None,
        started=moment(found.started_at),
        completed=None if found.completed_at is None else moment(found.completed_at),
        last_progress=None if found.last_progress_at is None else moment(found.last_progress_at),
        baseline=found.baseline_seconds * SECOND,
        operators=tuple(_operator(operator) for operator in operators),
        expected=_estimate(found.expected_end),
    )


def _estimate(found: ExpectedEnd | None) -> Estimate | None:
    if found is None:
        return None
    earliest, middle, latest = map(moment, (found.earliest, found.middle, found.latest))
    return Estimate(earliest=earliest, middle=middle, latest=latest, basis=found.basis)


def _versions(found: ControlPlaneVersions) -> Versions:
    target, previous = found.target, found.previous
    return Versions(
        target=target.version,
        previous=None if _has(previous, INSTALLATION) else previous.version,
        incomplete=_has(previous, PARTIAL),
        multi_arch=_has(target, ARCHITECTURE),
        unfinished=found.unfinished,
        completed=found.last_completed,
    )


def _has(version: Version, key: str) -> bool:
    return any(one.key == key for one in version.metadata)


def _operator(found: ClusterOperatorInsight) -> Operator:
    updating, healthy = _condition(found.conditions, "Updating"), _condition(found.conditions, "Healthy")
    state = {"Updated": State.UPDATED, "Pending": State.PENDING}.get(updating.reason, State.UNKNOWN)
    health = {"Unavailable": Health.UNAVAILABLE, "Degraded": Health.DEGRADED}.get(healthy.reason, Health.HEALTHY)
    return Operator(
        name=found.name,
        state=State.PROGRESSING if updating.status == "True" else state,
        health=health,
        since=moment(found.progressing_since),
        reason=found.progressing_reason,
        message=updating.message,
        health_since=moment(found.health_since),
        health_reason=found.health_reason,
        health_message=healthy.message,
    )


def _pool(name: str, insights: Sequence[Union]) -> Pool:
    found = next((one.machine_config_pool for one in insights if one.machine_config_pool), None)
    return Pool(
        name=name,
        paused=found.paused if found else False,
        expected=_estimate(found.expected_end) if found else None,
        summary=_summary(found) if found else Summary(),
        nodes=tuple(_node(one.node, paused=found.paused if found else False) for one in insights if one.node),
    )


def _summary(found: MachineConfigPoolInsight) -> Summary:
    counts = {one.type.lower(): one.count for one in found.summaries}
    return structs.replace(Summary(unmanaged=found.unmanaged), **counts)


def _node(found: NodeInsight, *, paused: bool) -> Node:
    updating, available, degraded = (
        _condition(found.conditions, kind) for kind in ("Updating", "Available", "Degraded")
    )
    managed = updating.reason != "CannotDetermine"
    guessed = Phase.PAUSED if paused else Phase.PENDING
    is_unavailable, is_degraded = available.status == "False", degraded.status == "True"
    return Node(
        name=found.name,
        phase=_PHASES.get(updating.reason, Phase.PENDING) if managed else guessed,
        managed=managed,
        updating=updating.status == "True",
        version=found.version or "",
        unavailable=is_unavailable,
        why_unavailable=available.message if is_unavailable else "",
        unavailable_since=known_moment(found.unavailable_since),
        degraded=is_degraded,
        why_degraded=degraded.message if is_degraded else "",
        degraded_since=known_moment(found.degraded_since),
        since=known_moment(found.step_started_at),
        first_seen=moment(found.observed_since),
        step=found.step,
    )


_PHASES = {
    "Draining": Phase.DRAINING,
    "Updating": Phase.UPDATING,
    "Rebooting": Phase.REBOOTING,
    "Paused": Phase.PAUSED,
    "Pending": Phase.PENDING,
    "Completed": Phase.UPDATED,
}


def _insights(insights: Iterable[Union], pool: str, now: Moment) -> list[Insight]:
    return [_insight(one.health, pool, now) for one in insights if one.health]


def _insight(found: HealthInsight, pool: str, now: Moment) -> Insight:
    started = {"FirstSeen": None, "Present": now}.get(found.start_source, moment(found.started_at))
    of_alert = any(one.resource == ALERTS for one in found.scope.resources)
    return Insight(
        level=_LEVELS.get(found.impact.level, Level.INFO),
        impact=Impact(found.impact.type),
        summary=found.impact.summary,
        description=found.impact.description,
        reference=found.remediation.reference or (NO_RUNBOOK if of_alert else ""),
        started=started,
        first_seen=moment(found.started_at) if started is None else None,
        resources=tuple(_reference(one) for one in found.scope.resources),
        scope=Scope(found.scope.type),
        pool=pool,
        follows=None if found.follows is None else _reference(found.follows),
    )


def _cause(found: CauseEntry) -> Cause:
    started, reported = moment(found.started_at), found.start_source == "Reported"
    return Cause(
        kind=CauseKind(found.type),
        level=_LEVELS[found.level],
        summary=found.summary,
        description=found.description,
        remedy=found.remedy,
        started=started if reported else None,
        first_seen=None if reported else started,
        about=tuple(map(_reference, found.about)),
        affected=tuple(map(_reference, found.affected)),
    )


_LEVELS = {level.title: level for level in Level}


def _reference(found: AboutRef) -> Reference:
    return Reference(found.group or "", found.resource, found.name, found.namespace or "")


def _condition(conditions: Iterable[Condition], kind: str) -> Condition:
    return next((one for one in conditions if one.type == kind), _ABSENT)


# Nothing is known of a condition that is not there.
_ABSENT = Condition(type="", status="Unknown", reason="", message="", last_transition_time="")
