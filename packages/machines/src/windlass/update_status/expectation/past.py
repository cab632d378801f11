"""What records of updates tell of how long nodes and operators take on this cluster; without them, what is usual."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from windlass.api.update_record import NodeTook
from windlass.update_status.constants import MACHINE_CONFIG_OPERATOR
from windlass.update_status.expectation.law import Law, law_of
from windlass.update_status.history import record_of
from windlass.update_status.record import Record
from windlass.update_status.report import Report
from windlass.update_status.times import SECOND, Moment, moment

_USUAL_DRAINS: Final = (0.3, 0.5, 0.8, 1, 1.5, 2, 3, 5, 12, 30)
_USUAL_WORK: Final = (3.5, 4, 5, 5.5, 6, 7, 8, 10, 14)
"""Minutes. The documentation of OpenShift says five minutes or more for a node; bare metal starts slowly."""
_USUAL_WEIGHT: Final = 2.0
"""Nodes that what is usual is worth."""
_DRAIN_SHARE: Final = 0.25
"""Of the time of a node, where it was not seen when its drain was over."""

_OF_THIS_UPDATE, _OF_OTHER_POOLS, _OF_EARLIER = 1.0, 0.2, 0.4
_FADING: Final = 0.6
"""The weight of an update against that of the next one."""
_MOST_EARLIER: Final = 12.0
"""Nodes that all earlier updates of a pool are worth at most: another release may take another time."""
_DOUBT: Final = 0.5
"""How fast earlier updates and what is usual lose weight with each node of this update."""

_USUAL_OPERATOR: Final = 35.0
_USUAL_OPERATORS: Final = {
    "etcd": 420.0,
    "kube-apiserver": 600.0,
    "kube-controller-manager": 240.0,
    "kube-scheduler": 200.0,
    "openshift-apiserver": 150.0,
    "authentication": 120.0,
    "network": 240.0,
    "dns": 150.0,
    "monitoring": 120.0,
    "storage": 90.0,
    "ingress": 60.0,
    MACHINE_CONFIG_OPERATOR: 180.0,
}
"""Seconds from the end of the operator before to its own: those that restart static pods or daemons of all nodes."""


class Spent(Struct, frozen=True):
    """Since when a node is being updated, and since when its drain is over; None: that is not known, or it is not."""

    started: Moment
    drained: Moment | None = None


class Nodes(Struct, frozen=True, kw_only=True):
    """The nodes of a pool: how long drains take, and what comes after them. The counts are of nodes that were seen."""

    drain: Law
    work: Law
    now: int
    earlier: int


class Past(Struct, frozen=True, kw_only=True):
    """What is known. `under_way`: nodes of this update by name, `updates`: earlier ones with operators."""

    current: Record | None
    earlier: Sequence[Record]
    under_way: Mapping[str, Spent]

    @classmethod
    def of(cls, records: Iterable[Record], report: Report, now: Moment) -> "Past":
        """Of the records, and of what MachineConfigNodes say where the record of this update does not."""
        newest_first = sorted(records, key=lambda record: record.started, reverse=True)
        name = record_of(report)
        current = next((one for one in newest_first if one.name == name), None)
        nodes = [node for pool in report.pools for node in pool.nodes]
        under_way = {node.name: Spent(node.since) for node in nodes if node.since is not None and node.updating}
        for one in current.nodes if current else ():
            if one.started is not None and one.completed is None:
                under_way[one.name] = Spent(moment(one.started), moment(one.drained) if one.drained else None)
        earlier = [one for one in newest_first if one is not current]
        return cls(current=current, earlier=earlier, under_way=under_way)

    def nodes(self, pool: str) -> Nodes:
        """What is known of the nodes of a pool."""
        own, past = 0, 0
        drains, works = list[tuple[float, float]](), list[tuple[float, float]]()
        for one in self.current.nodes if self.current else ():
            if (took := _took(one)) is not None:
                own += one.pool == pool
                _add(took, _OF_THIS_UPDATE if one.pool == pool else _OF_OTHER_POOLS, drains, works)
        doubt = 1 / (1 + own * _DOUBT)
        drains += [(minutes * 60.0, doubt * _USUAL_WEIGHT / len(_USUAL_DRAINS)) for minutes in _USUAL_DRAINS]
        works += [(minutes * 60.0, doubt * _USUAL_WEIGHT / len(_USUAL_WORK)) for minutes in _USUAL_WORK]
        room, weight = _MOST_EARLIER, _OF_EARLIER
        for record in self.earlier:
            for one in record.nodes:
                if one.pool == pool and room > 0 and (took := _took(one)) is not None:
                    past += 1
                    room -= weight
                    _add(took, weight * doubt, drains, works)
            weight *= _FADING
        return Nodes(drain=law_of(drains), work=law_of(works), now=own, earlier=past)

    def operators(self) -> tuple[Mapping[str, float], int]:
        """The seconds that each operator adds to an update, and of how many earlier updates that is known."""
        sums: dict[str, tuple[float, float]] = {}
        weight, known = 1.0, 0
        for record in self.earlier:
            if record.state != "Completed" or not (gaps := _gaps(record)):
                continue
            known += 1
            for name, gap in gaps.items():
                total, weights = sums.get(name, (0.0, 0.0))
                sums[name] = total + gap * weight, weights + weight
            weight *= _FADING
        found = dict(_USUAL_OPERATORS)
        found.update({name: total / weights for name, (total, weights) in sums.items()})
        return found, known


def usual(operators: Mapping[str, float], name: str) -> float:
    """The seconds that an operator adds."""
    return operators.get(name, _USUAL_OPERATOR)


def _took(one: NodeTook) -> tuple[float, float] | None:
    """The seconds of the drain, 0 if it was not seen, and of the rest."""
    if one.started is None or one.completed is None:
        return None
    whole = (moment(one.completed) - moment(one.started)) / SECOND
    if one.drained is None:
        return whole * _DRAIN_SHARE, whole * (1 - _DRAIN_SHARE)
    drain = (moment(one.drained) - moment(one.started)) / SECOND
    return drain, whole - drain


def _add(
    took: tuple[float, float], weight: float, drains: list[tuple[float, float]], works: list[tuple[float, float]]
) -> None:
    drain, work = took
    if drain > 0:
        drains.append((drain, weight))
    works.append((work, weight))


def _gaps(record: Record) -> dict[str, float]:
    """The seconds from the end of one operator to that of the next; of the last one, until its nodes began."""
    before, found = moment(record.started), dict[str, float]()
    rolled = min((moment(one.started) for one in record.nodes if one.started is not None), default=None)
    for end, name in sorted((moment(one.completed), one.name) for one in record.operators if one.completed is not None):
        if name == MACHINE_CONFIG_OPERATOR:
            if rolled is not None:
                found[name] = max(0.0, (rolled - before) / SECOND)
            continue
        found[name] = max(0.0, (end - before) / SECOND)
        before = max(before, end)
    return found
