"""When the control plane and each pool are expected to be updated: a range, and what it is computed from.

    expect(report, records=..., at_a_time=..., now=now) -> the report with these ranges

| module | what it holds |
|---|---|
| `law` | durations that are not known: their laws, what is left of one that has lasted for a while, their sums |
| `past` | what records of updates, this one and earlier ones, tell of nodes and operators |
| `pools` | nodes, so many at a time |

All of it is pure. What `oc` prints is `windlass.update_status.estimate`: a polynomial of one cluster, which jumps at
two places and knows nothing of nodes. Ranges are wide where little is known, and grow with a drain or an operator that
lasts, so that they need not jump. `python -m bench estimate` measures on drawn updates how often they are right.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct, structs

from windlass.update_status.constants import CONTROL_PLANE_POOLS, MACHINE_CONFIG_OPERATOR
from windlass.update_status.expectation.law import SHORTEST, Law, Left, largest
from windlass.update_status.expectation.past import Past, usual
from windlass.update_status.expectation.pools import begun, nodes_left
from windlass.update_status.record import Record
from windlass.update_status.report import ControlPlane, Health, Operator, Pool, Report, State
from windlass.update_status.times import SECOND, ZERO, Moment

__all__ = ["expect"]


def expect(report: Report, *, records: Iterable[Record], at_a_time: Mapping[str, int], now: Moment) -> Report:
    """`report` with the ranges in which its parts are expected to end. It has none while nothing is updated, nor for an
    installation: there all operators begin at once, and have their version long before they work.

    `at_a_time`: how many nodes of a pool may be updated at the same time, 1 for a pool that is not among them.
    """
    if not report.updating or is_installation(report.control_plane):
        return report
    past = Past.of(records, report, now)
    plane = report.control_plane
    before = operators_left(plane, past, now)
    pools: list[Pool] = []
    of_plane: list[Left] = []
    still = _standing_still(report)
    for pool in report.pools:
        left = None
        if pool.name not in still:
            left = nodes_left(pool, past, at_a_time=at_a_time.get(pool.name, 1), now=now)
        if left is None:
            pools.append(structs.replace(pool, expected=None))
            if pool.name in CONTROL_PLANE_POOLS and pool.summary.left:
                # Its nodes are paused, or stand still: nobody knows for how long.
                before = structs.replace(before, to_end=None)
            continue
        if before.to_nodes is not None and not begun(pool):
            left = left.after(before.to_nodes)
        pools.append(structs.replace(pool, expected=left.as_estimate(now)))
        if pool.name in CONTROL_PLANE_POOLS:
            of_plane.append(left)
    if of_plane:
        last = structs.replace(largest(of_plane), basis=of_plane[0].basis) if len(of_plane) > 1 else of_plane[0]
        before = before.with_nodes(last)
    expected = None if before.to_end is None else before.to_end.as_estimate(now)
    return structs.replace(report, pools=tuple(pools), control_plane=structs.replace(plane, expected=expected))


def is_installation(plane: ControlPlane) -> bool:
    """Whether no earlier release is known, so that nobody knows how this cluster updates."""
    return plane.versions is None or plane.versions.previous is None


def _standing_still(report: Report) -> set[str]:
    """The names of pools of which something stands still until somebody acts."""
    nodes = {node.name: pool.name for pool in report.pools for node in pool.nodes}
    found: set[str] = set()
    for one in (one for insight in report.insights if insight.standstill for one in insight.resources):
        if one.resource == "machineconfigpools":
            found.add(one.name)
        elif one.resource == "nodes" and one.name in nodes:
            found.add(nodes[one.name])
    return found


# How long the operators still take, one after the other, and then the control plane.

_UNKNOWN_PACE, _KNOWN_PACE = 0.5, 0.25
"""How far, in logarithms, the pace of an update may be from what is usual, and from that of earlier updates."""
_OBSERVED: Final = 0.9
"""How far the pace of a single operator of this update may be from that of all."""
_SINGLE: Final = 0.8
"""How much a single operator varies."""
_CLOSING: Final = Law(mean=60, deviation=60, median=45, sigma=0.9)
"""From the last operator until ClusterVersion says that the update is completed."""


class Before(Struct, frozen=True, kw_only=True):
    """What is left until the nodes begin, and until all of the control plane is updated. None: nothing is."""

    to_nodes: Left | None = None
    to_end: Left | None = None

    def with_nodes(self, nodes: Left) -> "Before":
        """With the nodes of the control plane, for which the last operator waits. `nodes` is from now on."""
        if self.to_end is None:
            return self
        found = _CLOSING.left(0.0).after(nodes)
        return structs.replace(self, to_end=structs.replace(found, basis=f"{self.to_end.basis}; {nodes.basis}"))


def operators_left(plane: ControlPlane, past: Past, now: Moment) -> Before:
    """What is left for the operators, apart from the nodes of the control plane."""
    if plane.completed is not None or (plane.all_updated and plane.updating != "True"):
        return Before()
    begun = now if plane.started == ZERO else min(plane.started, now)
    last = max(begun, min(plane.last_progress or begun, now))
    since_last = (now - last) / SECOND
    left = [one for one in plane.operators if not is_done(one)]
    if not left:
        return Before(to_end=structs.replace(_CLOSING.left(since_last), basis="all operators are updated"))
    units, updates = past.operators()
    basis = f"operators of {updates} earlier update{'s' * (updates != 1)}" if updates else "usual times of operators"
    own = [usual(units, one.name) for one in left if one.name != MACHINE_CONFIG_OPERATOR]
    done = [usual(units, one.name) for one in plane.operators if is_done(one)]
    pace, doubt = _pace(sum(done), len(done), (last - begun) / SECOND, _KNOWN_PACE if updates else _UNKNOWN_PACE)
    own_left = len(own) < len(left)
    overhead = usual(units, MACHINE_CONFIG_OPERATOR) * pace if own_left else 0.0
    found = _law(sum(own) * pace + overhead, len(own) + own_left, doubt).left(since_last)
    found = largest([found, *_back(left, units, begun, now)])
    # Its nodes are begun while it progresses; until then it is one more operator.
    return Before(to_nodes=found, to_end=structs.replace(found, basis=basis))


def _back(operators: Iterable[Operator], units: Mapping[str, float], begun: Moment, now: Moment) -> Iterator[Left]:
    """How long operators that have their version will still be unavailable: the longer, the longer they have been."""
    for one in operators:
        if one.state is State.UPDATED:
            passed = (now - min(now, max(begun, one.health_since))) / SECOND
            yield _law(usual(units, one.name), 1, _UNKNOWN_PACE).left(passed)


def is_done(operator: Operator) -> bool:
    """Whether the update no longer waits for the operator, which may have the new version and be unavailable."""
    return operator.state is State.UPDATED and operator.health is not Health.UNAVAILABLE


def _law(median: float, count: int, doubt: float) -> Law:
    sigma = math.hypot(doubt, _SINGLE / math.sqrt(max(1, count)))
    return Law(mean=median, deviation=median * sigma, median=max(median, SHORTEST), sigma=sigma)


def _pace(usual_seconds: float, count: int, passed: float, doubt: float) -> tuple[float, float]:
    """How slow this update is against what is usual, and how far that may be wrong, in logarithms."""
    if not count or usual_seconds <= 0 or passed <= 0:
        return 1.0, doubt
    observed = _OBSERVED / math.sqrt(count)
    seen = max(-2.0, min(2.0, math.log(passed / usual_seconds)))
    trust = doubt**2 / (doubt**2 + observed**2)
    return math.exp(trust * seen), math.sqrt(doubt**2 * (1 - trust))
