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

from windlass.demo.performance import Demo
from windlass.machine_sync.demo.columns import COLUMNS
from windlass.machine_sync.demo.scene import Scene
from windlass.machine_sync.demo.stage import Stage
from windlass.machine_sync.demo.story import STORY

DEMO: Demo[Stage, Scene] = Demo(Stage, STORY, COLUMNS, command="make demo", afterwards=("windlass machines",))
