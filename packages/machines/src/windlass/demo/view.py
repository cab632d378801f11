"""Prints the demo: every step with its command and result, the scene while it changes, a summary.

On a terminal the scene is live; elsewhere it is lines of a log. `windlass.demo.looks` says how a scene looks.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Generic

from rich.console import Console, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from windlass.demo.looks import Look
from windlass.demo.performance import Played
from windlass.demo.story import Moment, Observed, S, Step

WIDTH: Final = 120
"""The width, in columns, if the output is not a terminal."""

_INDENT: Final = 6


class LinesView(Generic[S]):
    """Lines that stay; for logs, and for recordings."""

    def __init__(self, console: Console, look: Look[S], *, steps: int) -> None:
        self._console = console
        self._look = look
        self._steps = steps
        self._shown: S | None = None

    def begin(self, number: int, step: Step[Any, S], moment: Moment[S]) -> None:
        self._print(Text(""))
        self._print(Text.assemble((f"{number:>2}/{self._steps} ", "dim"), (step.title, "bold")))
        for command in step.typed(moment):
            self._print(Text.assemble(("$ ", "dim"), (command, "cyan")), indent=_INDENT)

    def show(self, scene: S, _: Observed) -> None:
        for line in self._look.changes(self._shown, scene):
            self._print(line, indent=_INDENT)
        self._shown = scene

    def end(self, played: Played[S], scene: S) -> None:
        for line in self._look.closing(scene):
            self._print(line, indent=_INDENT)
        self._judge(played)

    def close(self) -> None:
        """Restore the terminal."""

    def _judge(self, played: Played[S]) -> None:
        self._print(verdict(played), indent=_INDENT)

    def _print(self, text: Text, *, indent: int = 0) -> None:
        self._console.print(Text(" " * indent if text else "").append_text(text), soft_wrap=True)


class TableView(LinesView[S]):
    """The scene below each step: live while it waits, and final when it is over."""

    def __init__(self, console: Console, look: Look[S], *, steps: int) -> None:
        super().__init__(console, look, steps=steps)
        self._live: Live | None = None

    def begin(self, number: int, step: Step[Any, S], moment: Moment[S]) -> None:
        super().begin(number, step, moment)
        self._live = Live(console=self._console, transient=True, auto_refresh=False)
        self._live.start()

    def show(self, scene: S, observed: Observed) -> None:
        if self._live is not None:
            grid = Table.grid()
            if whole := self._look.whole(scene):
                grid.add_row(_indented(whole))
            if not observed.met:
                grid.add_row(_indented(Text(f"waiting: {observed.text}", "dim")))
            self._live.update(grid, refresh=True)

    def end(self, played: Played[S], scene: S) -> None:
        self.close()
        if whole := self._look.whole(scene):
            self._console.print(_indented(whole))
        self._judge(played)

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None


def _indented(what: RenderableType) -> Padding:
    return Padding(what, (0, 0, 0, _INDENT))


def verdict(played: Played[Any]) -> Text:
    """The result of a step, as one line."""
    if played.observed is None:
        return Text("not tried", "dim")
    word, style = ("ok", "bold green") if played.passed else ("FAILED", "bold red")
    return Text.assemble((word, style), f"  {played.observed.text}  ", (f"{played.seconds:.1f} s", "dim"))


def summarise(console: Console, performed: Sequence[Played[Any]], *, logs: Path, seconds: float) -> None:
    """One line for each step, and the overall result."""
    console.print()
    console.print(Text("Summary", "bold"))
    for number, played in enumerate(performed, start=1):
        word, style = ("not tried", "dim") if played.observed is None else ("FAILED", "bold red")
        if played.passed:
            word, style = "ok", "bold green"
        took = f"{played.seconds:6.1f} s" if played.observed is not None else " " * 8
        line = Text.assemble(f"{number:>2}  ", (f"{word:<9}", style), (took, "dim"), f"  {played.step.title}")
        console.print(line, soft_wrap=True)
    console.print(conclusion(performed, seconds=seconds), soft_wrap=True)
    if not all(played.passed for played in performed):
        console.print(Text(f"The logs are in {logs}"), soft_wrap=True)


def conclusion(performed: Sequence[Played[Any]], *, seconds: float) -> Text:
    """The overall result, as one line."""
    failed = next((played for played in performed if not played.passed), None)
    if failed is None or failed.observed is None:
        return Text(f"All {len(performed)} steps came true in {seconds:.0f} s.")
    return Text(f"{failed.step.title!r} did not come true: {failed.observed.text}", "red")
