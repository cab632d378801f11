"""Finds what needs attention: of nodes and pools, alerts, ClusterVersion, operators, and the history."""

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import structs

from windlass.api.config import ClusterOperator, ClusterVersion
from windlass.update_status.assessment.alerts import insights_of_alerts
from windlass.update_status.assessment.control_plane import platform_operators
from windlass.update_status.conditions import find, find_last
from windlass.update_status.report import ControlPlane, Impact, Insight, Level, Reference, Report
from windlass.update_status.sources import Sources
from windlass.update_status.times import MINUTE, ZERO, Duration, Moment, known_moment, moment

_RUNBOOKS: Final = "https://github.com/openshift/runbooks/blob/master/alerts/cluster-monitoring-operator"
DOWN_DOCS: Final = f"{_RUNBOOKS}/ClusterOperatorDown.md"
DEGRADED_DOCS: Final = f"{_RUNBOOKS}/ClusterOperatorDegraded.md"
HISTORY_DOCS: Final = (
    "https://docs.openshift.com/container-platform/latest/updating/troubleshooting_updates/"
    "gathering-data-cluster-update.html#gathering-clusterversion-history-cli_troubleshooting_updates"
)

SLOW: Final = "SlowClusterOperator"
"""The reason of Failing while an operator takes long, and nothing fails. `oc` calls that a stall, too."""

TOLERATED: Final[Duration] = 5 * MINUTE
"""So long an operator may be unavailable or degraded before it is worth a warning."""
UNAVAILABLE_TOO_LONG: Final[Duration] = 20 * MINUTE
DEGRADED_TOO_LONG: Final[Duration] = 40 * MINUTE

_UNCLEAR: Final = "has no Failing condition"
_FAILING: Final = "failing to proceed with the update"


def is_of_the_present(summary: str) -> bool:
    """Whether it is a lack in ClusterVersion's own reports: when it began cannot be known, and `oc` says now."""
    return summary.startswith("Cluster Version ") and summary.endswith(_UNCLEAR)


def says_failing(insight: Insight) -> bool:
    """Whether it tells of the condition Failing of ClusterVersion, which may be Unknown."""
    return any(one.resource == "clusterversions" for one in insight.resources) and _FAILING in insight.summary


def is_failing(insight: Insight) -> bool:
    """Whether it says that the Cluster Version Operator fails: not that it may, or that an operator takes long."""
    return says_failing(insight) and f"is {_FAILING}" in insight.summary and insight.impact is Impact.UPDATE_STALLED


def find_insights(report: Report, sources: Sources, of_pools: tuple[Insight, ...], *, now: Moment) -> Report:
    """`report` with all insights, in the order in which `oc` finds them."""
    started = report.control_plane.started
    found = (
        *of_pools,
        *insights_of_alerts(sources.alerts, started=started),
        *_of_cluster_version(sources.cluster_version, now),
        *(each for operator in platform_operators(sources.operators) for each in _of_operator(operator, now)),
        *_of_history(report.control_plane, sources.cluster_version.metadata.name),
    )
    return structs.replace(report, insights=found, alerts=sources.alerts_trouble)


def unclear_operators(operators: Iterable[ClusterOperator], now: Moment) -> Iterator[Insight]:
    """Operators that do not say whether they are available: `oc` counts them as unavailable, and has no insight."""
    for operator in platform_operators(operators):
        found = find_last(operator.status.conditions, "Available")
        started = None if found is None else known_moment(found.last_transition_time)
        if (found is not None and found.status in ("True", "False")) or started is None or now <= started + TOLERATED:
            continue
        name = operator.metadata.name
        yield Insight(
            level=Level.ERROR if now > started + UNAVAILABLE_TOO_LONG else Level.WARNING,
            impact=Impact.API_AVAILABILITY,
            summary=f"Cluster Operator {name} does not say whether it is available",
            description=(found.message if found else "") or "<no message>",
            remedy=f"See the Pods and the log of operator {name}: it, or what it asks, gives no answer.",
            reference="",
            started=started,
            resources=(Reference("config.openshift.io", "clusteroperators", name),),
        )


def _of_cluster_version(version: ClusterVersion, now: Moment) -> Iterator[Insight]:
    failing = find(version.status.conditions, "Failing")
    name = version.metadata.name
    resources = (Reference("config.openshift.io", "clusterversions", name),)
    if failing is None:
        yield Insight(
            level=Level.WARNING,
            impact=Impact.UPDATE_STALLED,
            summary=f"Cluster Version {name} {_UNCLEAR}",
            description="Current status of Cluster Version reconciliation is unclear.  See 'oc -n "
            "openshift-cluster-version logs -l k8s-app=cluster-version-operator --tail -1' to debug.",
            reference=DEGRADED_DOCS,
            started=None if now == ZERO else now,
            resources=resources,
        )
    elif failing.status != "False":
        verb = "may be" if failing.status == "Unknown" else "is"
        yield Insight(
            level=Level.WARNING,
            impact=Impact.UPDATE_SPEED if failing.reason == SLOW else Impact.UPDATE_STALLED,
            summary=f"Cluster Version {name} {verb} {_FAILING} ({failing.reason})",
            description=failing.message,
            reference=DEGRADED_DOCS,
            started=known_moment(failing.last_transition_time),
            resources=resources,
        )


def _of_operator(operator: ClusterOperator, now: Moment) -> Iterator[Insight]:
    for kind, status, verb, too_long, reference in (
        ("Available", "False", "unavailable", UNAVAILABLE_TOO_LONG, DOWN_DOCS),
        ("Degraded", "True", "degraded", DEGRADED_TOO_LONG, DEGRADED_DOCS),
    ):
        found = find_last(operator.status.conditions, kind)
        if found is None or found.status != status:
            continue
        started = moment(found.last_transition_time)
        if now <= started + TOLERATED:
            continue
        name = operator.metadata.name
        yield Insight(
            level=Level.ERROR if now > started + too_long else Level.WARNING,
            impact=Impact.API_AVAILABILITY,
            summary=f"Cluster Operator {name} is {verb} ({found.reason})",
            description=found.message or "<no message>",
            reference=reference,
            started=None if started == ZERO else started,
            resources=(Reference("config.openshift.io", "clusteroperators", name),),
        )


def _of_history(plane: ControlPlane, name: str) -> Iterator[Insight]:
    """The previous update was never completed."""
    versions = plane.versions
    if versions is None or not versions.incomplete or plane.all_updated:
        return
    previous = versions.previous
    last = "unknown" if versions.completed is None else versions.completed
    yield Insight(
        level=Level.WARNING,
        impact=Impact.NONE,
        summary=f"Previous update to {previous} never completed, last complete update was {last}",
        description=f"Current update to {versions.target} was initiated while the previous update to version "
        f"{previous} was still in progress",
        reference=HISTORY_DOCS,
        started=None if plane.started == ZERO else plane.started,
        resources=(Reference("config.openshift.io", "clusterversions", name),),
    )
