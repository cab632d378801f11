"""Decides what a report means for whoever waits: whether the update needs somebody."""

from windlass.update_status.estimate import progress
from windlass.update_status.report import Level, Phase, Report
from windlass.update_status.times import Moment

STALLED = "Stalled"


def needs_attention(report: Report, level: Level, *, now: Moment) -> bool:
    """Whether something of `level` or worse needs attention. An update that has stalled is an error."""
    if not report.updating:
        return False
    return (level <= Level.ERROR and is_stalled(report, now=now)) or any(
        insight.level >= level for insight in report.insights
    )


def is_over(report: Report) -> bool:
    """Whether nothing is updated any more. While ClusterVersion does not say so, that is unknown."""
    return not report.updating and report.control_plane.updating == "False"


def is_stalled(report: Report, *, now: Moment) -> bool:
    """Whether nothing more will happen by itself: it takes far too long, or all that is left is paused."""
    if not report.updating:
        return False
    if report.control_plane.updating != "True":
        left = [
            node for pool in report.pools for node in pool.nodes if node.managed and node.phase is not Phase.UPDATED
        ]
        return bool(left) and all(node.phase is Phase.PAUSED for node in left)
    return progress(report.control_plane, now).assessment == STALLED
