"""Decides what a report means for whoever waits: whether the update needs somebody."""

from windlass.update_status.estimate import progress
from windlass.update_status.report import Insight, Level, Phase, Report
from windlass.update_status.times import Moment

STALLED = "Stalled"


def needs_attention(report: Report, level: Level, *, now: Moment) -> bool:
    """Whether something of `level` or worse needs attention. An update that has stalled is an error.

    While nothing is updated, a request that was refused needs attention, and what the next update would meet.
    """
    if not report.updating:
        return any(insight.remedy and insight.level >= level for insight in report.insights)
    return (level <= Level.ERROR and is_stalled(report, now=now)) or any(
        insight.level >= level for insight in report.insights
    )


def beyond_oc(report: Report, level: Level) -> list[Insight]:
    """The insights of `level` or worse that the default text does not show."""
    return [insight for insight in report.insights if insight.remedy and insight.level >= level]


def is_over(report: Report) -> bool:
    """Whether nothing is updated any more, and no request waits for its answer. While ClusterVersion does not say so,
    that is unknown."""
    plane = report.control_plane
    return not report.updating and plane.updating == "False" and plane.request is None


def is_stalled(report: Report, *, now: Moment) -> bool:
    """Whether nothing more will happen by itself: it takes far too long, something stands still, or all that is left
    is paused."""
    if not report.updating:
        return False
    if report.stands_still:
        return True
    if report.control_plane.updating != "True":
        left = [
            node for pool in report.pools for node in pool.nodes if node.managed and node.phase is not Phase.UPDATED
        ]
        return bool(left) and all(node.phase is Phase.PAUSED for node in left)
    return progress(report.control_plane, now).assessment == STALLED
