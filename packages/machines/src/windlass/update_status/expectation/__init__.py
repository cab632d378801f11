"""When the control plane and each pool are expected to be updated: a range, and what it is computed from.

    expect(report, records=..., at_a_time=..., now=now) -> the report with these ranges

| module | what it holds |
|---|---|
| `law` | durations that are not known: their laws, what is left of one that has lasted for a while, their sums |
| `past` | what records of updates, this one and earlier ones, tell of nodes and operators |
| `pools` | nodes, so many at a time |
| `operators` | the operators, one after the other, then the nodes of the control plane |

All of it is pure. What `oc` prints is `windlass.update_status.estimate`: a polynomial of one cluster, which jumps at
two places and knows nothing of nodes. Ranges are wide where little is known, and grow with a drain or an operator that
lasts, so that they need not jump. `python -m bench estimate` measures on drawn updates how often they are right.
"""

from collections.abc import Iterable, Mapping

from msgspec import structs

from windlass.api.update_record import UpdateRecord
from windlass.update_status.constants import MASTER
from windlass.update_status.expectation.operators import operators_left
from windlass.update_status.expectation.past import Past
from windlass.update_status.expectation.pools import begun, nodes_left
from windlass.update_status.report import Pool, Report
from windlass.update_status.times import Moment

__all__ = ["expect"]


def expect(report: Report, *, records: Iterable[UpdateRecord], at_a_time: Mapping[str, int], now: Moment) -> Report:
    """`report` with the ranges in which its parts are expected to end. It has none while nothing is updated.

    `at_a_time`: how many nodes of a pool may be updated at the same time, 1 for a pool that is not among them.
    """
    if not report.updating:
        return report
    past = Past.of(records, report, now)
    plane = report.control_plane
    before = operators_left(plane, past, now)
    pools: list[Pool] = []
    for pool in report.pools:
        left = nodes_left(pool, past, at_a_time=at_a_time.get(pool.name, 1), now=now)
        if left is None:
            pools.append(structs.replace(pool, expected=None))
            if pool.name == MASTER and pool.summary.left:
                before = structs.replace(before, to_end=None)  # its nodes are paused: nobody knows for how long
            continue
        if before.to_nodes is not None and not begun(pool):
            left = left.after(before.to_nodes)
        pools.append(structs.replace(pool, expected=left.as_estimate(now)))
        if pool.name == MASTER and before.to_end is not None:
            before = before.with_nodes(left)
    expected = None if before.to_end is None else before.to_end.as_estimate(now)
    return structs.replace(report, pools=tuple(pools), control_plane=structs.replace(plane, expected=expected))
