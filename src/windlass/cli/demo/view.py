"""How the demo looks: every step with its command and what happened, the machines while they change, a summary.

On a terminal the machines are a live table; elsewhere each change is a line, so that a log tells the whole story.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.live import Live
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from windlass.cli.demo.performance import Result
from windlass.cli.demo.scene import Finding, Moment, Scene
from windlass.cli.demo.story import STORY, Step
from windlass.machine_sync.overview import AnyRow

WIDTH: Final = 120
"""Columns where there is no terminal that has a width of its own."""

_INDENT: Final = 6
_STATUS_STYLES: Final = {"True": "green", "False": "red", "Unknown": "yellow"}
_PHASE_STYLES: Final = {"Running": "green", "Deleting": "yellow", "Failed": "red"}
_HEADINGS: Final = ("MACHINE", "MIRROR", "AUTHORITY", "PHASE", "SYNCHRONIZED", "GENERATION", "ADDRESS")


class LinesView:
    """One line for each change; for logs, and for recordings."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._shown: dict[str, list[Text]] = {}

    def begin(self, number: int, step: Step, moment: Moment) -> None:
        self._print(Text(""))
        self._print(Text.assemble((f"{number:>2}/{len(STORY)} ", "dim"), (step.title, "bold")))
        for command in step.typed(moment):
            self._print(Text.assemble(("$ ", "dim"), (command, "cyan")), indent=_INDENT)

    def show(self, scene: Scene, _: Finding) -> None:
        rows = {cells[0].plain: cells for cells in _rows(scene)}
        for name in sorted(self._shown.keys() | rows.keys()):
            after = rows.get(name, [Text(name), Text("gone on both sides", "yellow")])
            if after != self._shown.get(name):
                self._print(Text("  ").join(_padded(after)), indent=_INDENT)
        self._shown = rows

    def end(self, result: Result, scene: Scene) -> None:
        self._print(verdict(result), indent=_INDENT)

    def _print(self, text: Text, *, indent: int = 0) -> None:
        if self._console.record:
            # A drawing has no line that could be too long.
            self._console.print(Padding(text, (0, 0, 0, indent)))
        else:
            self._console.print(Text(" " * indent).append_text(text), soft_wrap=True)


class TableView(LinesView):
    """The machines as a table below each step: for good when it is over, and if `live` while it waits, too."""

    def __init__(self, console: Console, *, live: bool) -> None:
        super().__init__(console)
        self._wants_live = live
        self._live: Live | None = None

    def begin(self, number: int, step: Step, moment: Moment) -> None:
        super().begin(number, step, moment)
        if self._wants_live:
            self._live = Live(console=self._console, transient=True, auto_refresh=False)
            self._live.start()

    def show(self, scene: Scene, finding: Finding) -> None:
        if self._live is not None:
            grid = Table.grid()
            if scene.rows or scene.set_rows:
                grid.add_row(machines_table(scene))
            if not finding.met:
                grid.add_row(Padding(Text(f"waiting: {finding.text}", "dim"), (0, 0, 0, _INDENT)))
            self._live.update(grid, refresh=True)

    def end(self, result: Result, scene: Scene) -> None:
        self.close()
        if scene.rows or scene.set_rows:
            self._console.print(machines_table(scene))
        super().end(result, scene)

    def close(self) -> None:
        """Give the terminal back as it was."""
        if self._live is not None:
            self._live.stop()
            self._live = None


def machines_table(scene: Scene) -> Padding:
    """The machines of both sides and their sets, one a row."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in _HEADINGS:
        table.add_column(heading, no_wrap=True)
    for cells in _rows(scene):
        table.add_row(*cells)
    return Padding(table, (0, 0, 0, _INDENT))


def verdict(result: Result) -> Text:
    """What became of a step, as one line."""
    if result.finding is None:
        return Text("not tried", "dim")
    word, style = ("ok", "bold green") if result.passed else ("FAILED", "bold red")
    return Text.assemble((word, style), f"  {result.finding.text}  ", (f"{result.seconds:.1f} s", "dim"))


def summarise(console: Console, results: Sequence[Result], *, logs: Path, seconds: float) -> None:
    """One line a step, and what it comes to."""
    console.print()
    console.print(Text("Summary", "bold"))
    for number, result in enumerate(results, start=1):
        word, style = ("not tried", "dim") if result.finding is None else ("FAILED", "bold red")
        if result.passed:
            word, style = "ok", "bold green"
        took = f"{result.seconds:6.1f} s" if result.finding is not None else " " * 8
        line = Text.assemble(f"{number:>2}  ", (f"{word:<9}", style), (took, "dim"), f"  {result.step.title}")
        console.print(line, soft_wrap=True)
    failed = next((result for result in results if not result.passed), None)
    if failed is None:
        console.print(f"All {len(results)} steps came true in {seconds:.0f} s.", highlight=False)
    elif failed.finding is not None:
        console.print(Text(f"{failed.step.title!r} did not come true: {failed.finding.text}", "red"), soft_wrap=True)
        console.print(Text(f"The logs are in {logs}"), soft_wrap=True)


def _rows(scene: Scene) -> list[list[Text]]:
    machines = [
        _cells(row, row.name, phase=row.machine_api.phase if row.machine_api else "", address=scene.address(row.name))
        for row in scene.rows
    ]
    return machines + [_cells(row, f"machineset/{row.name}") for row in scene.set_rows]


def _cells(row: AnyRow, name: str, *, phase: str = "", address: str = "") -> list[Text]:
    said = row.synchronized
    synchronized = f"{said.status} {said.reason}" if said else "-"
    generation = "-"
    if row.generation is not None:
        generation = f"{row.generation.synchronized}/{row.generation.source or '-'}"
    return [
        Text(name),
        Text("yes" if len(row.sides) > 1 else "-"),
        Text(row.authority or "-"),
        Text(phase or "-", _PHASE_STYLES.get(phase, "")),
        Text(synchronized, _STATUS_STYLES.get(said.status, "") if said else ""),
        Text(generation),
        Text(address or "-"),
    ]


def _padded(cells: Sequence[Text]) -> list[Text]:
    widths = (22, 3, 10, 12, 25, 5)
    padded = []
    for index, cell in enumerate(cells):
        cell = cell.copy()
        cell.pad_right(max(0, (widths[index] if index < len(widths) else 0) - len(cell)))
        padded.append(cell)
    return padded
