"""The demo of Update status: an update of a whole cluster, as users see it.

| module | what it holds |
|---|---|
| `story` | the steps; read it as the documentation of what Windlass shows |
| `expectations` | the expected results of the steps |
| `scene` | a snapshot of the cluster and of what Windlass says of it |
| `stage` | the played cluster and `windlass run` |
| `manifests/` | a Pod that must not be evicted, and its PodDisruptionBudget |
"""

from typing import Final

from windlass.demo.looks import Page
from windlass.demo.performance import Demo
from windlass.update_status.demo.scene import Scene
from windlass.update_status.demo.stage import Stage
from windlass.update_status.demo.story import STORY
from windlass.update_status.text import Details, render
from windlass.update_status.text.health import TITLE
from windlass.update_status.text.records import render_record

# A scene as the text that users see: `windlass status`, drawn from the UpdateStatus; at the end the record, too.


def text(scene: Scene) -> str:
    """What `windlass status` prints, then the record of the update when it is over."""
    if scene.report is None:
        return ""
    shown = render(scene.report, now=scene.now, details=Details.NONE)
    record = scene.record
    return f"{shown}\n{render_record(record, now=scene.now)}" if record and record.completed else shown


def summary(scene: Scene) -> str:
    """The pools, a line each, and what needs attention."""
    return "\n\n".join(part for part in text(scene).split("\n\n") if part.startswith(("WORKER POOL", TITLE)))


PAGE: Final = Page(text, summary)


DEMO: Demo[Stage, Scene] = Demo(
    Stage,
    STORY,
    PAGE,
    command="windlass demo update-status",
    afterwards=("windlass status", "windlass status history 1"),
)
