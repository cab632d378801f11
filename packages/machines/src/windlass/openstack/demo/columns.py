"""The cluster, its bastion and its machines as rows: the server, what its object says, then both APIs."""

from collections.abc import Mapping
from typing import Any, Final

from rich.text import Text

from windlass.demo.looks import Columns
from windlass.openstack.demo.scene import BASTION, CLUSTER, Scene, condition_of

_STYLES: Final = {
    "ACTIVE": "green",
    "Running": "green",
    "True": "green",
    "Deleting": "yellow",
    "Migrating": "yellow",
    "False": "red",
    "Failed": "red",
    "Unknown": "yellow",
}


def rows(scene: Scene) -> list[list[Text]]:
    """The OpenStackCluster, the bastion, and each machine of either API, by name."""
    return [_styled(*cells) for cells in (*_cluster(scene), *_bastion(scene), *_machines(scene))]


def _cluster(scene: Scene) -> list[tuple[str, ...]]:
    if scene.network is None:
        return []
    endpoint = scene.network.object.spec.control_plane_endpoint
    ready = condition_of(scene.network, "Ready")
    return [(CLUSTER, "", _said(ready), "", "", "", "", endpoint.host if endpoint else "-")]


def _bastion(scene: Scene) -> list[tuple[str, ...]]:
    if BASTION not in scene.instances and scene.server(BASTION) is None:
        return []
    status = scene.network.object.status.bastion if scene.network else None
    server, ready = scene.server(BASTION), scene.condition(BASTION, "Ready")
    address = status.floating_ip if status else ""
    return [(BASTION, server.status if server else "-", _said(ready), "", "", "", "", address or "-")]


def _machines(scene: Scene) -> list[tuple[str, ...]]:
    return [
        (
            row.name,
            server.status if (server := scene.server(row.name)) else "-",
            _said(scene.ready_of(row)),
            row.authority or "-",
            (row.cluster_api.phase if row.cluster_api else "") or "-",
            (row.machine_api.phase if row.machine_api else "") or "-",
            row.synchronized.status if row.synchronized else "-",
            scene.address(row.name) or "-",
        )
        for row in scene.rows
    ]


def _said(ready: Mapping[str, Any]) -> str:
    return f"{ready['status']} {ready['reason']}" if ready else "-"


def _styled(name: str, *cells: str) -> list[Text]:
    return [Text(name), *(Text(cell, _STYLES.get(cell.partition(" ")[0], "")) for cell in cells)]


COLUMNS: Final = Columns(
    ("NAME", "SERVER", "READY", "AUTHORITY", "CLUSTER API", "MACHINE API", "SYNCED", "ADDRESS"),
    (17, 7, 24, 10, 12, 12, 6, 0),
    rows,
    pictured=6,
)
