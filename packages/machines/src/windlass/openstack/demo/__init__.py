"""The demo of OpenStack: a real cloud, the real Cluster API and Machine API, and two of Windlass's processes.

| module | what it holds |
|---|---|
| `story` | the steps; read it as the documentation of what Windlass does |
| `expectations` | the expected results of the steps, about machines, then about the cluster and its bastion |
| `scene` | a snapshot of the cluster and of the project in OpenStack |
| `stage` | the cloud, the cluster, the Machine API, and both `windlass run` |
| `manifests/` | the cluster and its MachineSets |
"""

from collections.abc import Mapping
from typing import Any, Final

from rich.text import Text

from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_server import OpenStackServer
from windlass.demo.looks import Columns
from windlass.demo.performance import Demo
from windlass.openstack.demo.scene import BASTION, CLUSTER, Scene
from windlass.openstack.demo.stage import Stage, prepare
from windlass.openstack.demo.story import STORY

# The cluster, its bastion and its machines as rows: the server, what its object says, then both APIs.

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
    shown: list[tuple[str, ...]] = []
    network = scene.get(OpenStackCluster, CLUSTER)
    if network is not None:
        endpoint = network.object.spec.control_plane_endpoint
        ready = scene.condition(OpenStackCluster, CLUSTER, "Ready")
        shown.append((CLUSTER, "", _said(ready), "", "", "", "", endpoint.host if endpoint else "-"))
    if BASTION in scene.servers or scene.get(OpenStackServer, BASTION) is not None:
        status = network.object.status.bastion if network else None
        ready = scene.condition(OpenStackServer, BASTION, "Ready")
        address = (status.floating_ip if status else "") or "-"
        shown.append((BASTION, _server(scene, BASTION), _said(ready), "", "", "", "", address))
    for row in scene.rows:
        cells = (
            _server(scene, row.name),
            _said(scene.condition(scene.ready_kind(row), row.name, "Ready")),
            row.authority,
            row.cluster_api.phase if row.cluster_api else "",
            row.machine_api.phase if row.machine_api else "",
            row.synchronized.status if row.synchronized else "",
            scene.address(row.name),
        )
        shown.append((row.name, *(cell or "-" for cell in cells)))
    return [_styled(*cells) for cells in shown]


def _server(scene: Scene, name: str) -> str:
    return scene.servers[name].status if name in scene.servers else "-"


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


DEMO: Demo[Stage, Scene] = Demo(
    Stage,
    STORY,
    COLUMNS,
    command="windlass demo openstack",
    afterwards=("windlass machines", "windlass openstack tree", "windlass plan openstack", "openstack server list"),
    prepare=prepare,
)
