"""Renders what needs attention, the worst and the newest first."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from windlass.update_status.report import Impact, Insight, Level, Reference, Report
from windlass.update_status.text.table import table
from windlass.update_status.times import SECOND, ZERO, Moment, rounded, short, since, truncated, wrapped

TITLE = "= Update Health =\n"

HINT = "Run with --details=health for additional description and links to related online documentation"


def health(report: Report, now: Moment) -> str:
    """A line for each insight."""
    rows = [
        (since_when(insight.started, now), insight.level.title, _impact(insight), insight.summary)
        for insight in shown(report.insights)
    ]
    if not rows:
        running = rounded(since(report.control_plane.started, now), SECOND)
        # As oc computes back from the duration: the negation of the least one is itself.
        started = now + wrapped(-running)
        rows = [(since_when(started, now), Level.INFO.title, Impact.NONE, "Update is proceeding well")]
    text = TITLE + table(("SINCE", "LEVEL", "IMPACT", "MESSAGE"), *rows)
    return f"{text}\n{HINT}\n" if len(rows) > 1 or rows[0][1] != Level.INFO.title else text


def health_in_detail(report: Report, now: Moment) -> str:
    """A paragraph for each insight, or what `health` says if there is none."""
    insights = shown(report.insights)
    return TITLE + "\n".join(_paragraph(insight, now) for insight in insights) if insights else health(report, now)


def shown(insights: Iterable[Insight]) -> list[Insight]:
    """The insights that `oc` shows, in its order."""
    return in_order(insight for insight in insights if insight.complete)


def in_order(insights: Iterable[Insight]) -> list[Insight]:
    """The worst first; of one level the newest first, and those whose start is unknown last."""
    return sorted(
        insights, key=lambda insight: (-insight.level, -(ZERO if insight.started is None else insight.started))
    )


def since_when(start: Moment | None, now: Moment) -> str:
    if start is None or start == ZERO:
        return "-"
    return short(truncated(since(start, now), SECOND))


def _impact(insight: Insight) -> Impact:
    """As `oc` has it: it calls all that ClusterVersion says of the update a stall, slow operators too."""
    of_version = any(one.resource == "clusterversions" for one in insight.resources)
    return Impact.UPDATE_STALLED if of_version and insight.impact is Impact.UPDATE_SPEED else insight.impact


def _paragraph(insight: Insight, now: Moment) -> str:
    description = insight.description.replace("\n", "\n" + " " * 15 + ", ")
    return (
        f"Message: {insight.summary}\n"
        f"  Since:       {since_when(insight.started, now)}\n"
        f"  Level:       {insight.level.title}\n"
        f"  Impact:      {_impact(insight)}\n"
        f"  Reference:   {insight.reference}\n"
        f"  Resources:\n{_resources(insight.resources)}"
        f"  Description: {description}\n"
    )


def _resources(resources: Sequence[Reference]) -> str:
    names = defaultdict(list)
    for one in resources:
        kind = f"{one.resource}.{one.group}" if one.group else one.resource
        names[f"{kind}: "].append(f"{one.namespace}/{one.name}" if one.namespace else one.name)
    width = max(map(len, names), default=0)
    return "".join(f"    {kind:{width}}{', '.join(sorted(names[kind]))}\n" for kind in sorted(names))
