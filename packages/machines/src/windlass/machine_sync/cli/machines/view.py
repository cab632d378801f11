"""Formats the rows of the overview: tables, wide tables, JSON, YAML, names."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any, TypeAlias

import msgspec

from windlass.capability.conventions.ages import age
from windlass.capability.conventions.table import Cell, Column, Table
from windlass.kube.foreign import harmless
from windlass.machine_sync.overview import (
    KINDS,
    MACHINE_SETS,
    MACHINES,
    AnyRow,
    InfraReference,
    MachineRow,
    MachineSetRow,
    MachineSetSide,
    MachineSide,
)

NOT_THERE = "-"
NOTHING = "<none>"

_STATUS_COLOURS = {"True": "green", "False": "red", "Unknown": "yellow"}
_PHASE_COLOURS = {"Failed": "red", "Unreadable": "red", "Deleting": "yellow", "Running": "green"}

_Columns: TypeAlias = list[Column[Any]]


class Tables:
    """A table for each kind, one below the other; `-` stands for what does not exist, `<none>` for what is not set.

    Widths only ever grow, so that rows printed one by one stay below their headings.
    """

    def __init__(self, now: Callable[[], datetime], *, wide: bool, headings: bool, colour: bool) -> None:
        columns = {MACHINES.name: _machine_columns(now), MACHINE_SETS.name: _machine_set_columns(now)}
        self._tables: dict[str, Table[AnyRow]] = {
            kind: Table([column for column in every if wide or not column.wide], colour=colour)
            for kind, every in columns.items()
        }
        self._headings = headings
        self._last = ""

    def lines(self, rows: Iterable[AnyRow]) -> list[str]:
        """The rows as lines that continue earlier ones: headings only where the kind changes."""
        written: list[str] = []
        for kind, group in groupby(rows, key=lambda row: row.kind):
            begins = kind != self._last
            if begins and self._last and self._headings:
                written.append("")
            written += self._tables[kind].lines(group, headings=begins and self._headings)
            self._last = kind
        return written

    def page(self, rows: Iterable[AnyRow]) -> list[str]:
        """The rows as a complete output."""
        self._last = ""
        return self.lines(rows)


def tree(row: AnyRow) -> dict[str, Any]:
    """The item of `-o json` and `-o yaml`."""
    value: dict[str, Any] = msgspec.to_builtins(row)
    return value


def name(row: AnyRow) -> str:
    """`kind.group/name`, as kubectl takes it: the Machine API's, or Cluster API's if that is all there is."""
    (kind,) = (kind for kind in KINDS if kind.name == row.kind)
    side = kind.cluster_api if row.machine_api is None and row.cluster_api is not None else kind.machine_api
    return harmless(f"{side.RESOURCE.kind.lower()}.{side.RESOURCE.group}/{row.name}")


def whole(rows: Sequence[AnyRow], unavailable: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The object that `-o json` and `-o yaml` print. `unavailable`: resources that could not be listed, and why."""
    return {
        "items": [tree(row) for row in rows],
        "unavailable": [{"resource": resource, "message": message} for resource, message in unavailable],
    }


def _machine_columns(now: Callable[[], datetime]) -> _Columns:
    before, after = _common_columns("NAME", now)
    return [
        *before,
        Column("MAPI PHASE", lambda row: _phase(row.machine_api)),
        Column("CAPI PHASE", lambda row: _phase(row.cluster_api)),
        *after,
        Column("NODE", lambda row: Cell(_either(row, lambda side: side.node)), wide=True),
        Column("PROVIDER ID", lambda row: Cell(_either(row, lambda side: side.provider_id)), wide=True),
        Column("INFRASTRUCTURE", _infrastructure, wide=True),
        Column("MESSAGE", _message, wide=True),
    ]


def _machine_set_columns(now: Callable[[], datetime]) -> _Columns:
    before, after = _common_columns("MACHINESET", now)
    return [
        *before,
        Column("MAPI READY", lambda row: _ready(row.machine_api)),
        Column("CAPI READY", lambda row: _ready(row.cluster_api)),
        *after,
        Column("TEMPLATE", _template, wide=True),
        Column("MESSAGE", _message, wide=True),
    ]


def _common_columns(name_heading: str, now: Callable[[], datetime]) -> tuple[_Columns, _Columns]:
    """The columns before and after those that only one kind has."""
    return [Column(name_heading, lambda row: Cell(row.name)), Column("AUTHORITY", _authority)], [
        Column("SYNCHRONIZED", _synchronized),
        Column("REASON", lambda row: Cell(row.synchronized.reason or NOTHING if row.synchronized else NOT_THERE)),
        Column("SINCE", lambda row: Cell(age(row.synchronized.since, now()) if row.synchronized else NOT_THERE)),
        Column("GENERATION", _generation),
    ]


def _authority(row: AnyRow) -> Cell:
    if row.machine_api is None:
        return Cell(NOT_THERE)
    return Cell(row.authority or NOTHING, "yellow" if row.authority == "Migrating" else None)


def _phase(side: MachineSide | None) -> Cell:
    if side is None:
        return Cell(NOT_THERE)
    phase = "Unreadable" if side.unreadable else side.phase or NOTHING
    return Cell(phase, _PHASE_COLOURS.get(phase))


def _ready(side: MachineSetSide | None) -> Cell:
    """Ready and desired replicas, in the form of kubectl."""
    if side is None:
        return Cell(NOT_THERE)
    if side.unreadable or side.replicas is None:
        return Cell("Unreadable", "red")
    desired = NOT_THERE if side.replicas.desired is None else side.replicas.desired
    return Cell(f"{side.replicas.ready or 0}/{desired}", "green" if side.replicas.complete else "yellow")


def _synchronized(row: AnyRow) -> Cell:
    if row.synchronized is None:
        return Cell(NOT_THERE)
    return Cell(row.synchronized.status or NOTHING, _STATUS_COLOURS.get(row.synchronized.status))


def _generation(row: AnyRow) -> Cell:
    if row.generation is None:
        return Cell(NOT_THERE)
    source = NOT_THERE if row.generation.source is None else row.generation.source
    return Cell(f"{row.generation.synchronized}/{source}", "yellow" if row.generation.behind else None)


def _either(row: MachineRow, value: Callable[[MachineSide], str]) -> str:
    """The value of the authoritative side first: the other one may lag behind it."""
    sides = reversed(row.sides) if row.authority == "ClusterAPI" else row.sides
    return next((found for side in sides if (found := value(side))), NOTHING)


def _infrastructure(row: MachineRow) -> Cell:
    return _reference(row.cluster_api.infrastructure if row.cluster_api else None)


def _template(row: MachineSetRow) -> Cell:
    return _reference(row.cluster_api.infrastructure_template if row.cluster_api else None)


def _reference(to: InfraReference | None) -> Cell:
    return Cell(f"{to.kind}/{to.name}" if to else NOTHING)


def _message(row: AnyRow) -> Cell:
    said = row.synchronized.message if row.synchronized else ""
    said = said or next((side.unreadable for side in row.sides if side.unreadable), "")
    return Cell(" ".join(said.split()) or NOTHING)
