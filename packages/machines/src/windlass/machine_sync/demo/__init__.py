"""The demo of Machine sync: mirrors Cluster API machines, and hands over Machine API machines.

| module | what it holds |
|---|---|
| `story` | the steps; read it as the documentation of what Windlass does |
| `expectations` | the expected results of the steps, of the first act and of the second |
| `scene` | a snapshot of the cluster |
| `stage` | the cluster of the story, the simulators and `windlass run` |
| `manifests/` | the cluster of the story |
"""

from typing import Final

from rich.text import Text

from windlass.demo.looks import Columns
from windlass.demo.performance import Demo
from windlass.machine_sync.demo.scene import Scene
from windlass.machine_sync.demo.stage import Stage
from windlass.machine_sync.demo.story import STORY
from windlass.machine_sync.overview import AnyRow

# Machines and MachineSets as rows: the name, then the state in both APIs.

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


DEMO: Demo[Stage, Scene] = Demo(Stage, STORY, COLUMNS, command="make demo", afterwards=("windlass machines",))
