"""The demo of Machine sync: mirrors Cluster API machines, and hands over Machine API machines.

| module | what it holds |
|---|---|
| `story` | the steps; read it as the documentation of what Windlass does |
| `expectations`, `hand_over` | the expected results of the steps, of the first act and of the second |
| `scene` | a snapshot of the cluster |
| `stage` | the cluster of the story, the simulators and `windlass run` |
| `columns` | machines and MachineSets as rows |
| `manifests/` | the cluster of the story |
"""

from windlass.demo.machine_sync.columns import COLUMNS
from windlass.demo.machine_sync.scene import Scene
from windlass.demo.machine_sync.stage import Stage
from windlass.demo.machine_sync.story import STORY
from windlass.demo.performance import Demo

DEMO: Demo[Stage, Scene] = Demo(Stage, STORY, COLUMNS, command="make demo", afterwards=("windlass machines",))
