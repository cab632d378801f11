"""The demo of Machine sync: machines that Cluster API makes, mirrored; machines of the Machine API, handed over.

| module | what it holds |
|---|---|
| `story` | the steps; read it as the documentation of what Windlass does |
| `expectations`, `hand_over` | when a step of the first act, and of the second, has come true |
| `scene` | what is seen at one moment |
| `stage` | the cluster of the story, the simulators and `windlass run` |
| `columns` | how machines and MachineSets look as rows |
| `manifests/` | the cluster of the story |
"""

from windlass.demo.machine_sync.columns import COLUMNS
from windlass.demo.machine_sync.scene import Scene
from windlass.demo.machine_sync.stage import Stage
from windlass.demo.machine_sync.story import STORY
from windlass.demo.performance import Demo

DEMO: Demo[Stage, Scene] = Demo(Stage, STORY, COLUMNS)
