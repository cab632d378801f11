"""Says in one line each what has changed between two reports: phases, states and insights."""

from collections.abc import Iterator, Mapping

from windlass.capability.conventions.complaints import harmless
from windlass.update_status.estimate import progress
from windlass.update_status.report import Health, Node, Operator, Report
from windlass.update_status.times import Moment, rfc3339

GONE = "gone"

Facts = Mapping[str, str]
"""What a report says, by subject."""


def facts(report: Report, *, now: Moment) -> Facts:
    """What is worth a line when it changes. Durations and estimates are not."""
    plane = report.control_plane
    found = {"cluster": "not updating", "control plane": progress(plane, now).assessment}
    if report.updating:
        target = plane.versions.target if plane.versions else "an unknown version"
        found["cluster"] = f"updating to {target}"
    for operator in plane.operators:
        found[f"operator {operator.name}"] = _operator(operator)
    for pool in report.pools:
        found[f"pool {pool.name}"] = (
            f"{pool.summary.assessment}, {pool.summary.updated} of {pool.summary.managed} updated"
        )
        for node in pool.nodes:
            found[f"node {node.name}"] = _node(node)
    for insight in report.insights:
        found[f"insight {insight.summary}"] = f"{insight.level.title}, impact {insight.impact}"
    return found


def changes(before: Facts, after: Facts, *, now: Moment) -> Iterator[str]:
    """A line for each subject that came, changed or went."""
    for subject in dict.fromkeys((*after, *before)):
        was, now_is = before.get(subject), after.get(subject, GONE)
        if was != now_is:
            change = now_is if was is None or now_is == GONE else f"{was} -> {now_is}"
            yield harmless(" ".join(f"{rfc3339(now)} {subject}: {change}".split()))


def _operator(operator: Operator) -> str:
    sick = "" if operator.health is Health.HEALTHY else f", {operator.health}"
    return f"{operator.state}{sick}"


def _node(node: Node) -> str:
    phase = str(node.phase) if node.managed else "not managed yet"
    if not node.message:
        return phase
    return f"{phase}, {node.assessment}: {node.message}"
