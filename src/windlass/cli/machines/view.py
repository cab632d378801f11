"""How rows of the overview look: table, wide table, JSON, YAML, names."""

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from windlass.api import capi, mapi
from windlass.cli.ages import age
from windlass.cli.table import Cell, Column
from windlass.machine_sync.overview import Row, Side

NOT_THERE = "-"
NOTHING = "<none>"

_STATUS_COLOURS = {"True": "green", "False": "red", "Unknown": "yellow"}
_PHASE_COLOURS = {"Failed": "red", "Unreadable": "red", "Deleting": "yellow", "Running": "green"}


def columns(now: Callable[[], datetime], *, wide: bool) -> list[Column[Row]]:
    """`-` stands for what does not exist, `<none>` for what nobody has set yet."""
    every: list[Column[Row]] = [
        Column("NAME", lambda row: Cell(row.name)),
        Column("AUTHORITY", _authority),
        Column("MAPI PHASE", lambda row: _phase(row.machine_api)),
        Column("CAPI PHASE", lambda row: _phase(row.cluster_api)),
        Column("SYNCHRONIZED", _synchronized),
        Column("REASON", lambda row: Cell(row.synchronized.reason or NOTHING if row.synchronized else NOT_THERE)),
        Column("SINCE", lambda row: Cell(age(row.synchronized.since, now()) if row.synchronized else NOT_THERE)),
        Column("GENERATION", _generation),
        Column("NODE", lambda row: Cell(_either(row, lambda side: side.node)), wide=True),
        Column("PROVIDER ID", lambda row: Cell(_either(row, lambda side: side.provider_id)), wide=True),
        Column("INFRASTRUCTURE", _infrastructure, wide=True),
        Column("MESSAGE", _message, wide=True),
    ]
    return [column for column in every if wide or not column.wide]


def tree(row: Row) -> dict[str, Any]:
    """The item of `-o json` and `-o yaml`."""
    value: dict[str, Any] = msgspec.to_builtins(row)
    return value


def name(row: Row) -> str:
    """`kind.group/name`, as kubectl takes it: the Machine API's, or Cluster API's if that is all there is."""
    kind = capi.Machine if row.machine_api is None and row.cluster_api is not None else mapi.Machine
    return f"{kind.RESOURCE.kind.lower()}.{kind.RESOURCE.group}/{row.name}"


def as_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def as_json_line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def as_yaml(value: Any) -> str:
    import yaml

    # The C emitter where libyaml is there: ten times faster, and a list of machines can be long.
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(value, Dumper=dumper, sort_keys=False, allow_unicode=True, width=2**16)
    return text.rstrip("\n")


def whole(rows: Sequence[Row], unavailable: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The object that `-o json` and `-o yaml` print. `unavailable`: resources that could not be listed, and why."""
    return {
        "items": [tree(row) for row in rows],
        "unavailable": [{"resource": resource, "message": message} for resource, message in unavailable],
    }


def _authority(row: Row) -> Cell:
    if row.machine_api is None:
        return Cell(NOT_THERE)
    return Cell(row.authority or NOTHING, "yellow" if row.authority == "Migrating" else None)


def _phase(side: Side | None) -> Cell:
    if side is None:
        return Cell(NOT_THERE)
    phase = "Unreadable" if side.unreadable else side.phase or NOTHING
    return Cell(phase, _PHASE_COLOURS.get(phase))


def _synchronized(row: Row) -> Cell:
    if row.synchronized is None:
        return Cell(NOT_THERE)
    return Cell(row.synchronized.status or NOTHING, _STATUS_COLOURS.get(row.synchronized.status))


def _generation(row: Row) -> Cell:
    if row.generation is None:
        return Cell(NOT_THERE)
    source = NOT_THERE if row.generation.source is None else row.generation.source
    return Cell(f"{row.generation.synchronized}/{source}", "yellow" if row.generation.behind else None)


def _either(row: Row, value: Callable[[Side], str]) -> str:
    """The value of the authoritative side first: the other one may lag behind it."""
    sides = [row.cluster_api, row.machine_api] if row.authority == "ClusterAPI" else [row.machine_api, row.cluster_api]
    return next((found for side in sides if side is not None and (found := value(side))), NOTHING)


def _infrastructure(row: Row) -> Cell:
    infra = row.cluster_api.infrastructure if row.cluster_api else None
    return Cell(f"{infra.kind}/{infra.name}" if infra else NOTHING)


def _message(row: Row) -> Cell:
    sides = (row.machine_api, row.cluster_api)
    said = row.synchronized.message if row.synchronized else ""
    said = said or next((side.unreadable for side in sides if side and side.unreadable), "")
    return Cell(" ".join(said.split()) or NOTHING)
