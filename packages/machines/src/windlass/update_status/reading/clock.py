"""The moment at which files are reported: shortly after the last thing that they tell."""

from windlass.update_status.sources import Sources
from windlass.update_status.times import ZERO, Moment, moment

AFTER = 368975
"""Nanoseconds between the last transition and the moment of the report, as in `oc`."""


def last_transition(sources: Sources) -> Moment:
    """A little after the last transition of a condition of the ClusterVersion or of any ClusterOperator."""
    now = ZERO
    conditions = list(sources.cluster_version.status.conditions)
    for operator in sources.operators:
        conditions += operator.status.conditions
    for condition in conditions:
        # Compared with the offset: another transition in the same moment does not add it again.
        if (when := moment(condition.last_transition_time)) > now:
            now = when + AFTER
    return now
