"""Shows progress while objects migrate: a bar on a terminal, lines everywhere else. All on standard error."""

import os
import sys
from types import TracebackType
from typing import Any, Protocol, Self

from windlass.capability.conventions import complaints
from windlass.machine_sync.cli.migrate.selection import ObjectKey
from windlass.machine_sync.cli.migrate.stage import MigrationStage, Reached

_NAMED = 3
"""The number of objects under way that the bar names."""


class ProgressView(Protocol):
    """Shows progress. To be entered with `with`."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def update(self, key: ObjectKey, reached: Reached) -> None:
        """The object is this far; also called when nothing has changed."""
        ...

    def finish(self, key: ObjectKey, severity: str, text: str) -> None:
        """The object is finished."""
        ...

    def say(self, text: str) -> None:
        """A message about all objects."""
        ...


def progress_view(total: int) -> ProgressView:
    """Progress as lines on standard error."""
    redrawn = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    return Bar(total) if redrawn else Lines(total)


class Lines:
    """One line for each stage."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._last: dict[ObjectKey, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def update(self, key: ObjectKey, reached: Reached) -> None:
        # `finish` reports the arrival.
        if reached.stage is not MigrationStage.THERE and self._last.get(key) != str(reached):
            self._last[key] = str(reached)
            complaints.say("info", f"{key}: {reached}")

    def finish(self, key: ObjectKey, severity: str, text: str) -> None:
        self._done += 1
        complaints.say(severity, f"{key}: {text} ({self._done}/{self._total})")

    def say(self, text: str) -> None:
        complaints.say("info", text)


class Bar:
    """One bar, with the objects under way; what failed stays above it."""

    def __init__(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.table import Column

        self._moving: dict[ObjectKey, Reached] = {}
        columns: tuple[Any, ...] = (
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, ratio=1)),
        )
        console = Console(file=sys.stderr, highlight=False)
        self._progress = Progress(*columns, console=console, transient=True, expand=True)
        self._task = self._progress.add_task("", total=total)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def update(self, key: ObjectKey, reached: Reached) -> None:
        self._moving[key] = reached
        self._describe()

    def finish(self, key: ObjectKey, severity: str, text: str) -> None:
        self._moving.pop(key, None)
        self._progress.advance(self._task)
        self._describe()
        if severity != "info":
            self._print(f"{severity}: {key}: {text}")

    def say(self, text: str) -> None:
        self._print(f"info: {text}")

    def _describe(self) -> None:
        named = [f"{key} {reached.stage}" for key, reached in list(self._moving.items())[:_NAMED]]
        more = len(self._moving) - len(named)
        self._progress.update(self._task, description=", ".join(named) + (f" and {more} more" if more else ""))

    def _print(self, text: str) -> None:
        self._progress.console.print(" ".join(text.split()), markup=False, soft_wrap=True)
