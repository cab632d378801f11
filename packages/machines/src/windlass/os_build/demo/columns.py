"""Pools as rows: the name, the rendered MachineConfig, what the conditions say, the image and its origin."""

from typing import Final

from rich.text import Text

from windlass.demo.looks import Columns
from windlass.os_build.constants import IMAGE, IMAGE_CONFIG
from windlass.os_build.demo.scene import Scene
from windlass.os_build.pool.conditions import BUILDING, FAILED, PENDING, SUCCESS

_DIGITS: Final = 7
_STYLES: Final = {SUCCESS: "green", FAILED: "red", PENDING: "yellow", BUILDING: "yellow"}


def rows(scene: Scene) -> list[list[Text]]:
    """Each pool, by name."""
    shown = []
    for name in sorted(scene.pools):
        told, recorded = scene.told(name), scene.recorded(name)
        cells = [
            Text(shortened(scene.config(name))),
            Text(f"{told.true or '-'} {told.reason}" if told else "-", _STYLES.get(told.true, "") if told else ""),
            Text(recorded.get(IMAGE, "").rpartition(":")[2][:12] or "-"),
            Text(shortened(recorded.get(IMAGE_CONFIG, ""))),
        ]
        shown.append([Text(name), *cells])
    return shown


def shortened(config: str) -> str:
    """A rendered MachineConfig with the first digits of its hash."""
    name, dash, digits = config.rpartition("-")
    return f"{name}{dash}{digits[:_DIGITS]}" or "-"


COLUMNS: Final = Columns(
    ("POOL", "RENDERED CONFIG", "IMAGE IS", "DIGEST", "BUILT FROM"),
    (6, 23, 30, 12, 0),
    rows,
    pictured=5,
)
