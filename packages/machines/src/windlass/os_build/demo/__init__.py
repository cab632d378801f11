"""The demo of OS builds: the real Machine Config Operator renders, buildah builds, a real registry takes the images.

| module | what it holds |
|---|---|
| `story` | the steps; read it as the documentation of what Windlass does |
| `expectations` | the expected results of the steps |
| `scene` | a snapshot of the pools, of the registry and of what runs on this machine |
| `stage` | the cluster, the registry and `windlass run os-build` |
| `builders` | the processes and files of builds on this machine |
| `columns` | pools as rows |
"""

from windlass.demo.performance import Demo
from windlass.os_build.demo.columns import COLUMNS
from windlass.os_build.demo.scene import Scene
from windlass.os_build.demo.stage import Stage, prepare
from windlass.os_build.demo.story import STORY

DEMO: Demo[Stage, Scene] = Demo(
    Stage,
    STORY,
    COLUMNS,
    command="windlass demo os-build",
    afterwards=("windlass os-build list --all", "windlass plan os-build"),
    prepare=prepare,
)
