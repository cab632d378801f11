"""Keeps the object within its limits: drops the least important entries first, and reports how many."""

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from windlass.api.update import ControlPlaneEntry, WorkerPoolEntry
from windlass.api.update_insights import ClusterOperatorInsight, HealthInsight

MOST_BYTES: Final = 896 * 1024
"""Of all that has no small limit of its own. With the rest the status is below 1 MiB, and etcd takes 1.5.

The insights of other programs' informers have a budget of their own, so they cannot push out anything else.
"""

Entry = ControlPlaneEntry | WorkerPoolEntry
E = TypeVar("E", ControlPlaneEntry, WorkerPoolEntry)


class Weight(IntEnum):
    """What is left out first, to last. Pools and ClusterVersion are never left out.

    Readers count operators to see how far the update is, so updated ones stay as long as possible. Nodes with insights
    are under way or in trouble; the others have room of their own (`document.rest`).
    """

    INFO = 0
    WARNING = 1
    UPDATED_OPERATOR = 2
    OTHER = 3
    KEPT = 4


_NAMES: Final = {
    Weight.INFO: "insights of level Info",
    Weight.WARNING: "insights of level Warning",
    Weight.UPDATED_OPERATOR: "updated operators",
    Weight.OTHER: "insights",
}


class Section(Struct, frozen=True):
    """The insights of one informer of a pool ("": of the control plane), and how many it may have."""

    pool: str
    informer: str
    entries: Sequence[Entry]
    most: int


def weight(entry: Entry) -> Weight:
    """How much it matters."""
    if entry.insight.node is not None:
        return Weight.OTHER
    if entry.insight.health is not None:
        return _of_health(entry.insight.health)
    if isinstance(entry, ControlPlaneEntry) and entry.insight.cluster_operator is not None:
        return _of_operator(entry.insight.cluster_operator)
    return Weight.KEPT


def within_limits(sections: Sequence[Section], said: list[str], *, most_bytes: int) -> tuple[list[list[Entry]], int]:
    """The entries that are kept of each section, in their order, and their bytes; `said` tells of the others."""
    left_out = Counter[tuple[str, Weight]]()
    kept: list[dict[int, Entry]] = []
    for section in sections:
        chosen = dict(enumerate(section.entries))
        if (too_many := len(section.entries) - section.most) > 0:
            for place in _least_first(section.entries)[:too_many]:
                left_out[section.pool, weight(chosen.pop(place))] += 1
        kept.append(chosen)
    size = _within_bytes(sections, kept, left_out, most_bytes=most_bytes)
    for (pool, what), count in sorted(left_out.items()):
        where = f"pool {pool}" if pool else "the control plane"
        said.append(f"{count} {_NAMES[what]} of {where} were left out")
    return [list(chosen.values()) for chosen in kept], size


def _within_bytes(
    sections: Sequence[Section],
    kept: Sequence[dict[int, Entry]],
    left_out: Counter[tuple[str, Weight]],
    *,
    most_bytes: int,
) -> int:
    if (total := sum(len(msgspec.json.encode([*chosen.values()])) for chosen in kept)) <= most_bytes:
        return total
    sizes = [{place: len(msgspec.json.encode(entry)) + 1 for place, entry in chosen.items()} for chosen in kept]
    total = sum(size for each in sizes for size in each.values())
    order = sorted(
        (weight(entry), -number, -place) for number, chosen in enumerate(kept) for place, entry in chosen.items()
    )
    for what, number, place in order:
        if total <= most_bytes or what is Weight.KEPT:
            break
        total -= sizes[-number][-place]
        del kept[-number][-place]
        left_out[sections[-number].pool, what] += 1
    return total


def _least_first(entries: Iterable[Entry]) -> list[int]:
    """Places of entries: the least important first, among equals the last first."""
    found = [(weight(entry), -place) for place, entry in enumerate(entries)]
    return [-place for what, place in sorted(found) if what is not Weight.KEPT]


def _of_health(health: HealthInsight) -> Weight:
    return {"Info": Weight.INFO, "Warning": Weight.WARNING}.get(health.impact.level, Weight.OTHER)


def _of_operator(operator: ClusterOperatorInsight) -> Weight:
    stands = {one.type: one for one in operator.conditions}
    well = stands["Healthy"].status == "True" and stands["Updating"].reason == "Updated"
    return Weight.UPDATED_OPERATOR if well else Weight.OTHER
