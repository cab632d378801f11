"""How long the operators still take, one after the other, and then the control plane."""

import math
from typing import Final

from msgspec import Struct, structs

from windlass.update_status.constants import MACHINE_CONFIG_OPERATOR
from windlass.update_status.expectation.law import SHORTEST, Law, Left
from windlass.update_status.expectation.past import Past, usual
from windlass.update_status.report import ControlPlane, State
from windlass.update_status.times import SECOND, ZERO, Moment

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
    left = [one for one in plane.operators if one.state is not State.UPDATED]
    if not left:
        return Before(to_end=structs.replace(_CLOSING.left(since_last), basis="all operators are updated"))
    units, updates = past.operators()
    basis = f"operators of {updates} earlier update{'s' * (updates != 1)}" if updates else "usual times of operators"
    own = [usual(units, one.name) for one in left if one.name != MACHINE_CONFIG_OPERATOR]
    done = [usual(units, one.name) for one in plane.operators if one.state is State.UPDATED]
    pace, doubt = _pace(sum(done), len(done), (last - begun) / SECOND, _KNOWN_PACE if updates else _UNKNOWN_PACE)
    own_left = len(own) < len(left)
    overhead = usual(units, MACHINE_CONFIG_OPERATOR) * pace if own_left else 0.0
    found = _law(sum(own) * pace + overhead, len(own) + own_left, doubt).left(since_last)
    # Its nodes are begun while it progresses; until then it is one more operator.
    return Before(to_nodes=found, to_end=structs.replace(found, basis=basis))


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
