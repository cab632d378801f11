"""From the command line to the last line of the summary: the parts of the demo put together."""

import asyncio
import io
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from rich.console import Console

from windlass.cli.conventions.complaints import say
from windlass.cli.conventions.exit_codes import Exit
from windlass.cli.demo.performance import perform
from windlass.cli.demo.stage import Stage
from windlass.cli.demo.story import STORY
from windlass.cli.demo.view import WIDTH, LinesView, TableView, summarise
from windlass.testing.binaries import PARTS, BinariesError, obtain

Encore = Callable[[Stage, Console, int], Awaitable[None]]
"""What happens between the summary and the end; it is given the exit code."""


def run(*, svg: Path | None) -> int:
    """The demo that leaves nothing behind; returns the exit code."""
    if not prepared():
        return Exit.FAILED
    directory = Path(tempfile.mkdtemp(prefix="windlass-demo-"))
    return asyncio.run(show(Stage(directory), svg=svg))


def prepared() -> bool:
    """Have the programs at hand, building them if need be, before any clock runs; says so if that is impossible."""
    try:
        obtain(PARTS)
    except BinariesError as problem:
        # Not through say(): the message carries the end of a log, whose lines matter.
        sys.stderr.write(f"error: {problem}\n")
        return False
    return True


async def show(stage: Stage, *, svg: Path | None, encore: Encore | None = None) -> int:
    """Play the story on `stage`, which is empty again afterwards; returns the exit code."""
    console = _recorder() if svg is not None else _console()
    view = _view(console)
    begun = time.monotonic()
    async with stage:
        try:
            results = await perform(STORY, stage, view)
        finally:
            if isinstance(view, TableView):
                view.close()
        passed = all(result.passed for result in results)
        if not passed:
            stage.keep_logs()
        summarise(console, results, logs=stage.logs, seconds=time.monotonic() - begun)
        if svg is not None:
            _draw(console, svg)
        code = Exit.OK if passed else Exit.FAILED
        if encore is not None:
            await encore(stage, console, code)
    return code


def _console() -> Console:
    return Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=WIDTH)


def _recorder() -> Console:
    return Console(record=True, highlight=False, width=WIDTH, force_terminal=True, file=io.StringIO())


def _view(console: Console) -> LinesView:
    if console.record:
        return TableView(console, live=False)
    return TableView(console, live=True) if console.is_terminal else LinesView(console)


def _draw(console: Console, svg: Path) -> None:
    svg.write_text(console.export_svg(title="windlass demo", clear=False), encoding="utf-8")
    for line in console.export_text(clear=False).splitlines():
        sys.stdout.write(f"{line.rstrip()}\n")
    say("info", f"the session is drawn in {svg}")
