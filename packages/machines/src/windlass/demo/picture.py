"""Draws a few steps of a demo as an SVG for a README: at most 25 lines, 800 pixels wide, light and dark.

The text is the demo's output, with only that part of a scene that its look selects for pictures.
"""

import io
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, Final, Generic

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.segment import Segment
from rich.text import Text

from windlass.demo.looks import Look
from windlass.demo.performance import Played
from windlass.demo.story import Moment, Observed, S, Step
from windlass.demo.view import conclusion, verdict

WIDTH: Final = 800
"""Pixels. A page of this width shows the text unscaled."""

MOST_LINES: Final = 25

_FONT: Final = 13
_ADVANCE: Final = 7.8
"""Pixels from one character to the next. Fonts differ; `textLength` makes every one keep its column."""

_LINE: Final = 19
_MARGIN: Final = 16
_INDENT: Final = 3
_COLUMNS: Final = int((WIDTH - 2 * _MARGIN) / _ADVANCE)

_STYLE: Final = f"""\
text {{ font: {_FONT}px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace }}
text {{ white-space: pre; fill: #1f2328 }}
rect {{ fill: #f6f8fa; stroke: #d1d9e0 }}
.bold {{ font-weight: bold }}
.dim {{ fill: #59636e }}
.cyan {{ fill: #0550ae }}
.green {{ fill: #116329 }}
.red {{ fill: #a40e26 }}
.yellow {{ fill: #7d4e00 }}
@media (prefers-color-scheme: dark) {{
text {{ fill: #e6edf3 }}
rect {{ fill: #0d1117; stroke: #3d444d }}
.dim {{ fill: #9198a1 }}
.cyan {{ fill: #79c0ff }}
.green {{ fill: #56d364 }}
.red {{ fill: #ff7b72 }}
.yellow {{ fill: #e3b341 }}
}}"""


class TooLong(Exception):
    """The pictured steps have too many lines for a README: picture fewer."""


class Picture(Generic[S]):
    """A view of the pictured steps; `draw` when the demo is over. `command` is the one that shows the demo."""

    def __init__(self, look: Look[S], *, steps: int, command: str) -> None:
        self._look = look
        self._steps = steps
        self._before: S | None = None
        self._shown: list[RenderableType] = [_command(command)]

    def begin(self, number: int, step: Step[Any, S], moment: Moment[S]) -> None:
        self._before = None
        if step.pictured:
            self._before = moment.before
            self._shown += ["", Text.assemble((f"{number}/{self._steps} ", "dim"), (step.title, "bold"))]
            self._shown += [_indented(_command(command)) for command in step.typed(moment)]

    def show(self, scene: S, observed: Observed) -> None:
        """Do nothing: the picture shows the end of a step."""

    def end(self, played: Played[S], scene: S) -> None:
        if self._before is not None:
            part = self._look.pictured_part(self._before, scene)
            self._shown += [_indented(part), _indented(verdict(played))]

    def draw(self, file: Path, performed: Sequence[Played[S]], *, seconds: float) -> None:
        """Write the SVG. Raises TooLong."""
        console = Console(file=io.StringIO(), width=_COLUMNS, color_system="standard", force_terminal=True)
        shown = Group(*self._shown, "", conclusion(performed, seconds=seconds))
        lines = console.render_lines(shown, pad=False)
        if len(lines) > MOST_LINES:
            raise TooLong(f"the picture has {len(lines)} lines: at most {MOST_LINES} are readable")
        file.write_text(svg(lines), encoding="utf-8")


def svg(lines: Sequence[Sequence[Segment]]) -> str:
    """The lines as on a terminal, in the colours of the page."""
    height = 2 * _MARGIN + len(lines) * _LINE
    texts = [text for number, line in enumerate(lines) for text in _texts(line, y=_MARGIN + (number + 0.75) * _LINE)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}">',
            f"<style>\n{_STYLE}\n</style>",
            f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>',
            *texts,
            "</svg>\n",
        ]
    )


def _texts(line: Sequence[Segment], *, y: float) -> list[str]:
    texts, column = [], 0
    for segment in line:
        text = segment.text.rstrip("\n")
        if words := text.strip():
            x = _MARGIN + (column + len(text) - len(text.lstrip())) * _ADVANCE
            classes = f' class="{names}"' if (names := _classes(segment)) else ""
            length = f"{len(words) * _ADVANCE:g}"
            texts.append(f'<text x="{x:g}" y="{y:g}" textLength="{length}"{classes}>{escape(words)}</text>')
        column += len(text)
    return texts


def _classes(segment: Segment) -> str:
    style = segment.style
    if style is None:
        return ""
    colour = style.color.name if style.color is not None else ""
    return " ".join(name for name, on in ((colour, colour), ("bold", style.bold), ("dim", style.dim)) if on)


def _command(text: str) -> Text:
    return Text.assemble(("$ ", "dim"), (text, "cyan"))


def _indented(what: RenderableType) -> Padding:
    return Padding(what, (0, 0, 0, _INDENT))
