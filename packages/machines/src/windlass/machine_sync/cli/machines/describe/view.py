"""Formats a description: as a page for people, as one JSON object for programs."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from windlass.capability.conventions import plan_as_text
from windlass.capability.conventions.ages import age
from windlass.capability.conventions.page import INDENT, facts, heading, indented
from windlass.capability.conventions.table import Cell, Column, Table
from windlass.kube.foreign import harmless, json_text
from windlass.machine_sync.constants import MIGRATING, Namespaces
from windlass.machine_sync.inspection.description import MachineInspection, as_tree
from windlass.machine_sync.inspection.facts import Condition, Described, Happening
from windlass.machine_sync.overview import AnyRow

NOTHING = "<none>"

_COLOURS = {"True": "green", "False": "red", "Unknown": "yellow", "Warning": "yellow"}


def as_json(sight: MachineInspection) -> str:
    """All facts; the keys are stable."""
    return json_text(as_tree(sight), indent=2)


def as_text(sight: MachineInspection, places: Namespaces, *, now: datetime, colour: bool) -> list[str]:
    """The page."""
    page = _Page(now, colour=colour)
    return [
        *page.head(sight.row, last=sight.machine_api.synchronized_api if sight.machine_api else ""),
        *page.side("Machine API", sight.machine_api, where=places.machine_api),
        *page.side("Cluster API", sight.cluster_api, where=places.cluster_api),
        *page.infrastructure(sight),
        *page.events(sight.events),
        *page.plan(sight),
    ]


class _Page:
    def __init__(self, now: datetime, *, colour: bool) -> None:
        self._now = now
        self._colour = colour

    def head(self, row: AnyRow, *, last: str) -> Iterator[str]:
        """`last`: the last authority."""
        shown = {"Name": row.name, "Kind": row.kind, "Authority": _authority(row, last)}
        if row.synchronized is not None:
            said = row.synchronized
            shown["Synchronized"] = f"{said.status} ({said.reason or NOTHING}) for {age(said.since, self._now)}"
        else:
            shown["Synchronized"] = "never"
        if row.generation is not None:
            source = "-" if row.generation.source is None else row.generation.source
            shown["Generation"] = f"{row.generation.synchronized} synchronized, {source} at the authority"
        yield from facts(shown)

    def side(self, title: str, found: Described | None, *, where: str) -> Iterator[str]:
        if found is None:
            yield from self._heading(title, f"does not exist in {where}")
        else:
            yield from self._object(title, found)

    def infrastructure(self, sight: MachineInspection) -> Iterator[str]:
        named = sight.cluster_api.infrastructure if sight.cluster_api else ""
        if sight.infrastructure is not None:
            yield from self._object("Infrastructure", sight.infrastructure)
        elif named:
            yield from self._heading("Infrastructure", f"{harmless(named)} was not found")

    def events(self, events: Sequence[Happening]) -> Iterator[str]:
        yield from self._heading("Events", "" if events else NOTHING)
        if not events:
            return
        columns: list[Column[Happening]] = [
            Column("LAST SEEN", lambda one: Cell(age(one.last, self._now))),
            Column("TYPE", lambda one: Cell(one.type or NOTHING, _COLOURS.get(one.type))),
            Column("REASON", lambda one: Cell(one.reason or NOTHING)),
            Column("OBJECT", lambda one: Cell(one.object)),
            Column("FROM", lambda one: Cell(one.source or NOTHING)),
            Column("MESSAGE", lambda one: Cell(_counted(one))),
        ]
        yield from indented(Table(columns, colour=self._colour).lines(events))

    def plan(self, sight: MachineInspection) -> Iterator[str]:
        if sight.plan is None:
            yield from self._heading("Plan", f"none: {harmless(sight.no_plan)}")
            return
        idles = sight.standing is not None and sight.standing.idle
        yield from self._heading("Plan", "(Machine sync idles; this is what it would do)" if idles else "")
        yield from indented(plan_as_text.body(sight.plan, colour=self._colour))

    def _object(self, title: str, found: Described) -> Iterator[str]:
        yield from self._heading(title, harmless(f"{found.kind} {found.namespace}/{found.name}"))
        known = {
            "Unreadable": found.unreadable,
            "Age": age(found.created, self._now) if found.created else "",
            "Deleting": f"for {age(found.deleting, self._now)}" if found.deleting else "",
            "Paused": found.paused,
            "Phase": found.phase,
            "Replicas": _replicas(found.replicas),
            "Provider ID": found.provider_id,
            "Node": found.node,
            "Addresses": ", ".join(found.addresses),
            "Infrastructure": found.infrastructure,
            "Owners": ", ".join(found.owners) or NOTHING,
            "Finalizers": ", ".join(found.finalizers) or NOTHING,
            "Conditions": "" if found.conditions else NOTHING,
        }
        yield from indented(facts(known))
        if not found.conditions:
            return
        yield f"{INDENT}Conditions:"
        columns: list[Column[Condition]] = [
            Column("TYPE", lambda one: Cell(f"{one.of}.{one.type}" if one.of else one.type)),
            Column("STATUS", lambda one: Cell(one.status or NOTHING, _COLOURS.get(one.status))),
            Column("REASON", lambda one: Cell(one.reason or NOTHING)),
            Column("SINCE", lambda one: Cell(age(one.since, self._now))),
            Column("MESSAGE", lambda one: Cell(one.message or NOTHING)),
        ]
        yield from indented(indented(Table(columns, colour=self._colour).lines(found.conditions)))

    def _heading(self, title: str, rest: str = "") -> tuple[str, str]:
        return heading(title, rest, colour=self._colour)


def _authority(row: AnyRow, last: str) -> str:
    if row.machine_api is None:
        return "ClusterAPI (no object in the Machine API says otherwise)"
    authority = row.authority or NOTHING
    if row.authority == MIGRATING:
        return f"{authority} from {last or 'unknown'} to {row.desired_authority or 'unknown'}"
    if row.desired_authority and row.desired_authority != row.authority:
        return f"{authority}, {row.desired_authority} wanted"
    return authority


def _replicas(replicas: dict[str, int | None] | None) -> str:
    if replicas is None:
        return ""
    return ", ".join(f"{'-' if count is None else count} {name}" for name, count in replicas.items())


def _counted(event: Happening) -> str:
    times = f" (x{event.count})" if event.count > 1 else ""
    return (event.message or NOTHING) + times
