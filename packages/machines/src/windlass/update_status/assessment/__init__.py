"""Makes the report of an update from its sources: pure functions, by the rules of `oc adm upgrade status`.

| module | what it decides |
|---|---|
| `control_plane` | how far the operators are, and how they are |
| `pools` | which pool a node belongs to |
| `nodes`, `availability` | what happens to a node, and whether it can take Pods |
| `insights`, `alerts` | what needs attention |
| `request` | what became of an update that was asked for |
| `pool_troubles`, `builds` | what keeps whole pools from being updated, and builds of their OS images |
| `standstill` | nodes and pools that make no progress for longer than it takes |

The last three, and the insights that they find, are not `oc`'s: an insight with a remedy is in no text of `oc`.

Causes and expected ends are not `oc`'s: they are in `windlass.update_status.causes` and `expectation`.

Where `oc` ends with an error or crashes because something is missing, the report says what is known, and what is
missing is one of its `gaps`.

Source: `github.com/openshift/oc`, `pkg/cli/admin/upgrade/status`, revision 6b8e30c5.
"""

from collections.abc import Iterable, Iterator

from msgspec import structs

from windlass.update_status.assessment.control_plane import Problem, assess_control_plane
from windlass.update_status.assessment.insights import find_insights, unclear_operators
from windlass.update_status.assessment.pools import PoolsFound, assess_pools
from windlass.update_status.assessment.request import insights_of_request
from windlass.update_status.assessment.standstill import Known, standstills
from windlass.update_status.causes import explain
from windlass.update_status.constants import MASTER
from windlass.update_status.expectation import expect
from windlass.update_status.expectation.past import Past
from windlass.update_status.report import Insight, Report
from windlass.update_status.sources import Sources, Unknown
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
    if report.updating_by_oc:
        report = find_insights(report, sources, pools.insights, now=now)
    beyond = [*_beyond_oc(report, sources, pools, now=now)]
    if beyond:
        report = structs.replace(report, insights=_in_order([*report.insights, *beyond], report))
    if not report.updating_by_oc:
        return report
    report = explain(report, sources, now=now)
    return expect(report, records=sources.records, at_a_time=pools.at_a_time, now=now)


def _beyond_oc(report: Report, sources: Sources, pools: PoolsFound, *, now: Moment) -> Iterator[Insight]:
    """The insights that `oc` does not have. While nothing is updated, they are what the next update would meet."""
    yield from insights_of_request(report.control_plane.request, sources.cluster_version.metadata.name)
    yield from pools.troubles
    if not report.updating:
        return
    yield from unclear_operators(sources.operators, now)
    known = Known(
        plane=report.control_plane,
        past=Past.of(sources.records, report, now),
        objects={} if isinstance(sources.pools, Unknown) else {pool.metadata.name: pool for pool in sources.pools},
        builds=pools.builds,
        now=now,
    )
    for pool in report.pools:
        yield from standstills(pool, known)


def _in_order(insights: Iterable[Insight], report: Report) -> tuple[Insight, ...]:
    """In the order in which `oc` finds them: those of each pool and its nodes, in the order of pools, then the others.

    Two of one place stay as they are.
    """
    places = {pool.name: place for place, pool in enumerate(report.pools)}

    def place(insight: Insight) -> int:
        of_pool = insight.pool or any(one.resource in ("nodes", "machineconfigpools") for one in insight.resources)
        return places.get(insight.pool or MASTER, 0) if of_pool else len(places)

    return tuple(sorted(insights, key=place))
