"""Machines and MachineSets as rows: the name, then the state in both APIs."""

from typing import Final

from rich.text import Text

from windlass.demo.looks import Columns
from windlass.machine_sync.demo.scene import Scene
from windlass.machine_sync.overview import AnyRow

_STATUS_STYLES: Final = {"True": "green", "False": "red", "Unknown": "yellow"}
_PHASE_STYLES: Final = {"Running": "green", "Deleting": "yellow", "Failed": "red"}


def rows(scene: Scene) -> list[list[Text]]:
    """Each machine, then each MachineSet."""
    machines = [
        _cells(row, row.name, phase=row.machine_api.phase if row.machine_api else "", address=scene.address(row.name))
        for row in scene.rows
    ]
    return machines + [_cells(row, f"machineset/{row.name}") for row in scene.set_rows]


def _cells(row: AnyRow, name: str, *, phase: str = "", address: str = "") -> list[Text]:
    said = row.synchronized
    synchronized = f"{said.status} {said.reason}" if said else "-"
    generation = "-"
    if row.generation is not None:
        generation = f"{row.generation.synchronized}/{row.generation.source or '-'}"
    return [
        Text(name),
        Text("yes" if len(row.sides) > 1 else "-"),
        Text(row.authority or "-"),
        Text(phase or "-", _PHASE_STYLES.get(phase, "")),
        Text(synchronized, _STATUS_STYLES.get(said.status, "") if said else ""),
        Text(generation),
        Text(address or "-"),
    ]


COLUMNS: Final = Columns(
    ("MACHINE", "MIRROR", "AUTHORITY", "PHASE", "SYNCHRONIZED", "GENERATION", "ADDRESS"),
    (22, 3, 10, 12, 25, 5, 0),
    rows,
    pictured=5,
)
