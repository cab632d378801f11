"""Makes the report of an update from its sources: pure functions, by the rules of `oc adm upgrade status`.

| module | what it decides |
|---|---|
| `control_plane` | how far the operators are, and how they are |
| `pools` | which pool a node belongs to |
| `nodes`, `availability` | what happens to a node, and whether it can take Pods |
| `insights`, `alerts` | what needs attention |

Causes and expected ends are not `oc`'s: they are in `windlass.update_status.causes` and `expectation`.

Where `oc` ends with an error or crashes because something is missing, the report says what is known, and what is
missing is one of its `gaps`.

Source: `github.com/openshift/oc`, `pkg/cli/admin/upgrade/status`, revision 6b8e30c5.
"""

from msgspec import structs

from windlass.update_status.assessment.control_plane import Problem, assess_control_plane
from windlass.update_status.assessment.insights import find_insights
from windlass.update_status.assessment.pools import assess_pools
from windlass.update_status.causes import explain
from windlass.update_status.expectation import expect
from windlass.update_status.report import Report
from windlass.update_status.sources import Sources
from windlass.update_status.times import Moment

__all__ = ["Problem", "assess"]


def assess(sources: Sources, *, now: Moment, wall: Moment | None = None) -> Report:
    """The report at `now`. `wall` (default `now`) is what `oc` measures the age of conditions of nodes against.

    Raises Problem if there can be no report.
    """
    control_plane, gaps = assess_control_plane(sources)
    pools = assess_pools(sources, now if wall is None else wall)
    report = Report(
        control_plane=control_plane,
        pools=pools.pools,
        unassigned=pools.unassigned,
        gaps=(*sources.gaps, *gaps, *pools.gaps),
        informed=sources.informed,
    )
    if not report.updating:
        # Informers tell of an update; without one they are only tried.
        report = structs.replace(report, informed=tuple(structs.replace(one, insights=()) for one in report.informed))
    if not report.updating_by_oc:
        return report
    report = find_insights(report, sources, pools.insights, now=now)
    report = explain(report, sources, now=now)
    return expect(report, records=sources.records, at_a_time=pools.at_a_time, now=now)
