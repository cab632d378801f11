"""The demo of OS builds: the real Machine Config Operator renders, buildah builds, a real registry takes the images.

| module | what it holds |
|---|---|
| `story` | the steps; read it as the documentation of what Windlass does |
| `expectations` | the expected results of the steps |
| `scene` | a snapshot of the pools, of the registry and of what runs on this machine |
| `stage` | the cluster, the registry and `windlass run os-build` |
"""

from typing import Final

from rich.text import Text

from windlass.api.machineconfiguration import MachineConfigPool
from windlass.demo.looks import Columns
from windlass.demo.performance import Demo
from windlass.os_build.demo.scene import Scene, shortened
from windlass.os_build.demo.stage import Stage, prepare
from windlass.os_build.demo.story import STORY
from windlass.os_build.overview import State

_STYLES: Final = {State.BUILT: "green", State.FAILED: "red", State.PENDING: "yellow", State.BUILDING: "yellow"}


def rows(scene: Scene) -> list[list[Text]]:
    """Each pool, by name."""
    return [
        [
            Text(name),
            Text(shortened(row.config)),
            Text(f"{row.state} {row.reason}".rstrip(), _STYLES.get(row.state, "")),
            Text(row.image.rpartition(":")[2][:12] or "-"),
            Text(shortened(row.image_config)),
        ]
        for name in sorted(scene.of(MachineConfigPool))
        for row in [scene.row(name)]
    ]


COLUMNS: Final = Columns(
    ("POOL", "RENDERED CONFIG", "IMAGE IS", "DIGEST", "BUILT FROM"),
    (6, 23, 24, 12, 0),
    rows,
    pictured=5,
)


DEMO: Demo[Stage, Scene] = Demo(
    Stage,
    STORY,
    COLUMNS,
    command="windlass demo os-build",
    afterwards=("windlass os-build list --all", "windlass plan os-build"),
    prepare=prepare,
)
