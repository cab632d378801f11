"""Machines as rows: the name, the server, what its object says, then the phase in both APIs."""

from typing import Final

from rich.text import Text

from windlass.demo.looks import Columns
from windlass.demo.openstack.scene import Scene

_STYLES: Final = {
    "ACTIVE": "green",
    "Running": "green",
    "True": "green",
    "Deleting": "yellow",
    "False": "red",
    "Failed": "red",
    "Unknown": "yellow",
}


def rows(scene: Scene) -> list[list[Text]]:
    """Each machine of either API, by name."""
    shown = []
    for row in scene.rows:
        server, ready = scene.server(row.name), scene.condition(row.name, "Ready")
        cells = [
            server.status if server else "-",
            f"{ready['status']} {ready['reason']}" if ready else "-",
            (row.cluster_api.phase if row.cluster_api else "") or "-",
            (row.machine_api.phase if row.machine_api else "") or "-",
            row.synchronized.status if row.synchronized else "-",
            scene.address(row.name) or "-",
        ]
        shown.append([Text(row.name), *(Text(cell, _STYLES.get(cell.split()[0], "")) for cell in cells)])
    return shown


COLUMNS: Final = Columns(
    ("MACHINE", "SERVER", "READY", "CLUSTER API", "MACHINE API", "SYNCED", "ADDRESS"),
    (18, 7, 26, 12, 12, 7, 0),
    rows,
    pictured=6,
)
