"""The report for programs: `windlass status -o json` and `-o yaml`, and the web page. docs/cli.md has the keys.

The fields of a part of the report are keys as they are declared, so a new field needs nothing here. Times are RFC 3339,
durations seconds; a time that is not known is null.
"""

from collections.abc import Callable, Sequence
from enum import Enum
from functools import cache
from typing import Any, get_args, get_type_hints

from msgspec import Struct, structs

from windlass.update_status.estimate import progress
from windlass.update_status.headline import headline
from windlass.update_status.report import ControlPlane, Informed, Level, Node, Pool, Reference, Report
from windlass.update_status.times import SECOND, ZERO, Duration, Moment, rfc3339_nano


def tree(report: Report, *, now: Moment) -> dict[str, Any]:
    """The report as it is at `now`."""
    return {
        "time": _time(now),
        "headline": _plain(headline(report, now=now)),
        "updating": report.updating,
        "topology": "SingleReplica" if report.single_node else None,
        "controlPlane": _control_plane(report.control_plane, now),
        "pools": [_pool(pool.without_windows) for pool in report.pools],
        "unassignedNodes": [*report.unassigned, *report.windows],
        "causes": _plain(report.causes),
        "insights": _plain(report.insights),
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
            "multiArch": versions.multi_arch and not versions.same_arch,
            "rollback": versions.rollback,
        },
        "progressing": {
            "status": plane.updating,
            "reason": plane.reason,
            "message": plane.message,
            "since": _time(plane.since),
        },
        "request": _plain(plane.request),
        "started": _time(plane.started),
        "completed": _time(plane.completed),
        "duration": _seconds(found.duration),
        "estimate": _seconds(found.estimate),
        "expected": _seconds(found.expected),
        "expectedEnd": _plain(plane.expected),
        "operators": _plain(plane.operators),
    }


def _pool(pool: Pool) -> dict[str, Any]:
    summary = pool.summary
    return {
        "name": pool.name,
        "paused": pool.paused,
        "assessment": pool.assessment,
        "expectedEnd": _plain(pool.expected),
        "summary": {"total": summary.total, "updated": summary.updated, **_plain(summary)},
        "nodes": [_node(node) for node in pool.nodes],
    }


def _node(node: Node) -> dict[str, Any]:
    return {"name": node.name, "assessment": node.assessment.value, **_plain(node)}


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
                **_plain(one.insight),
            }
            for one in informed.insights
        ],
    }


def _plain(value: Any) -> Any:
    """A part of the report, or several, as a tree."""
    match value:
        case Reference():
            return {"group": value.group, "resource": value.resource, "namespace": value.namespace, "name": value.name}
        case Struct():
            given = zip(_fields(type(value)), structs.astuple(value), strict=True)
            return {key: one if shown is None else shown(one) for (key, shown), one in given}
        case tuple():
            return [_plain(one) for one in value]
        case Level():
            return value.title
        case Enum():
            return value.value
    return value


@cache
def _fields(kind: type[Struct]) -> Sequence[tuple[str, Callable[[Any], Any] | None]]:
    """The key of each field, and what shows its value: a moment is an int like any other, but for its declaration."""
    hints = get_type_hints(kind, include_extras=True)
    shown = [_shown(hints[field]) for field in kind.__struct_fields__]
    return [*zip(kind.__struct_encode_fields__, shown, strict=True)]


def _shown(hint: Any) -> Callable[[Any], Any] | None:
    if hint == Moment or Moment in get_args(hint):
        return _time
    return None if hint in (str, int, bool) else _plain


def _time(when: Moment | None) -> str | None:
    return None if when is None or when == ZERO else rfc3339_nano(when)


def _seconds(duration: Duration) -> int:
    return duration // SECOND
