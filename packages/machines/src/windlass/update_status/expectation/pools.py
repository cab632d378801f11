"""How long the nodes of a pool still take, so many at a time."""

import heapq
import math
from collections.abc import Sequence
from typing import Final

from windlass.update_status.expectation.law import Left, largest
from windlass.update_status.expectation.past import Nodes, Past
from windlass.update_status.report import Node, Phase, Pool
from windlass.update_status.times import SECOND, Moment

_BETWEEN: Final = 20.0
"""Seconds from the end of a node until the Machine Config Operator begins the next."""
_SURE, _SURE_OF_LATE = 1.4, 1.9
"""Deviations before and after the middle of a sum of nodes: drains that hang make it late, nothing makes it early."""
_DRIFT: Final = 0.25
"""A node of this update takes by such a share more or less than those of earlier ones; it shrinks as nodes are seen."""

_UNDER_WAY: Final = frozenset({Phase.DRAINING, Phase.UPDATING, Phase.REBOOTING})


def begun(pool: Pool) -> bool:
    """Whether a node of the pool is being updated, or is updated while others are not."""
    return any(node.phase in _UNDER_WAY for node in pool.nodes) or 0 < pool.summary.updated < pool.summary.managed


def nodes_left(pool: Pool, past: Past, *, at_a_time: int, now: Moment) -> Left | None:
    """What is left for the pool if it goes on now. None: nothing is left, or nobody knows, as while it is paused."""
    waiting = sum(node.phase is Phase.PENDING and node.managed for node in pool.nodes)
    going_on = [node for node in pool.nodes if node.phase in _UNDER_WAY or (node.updating and not node.updated)]
    paused = pool.paused or any(node.phase is Phase.PAUSED and node.managed for node in pool.nodes)
    if paused or not (waiting or going_on):
        return None
    known = past.nodes(pool.name)
    # What is down without being updated counts against maxUnavailable, too.
    lost = sum(node.phase is Phase.PENDING and (node.out_of_service or node.degraded) for node in pool.nodes)
    places = max(1, len(going_on), at_a_time - lost)
    begun_ones = [_node_left(node, known, past, now) for node in going_on]
    found = _rolled(begun_ones, waiting, known, places)
    return Left(low=found.low, middle=found.middle, high=found.high, basis=_basis(known, places))


def _node_left(node: Node, known: Nodes, past: Past, now: Moment) -> Left:
    spent = past.under_way.get(node.name)
    if node.phase is Phase.DRAINING or spent is None:
        begun_at = now if spent is None else spent.started
        return known.work.left(0.0).after(known.drain.left((now - begun_at) / SECOND))
    since = spent.started if spent.drained is None else spent.drained
    return known.work.left((now - since) / SECOND)


def _rolled(begun_ones: Sequence[Left], waiting: int, known: Nodes, places: int) -> Left:
    """The end of a queue with so many places: nodes that have begun, then the waiting ones."""
    each = known.drain.mean + known.work.mean + _BETWEEN
    if not waiting:
        return largest(begun_ones)
    middle = _last([one.middle for one in begun_ones], waiting, each, places)
    # The places do not end at the same time: the last one is late by a part of a node.
    spread = math.hypot(known.drain.deviation, known.work.deviation)
    middle += 0.0 if places == 1 else 0.5 * spread
    of_nodes = spread * math.sqrt(waiting / places**2 + (0.0 if places == 1 else 0.4))
    drift = _DRIFT / math.sqrt(1 + known.now) + 0.04
    weight = known.drain.weight
    of_law = each * waiting / places * math.hypot(drift, spread / each / math.sqrt(weight))
    late, early = 0.0, 0.0
    if begun_ones:
        alike = math.sqrt(len(begun_ones))
        late = (_last([one.high for one in begun_ones], waiting, each, places) - middle) / alike
        early = (middle - _last([one.low for one in begun_ones], waiting, each, places)) / alike
    doubt = math.hypot(of_nodes, of_law)
    return Left(
        low=max(0.4 * middle, middle - math.hypot(_SURE * doubt, max(0.0, early))),
        middle=middle,
        high=middle + math.hypot(_SURE_OF_LATE * doubt, max(0.0, late)),
    )


def _last(begun_ones: Sequence[float], waiting: int, each: float, places: int) -> float:
    """When the last of the waiting nodes is done, if each takes the place that is free first."""
    free = [*begun_ones, *[0.0] * (places - len(begun_ones))]
    heapq.heapify(free)
    # All waiting nodes are alike: whole rounds of all places need no queue.
    for _ in range(waiting):
        heapq.heapreplace(free, free[0] + each)
    return max(free)


def _basis(known: Nodes, places: int) -> str:
    def counted(count: int, what: str) -> str:
        return f"{count} node{'s' * (count != 1)} of {what}"

    seen = [
        *([counted(known.now, "this update")] if known.now else []),
        *([counted(known.earlier, "earlier ones")] if known.earlier else []),
    ]
    return f"{' and '.join(seen) or 'usual times of nodes'}, {places} at a time"
