"""The demo of Update status: an update of a whole cluster, as users see it.

| module | what it holds |
|---|---|
| `story` | the steps; read it as the documentation of what Windlass shows |
| `expectations` | the expected results of the steps |
| `scene` | a snapshot of the cluster and of what Windlass says of it |
| `stage` | the played cluster and `windlass run` |
| `page` | a scene as the text of `windlass status` |
| `manifests/` | a Pod that must not be evicted, and its PodDisruptionBudget |
"""

from windlass.demo.performance import Demo
from windlass.update_status.demo.page import PAGE
from windlass.update_status.demo.scene import Scene
from windlass.update_status.demo.stage import Stage
from windlass.update_status.demo.story import STORY

DEMO: Demo[Stage, Scene] = Demo(
    Stage,
    STORY,
    PAGE,
    command="windlass demo update-status",
    afterwards=("windlass status", "windlass status history 1"),
)
