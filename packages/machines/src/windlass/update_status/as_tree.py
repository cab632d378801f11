"""The report for programs: `windlass status -o json` and `-o yaml`, and the web page. docs/cli.md has the keys.

Times are RFC 3339, durations seconds; a time that is not known is null.
"""

from typing import Any

from windlass.update_status.estimate import progress
from windlass.update_status.report import (
    Cause,
    ControlPlane,
    Estimate,
    Informed,
    Insight,
    Node,
    Operator,
    Pool,
    Reference,
    Report,
)
from windlass.update_status.times import SECOND, ZERO, Duration, Moment, rfc3339_nano


def tree(report: Report, *, now: Moment) -> dict[str, Any]:
    """The report as it is at `now`."""
    return {
        "time": _time(now),
        "updating": report.updating,
        "controlPlane": _control_plane(report.control_plane, now),
        "pools": [_pool(pool) for pool in report.pools],
        "unassignedNodes": list(report.unassigned),
        "causes": [_cause(cause) for cause in report.causes],
        "insights": [_insight(insight) for insight in report.insights],
        "alerts": report.alerts,
        "gaps": list(report.gaps),
        "informers": [_informed(informed) for informed in report.informed],
    }


def _control_plane(plane: ControlPlane, now: Moment) -> dict[str, Any]:
    found, versions = progress(plane, now), plane.versions
    return {
        "assessment": found.assessment,
        "completion": round(found.completion, 2),
        "versions": None
        if versions is None
        else {
            "target": versions.target,
            "previous": versions.previous,
            "incomplete": versions.incomplete,
            "multiArch": versions.multi_arch,
            "rollback": versions.rollback,
        },
        "progressing": {
            "status": plane.updating,
            "reason": plane.reason,
            "message": plane.message,
            "since": _time(plane.since),
        },
        "started": _time(plane.started),
        "completed": _time(plane.completed),
        "duration": _seconds(found.duration),
        "estimate": _seconds(found.estimate),
        "expected": _seconds(found.expected),
        "expectedEnd": _range(plane.expected),
        "operators": [_operator(operator) for operator in plane.operators],
    }


def _operator(operator: Operator) -> dict[str, Any]:
    return {
        "name": operator.name,
        "state": operator.state.value,
        "since": _time(operator.since),
        "reason": operator.reason,
        "message": operator.message,
        "health": operator.health.value,
        "healthSince": _time(operator.health_since),
        "healthReason": operator.health_reason,
        "healthMessage": operator.health_message,
    }


def _pool(pool: Pool) -> dict[str, Any]:
    summary = pool.summary
    return {
        "name": pool.name,
        "paused": pool.paused,
        "assessment": summary.assessment,
        "expectedEnd": _range(pool.expected),
        "summary": {
            "total": summary.total,
            "updated": summary.updated,
            "available": summary.available,
            "progressing": summary.progressing,
            "outdated": summary.outdated,
            "draining": summary.draining,
            "excluded": summary.excluded,
            "degraded": summary.degraded,
            "pending": summary.pending,
            "unmanaged": summary.unmanaged,
        },
        "nodes": [_node(node) for node in pool.nodes],
    }


def _node(node: Node) -> dict[str, Any]:
    return {
        "name": node.name,
        "assessment": node.assessment.value,
        "phase": node.phase.value,
        "managed": node.managed,
        "since": _time(node.since),
        "firstSeen": _time(node.first_seen),
        "step": node.step,
        "updating": node.updating,
        "version": node.version,
        "unavailable": node.unavailable,
        "unavailableSince": _time(node.unavailable_since),
        "whyUnavailable": node.why_unavailable,
        "degraded": node.degraded,
        "degradedSince": _time(node.degraded_since),
        "whyDegraded": node.why_degraded,
    }


def _insight(insight: Insight) -> dict[str, Any]:
    return {
        "level": insight.level.title,
        "impact": insight.impact.value,
        "summary": insight.summary,
        "description": insight.description,
        "reference": insight.reference,
        "started": _time(insight.started),
        "firstSeen": _time(insight.first_seen),
        "scope": insight.scope.value,
        "pool": insight.pool,
        "resources": [_reference(one) for one in insight.resources],
        "follows": None if insight.follows is None else _reference(insight.follows),
    }


def _informed(informed: Informed) -> dict[str, Any]:
    return {
        "name": informed.name,
        "namespace": informed.namespace,
        "staleSince": _time(informed.stale_since),
        "insights": [
            {
                "informer": informed.name,
                "uid": one.uid,
                "finish": _time(one.finish),
                "claimed": informed.claims(one.insight),
                **_insight(one.insight),
            }
            for one in informed.insights
        ],
    }


def _cause(cause: Cause) -> dict[str, Any]:
    return {
        "type": cause.kind.value,
        "level": cause.level.title,
        "summary": cause.summary,
        "description": cause.description,
        "remedy": cause.remedy,
        "started": _time(cause.started),
        "firstSeen": _time(cause.first_seen),
        "about": [_reference(one) for one in cause.about],
        "affected": [_reference(one) for one in cause.affected],
    }


def _reference(one: Reference) -> dict[str, str]:
    return {"group": one.group, "resource": one.resource, "namespace": one.namespace, "name": one.name}


def _range(found: Estimate | None) -> dict[str, str | None] | None:
    if found is None:
        return None
    return {
        "earliest": _time(found.earliest),
        "middle": _time(found.middle),
        "latest": _time(found.latest),
        "basis": found.basis,
    }


def _time(when: Moment | None) -> str | None:
    return None if when is None or when == ZERO else rfc3339_nano(when)


def _seconds(duration: Duration) -> int:
    return duration // SECOND
