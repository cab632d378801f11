"""Runs a whole demo, from an empty directory to the last line of the summary."""

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

from rich.console import Console

from windlass.demo.performance import Demo, T, View, perform
from windlass.demo.picture import Picture
from windlass.demo.story import S
from windlass.demo.view import WIDTH, LinesView, TableView, summarise

Encore: TypeAlias = Callable[[T, Console, bool], Awaitable[None]]
"""Runs between the summary and the end; its argument is whether all steps came true."""


def run(demo: Demo[T, S], *, svg: Path | None) -> bool:
    """Run the demo and leave nothing behind; returns whether all steps came true."""
    directory = Path(tempfile.mkdtemp(prefix="windlass-demo-"))
    return asyncio.run(show(demo, demo.stage(directory), svg=svg))


async def show(demo: Demo[T, S], stage: T, *, svg: Path | None, encore: "Encore[T] | None" = None) -> bool:
    """Play the story on `stage`, which is empty again afterwards; returns whether all steps came true."""
    console = Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=WIDTH)
    on = TableView if console.is_terminal else LinesView
    view = on(console, demo.look, steps=len(demo.story))
    picture = Picture(demo.look, steps=len(demo.story), command=demo.command)
    views: list[View[Any]] = [view, picture] if svg is not None else [view]
    begun = time.monotonic()
    async with stage:
        try:
            performed = await perform(demo.story, stage, *views)
        finally:
            view.close()
        passed = all(played.passed for played in performed)
        if not passed:
            stage.keep_logs()
        seconds = time.monotonic() - begun
        summarise(console, performed, logs=stage.logs, seconds=seconds)
        if svg is not None:
            picture.draw(svg, performed, seconds=seconds)
        if encore is not None:
            await encore(stage, console, passed)
    return passed
