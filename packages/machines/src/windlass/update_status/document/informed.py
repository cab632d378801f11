"""Writes the insights of other programs' informers, within a byte budget that all informers share fairly.

An informer with few insights keeps all of them, however many another informer reports.
"""

from collections.abc import Container, Iterable, Iterator
from typing import Final

import msgspec
from msgspec import Struct, structs

from windlass.api.update import MOST_INFORMERS, OWN_INFORMERS, ControlPlaneInformer
from windlass.update_status.document.limits import Entry
from windlass.update_status.document.sections import CONTROL_PLANE, Before, Gathering
from windlass.update_status.document.validity import holds
from windlass.update_status.document.writer import Writer, written_if_known
from windlass.update_status.report import Informed, Report
from windlass.update_status.times import rfc3339

MOST_BYTES: Final = 96 * 1024
"""Of JSON, of all informers in all pools."""
MOST: Final = MOST_INFORMERS - len(OWN_INFORMERS)


class Portion(Struct, frozen=True):
    """What an informer has in a pool ("": in the control plane)."""

    pool: str
    name: str
    namespace: str
    stale_since: str | None
    insights: tuple[Entry, ...] = ()


def acceptable(informed: Iterable[Informed], writer: Writer) -> tuple[Informed, ...]:
    """The informers whose names are unique, and valid for the API server."""
    found: dict[str, Informed] = {}
    for one in informed:
        named = ControlPlaneInformer(name=one.name, namespace=one.namespace)
        if one.name in found or one.name in OWN_INFORMERS or not holds(named):
            writer.said.append(f"informer {one.name[:63]!r} is left out: it has no valid name of its own")
            continue
        found[one.name] = one
    return tuple(found.values())


def portions(report: Report, workers: Container[str], before: Before, writer: Writer) -> list[Portion]:
    """What is written of each informer. `pen.said` tells what is left out, by informer.

    Each has a portion in the control plane, so that people see that it is asked.
    """
    writer.said.extend(
        f"{one.name} is left out: there are more than {MOST} informers" for one in report.informed[MOST:]
    )
    wanted = [list(_wanted(one, workers, before, writer)) for one in report.informed[:MOST]]
    sizes = [sum(map(_size, each)) for each in wanted]
    kept: dict[int, list[Portion]] = {}
    left = MOST_BYTES
    for served, place in enumerate(sorted(range(len(wanted)), key=lambda place: sizes[place])):
        kept[place] = _within(left // (len(wanted) - served), wanted[place], writer)
        left -= sum(map(_size, kept[place]))
    return [portion for place in range(len(wanted)) for portion in kept[place]]


def trouble(report: Report, said: list[str]) -> tuple[bool, str]:
    """Whether an informer does not answer; and what people have to know of informers, "" if all is well."""
    silent = [
        f"UpdateInformer {one.name} has not answered since {rfc3339(one.stale_since)}: see its condition Online"
        for one in report.informed
        if one.stale_since is not None
    ]
    return bool(silent), "; ".join((*silent, *dict.fromkeys(said)))


def _wanted(informed: Informed, workers: Container[str], before: Before, writer: Writer) -> Iterator[Portion]:
    """All that the informer told, by pool; what the API server would refuse is left out."""
    by_pool: dict[str, list[Entry]] = {CONTROL_PLANE: []}
    invalid: list[str] = []
    astray = 0
    for pool in dict.fromkeys((CONTROL_PLANE, *(told.insight.pool for told in informed.insights))):
        found = [told for told in informed.insights if told.insight.pool == pool]
        if pool != CONTROL_PLANE and pool not in workers:
            astray += len(found)
            continue
        gathering = Gathering(pool, informed.name, before, writer, invalid)
        gathering.add_informer_insights(found)
        by_pool[pool] = list(gathering.section().entries)
    if astray:
        writer.said.append(f"{astray} insights of {informed.name} were left out: their pool is no pool of workers")
    if invalid:
        writer.said.append(f"{len(invalid)} insights of {informed.name} were left out: the first is {invalid[0]}")
    for pool, entries in by_pool.items():
        yield Portion(pool, informed.name, informed.namespace, written_if_known(informed.stale_since), tuple(entries))


def _within(budget: int, wanted: list[Portion], writer: Writer) -> list[Portion]:
    """The worst insights that fit."""
    budget -= sum(_size(structs.replace(portion, insights=())) for portion in wanted)
    ranked = sorted(
        (
            (_rank(entry), place, number)
            for place, portion in enumerate(wanted)
            for number, entry in enumerate(portion.insights)
        )
    )
    kept: set[tuple[int, int]] = set()
    for _, place, number in ranked:
        size = len(msgspec.json.encode(wanted[place].insights[number])) + 1
        if size > budget:
            break
        budget -= size
        kept.add((place, number))
    if left_out := len(ranked) - len(kept):
        writer.said.append(f"{left_out} insights of {wanted[0].name} were left out: it tells too much")
    return [
        structs.replace(
            portion, insights=tuple(entry for number, entry in enumerate(portion.insights) if (place, number) in kept)
        )
        for place, portion in enumerate(wanted)
        if portion.pool == CONTROL_PLANE or any(each == place for each, _ in kept)
    ]


def _rank(entry: Entry) -> int:
    health = entry.insight.health
    return _WORST_FIRST.index(health.impact.level) if health else 0


_WORST_FIRST: Final = ("Critical", "Error", "Warning", "Info", "Unknown")


def _size(portion: Portion) -> int:
    return len(msgspec.json.encode(portion))
