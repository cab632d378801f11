"""Results as tables that read well on a terminal and on a page: Markdown with columns of equal width."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Cell = str | float | int | None


@dataclass(frozen=True)
class Table:
    """A result. `rows` are cells by column; `notes` are what a reader must know to judge them."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Mapping[str, Cell]]
    notes: Sequence[str] = field(default_factory=tuple)

    def __str__(self) -> str:
        lines = [list(self.columns), *([written(row.get(column)) for column in self.columns] for row in self.rows)]
        widths = [max(len(line[place]) for line in lines) for place in range(len(self.columns))]
        drawn = ["| " + " | ".join(cell.ljust(widths[at]) for at, cell in enumerate(line)) + " |" for line in lines]
        drawn.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
        notes = ["", *(f"* {note}" for note in self.notes)] if self.notes else []
        return "\n".join([f"## {self.title}", "", *drawn, *notes, ""])


def written(cell: Cell) -> str:
    """A cell as text: three digits that count, nothing for None."""
    if cell is None:
        return ""
    if isinstance(cell, float):
        return f"{cell:.0f}" if abs(cell) >= 100 else f"{cell:.1f}" if abs(cell) >= 10 else f"{cell:.2f}"
    return str(cell)


def against(measured: float, target: float, *, at_least: bool = False, unit: str = "") -> str:
    """`<= 12 s: reached`, for the column that compares a figure with its target."""
    reached = measured >= target if at_least else measured <= target
    sign = ">=" if at_least else "<="
    return f"{sign} {target:g}{f' {unit}' if unit else ''}: {'reached' if reached else 'MISSED'}"
