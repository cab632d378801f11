"""Prints the demo: every step with its command and result, the objects while they change, a summary.

On a terminal the objects are a live table; elsewhere each change is a line, so that a log has all changes.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Generic

from rich.console import Console
from rich.live import Live
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from windlass.demo.performance import Played
from windlass.demo.story import Columns, Moment, Observed, S, Step

WIDTH: Final = 120
"""The width, in columns, if the output is not a terminal."""

_INDENT: Final = 6


class LinesView(Generic[S]):
    """One line for each change; for logs, and for recordings."""

    def __init__(self, console: Console, columns: Columns[S], *, steps: int) -> None:
        self._console = console
        self._columns = columns
        self._steps = steps
        self._shown: dict[str, list[Text]] = {}

    def begin(self, number: int, step: Step[Any, S], moment: Moment[S]) -> None:
        self._print(Text(""))
        self._print(Text.assemble((f"{number:>2}/{self._steps} ", "dim"), (step.title, "bold")))
        for command in step.typed(moment):
            self._print(Text.assemble(("$ ", "dim"), (command, "cyan")), indent=_INDENT)

    def show(self, scene: S, _: Observed) -> None:
        rows = {cells[0].plain: cells for cells in self._columns.rows(scene)}
        for name in sorted(self._shown.keys() | rows.keys()):
            after = rows.get(name, [Text(name), Text("gone", "yellow")])
            if after != self._shown.get(name):
                self._print(Text("  ").join(_padded(after, self._columns.widths)), indent=_INDENT)
        self._shown = rows

    def end(self, played: Played[S], scene: S) -> None:
        self._print(verdict(played), indent=_INDENT)

    def close(self) -> None:
        """Restore the terminal."""

    def _print(self, text: Text, *, indent: int = 0) -> None:
        self._console.print(Text(" " * indent).append_text(text), soft_wrap=True)


class TableView(LinesView[S]):
    """The objects as a table below each step: live while it waits, and final when it is over."""

    def __init__(self, console: Console, columns: Columns[S], *, steps: int) -> None:
        super().__init__(console, columns, steps=steps)
        self._live: Live | None = None

    def begin(self, number: int, step: Step[Any, S], moment: Moment[S]) -> None:
        super().begin(number, step, moment)
        self._live = Live(console=self._console, transient=True, auto_refresh=False)
        self._live.start()

    def show(self, scene: S, observed: Observed) -> None:
        if self._live is not None:
            grid = Table.grid()
            if rows := self._columns.rows(scene):
                grid.add_row(_table(self._columns.headings, rows))
            if not observed.met:
                grid.add_row(Padding(Text(f"waiting: {observed.text}", "dim"), (0, 0, 0, _INDENT)))
            self._live.update(grid, refresh=True)

    def end(self, played: Played[S], scene: S) -> None:
        self.close()
        if rows := self._columns.rows(scene):
            self._console.print(_table(self._columns.headings, rows))
        super().end(played, scene)

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None


def _table(headings: Sequence[str], rows: Sequence[Sequence[Text]]) -> Padding:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in headings:
        table.add_column(heading, no_wrap=True)
    for cells in rows:
        table.add_row(*cells)
    return Padding(table, (0, 0, 0, _INDENT))


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


def _padded(cells: Sequence[Text], widths: Sequence[int]) -> list[Text]:
    padded = [cell.copy() for cell in cells]
    for cell, width in zip(padded, widths, strict=False):
        cell.pad_right(max(0, width - len(cell)))
    return padded
