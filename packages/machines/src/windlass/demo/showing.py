"""Runs a whole demo, from an empty directory to the last line of the summary; with `--keep` the stage stays.

For `--keep` the command starts a process that keeps running, like that of `windlass dev up`. It plays the story on the
same terminal, and the command ends with the story's exit code. `windlass dev status` shows the kept stage, `windlass
dev down` ends it.
"""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from rich.console import Console

from windlass.demo.performance import Demo, T, View, perform
from windlass.demo.picture import Picture
from windlass.demo.stage import Stage
from windlass.demo.story import S
from windlass.demo.view import WIDTH, LinesView, TableView, summarise
from windlass.testing.background import Background
from windlass.testing.daemon import let_go_of_output
from windlass.testing.plane.errors import NotRunning

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


def keep(argv: Sequence[str]) -> int:
    """Run the command `argv`, which plays the demo and keeps running; returns the exit code of the story.

    The command gets one more argument: the file descriptor on which `play` reports that code.
    """
    told, tells = os.pipe()
    player = subprocess.Popen(
        [*argv, str(tells)],
        stdin=subprocess.DEVNULL,
        pass_fds=[tells],
        # Not in the terminal's process group: a later Ctrl-C must not reach it.
        start_new_session=True,
    )
    os.close(tells)
    try:
        code = os.read(told, 1)
    except KeyboardInterrupt:
        player.send_signal(signal.SIGINT)
        player.wait()
        raise
    finally:
        os.close(told)
    if not code:
        return player.wait()
    # It keeps running; tell Popen not to wait for it.
    player.returncode = 0
    return code[0]


def play(demo: Demo[T, S], tells: int, *, svg: Path | None) -> bool:
    """Play the story, report its exit code, and wait for SIGTERM. For the process that keeps running.

    Raises PlaneError, for example if a control plane runs in the background already.
    """
    background = Background()
    with background.claim() as directory:
        encore = _stay(background, tells, commands=demo.afterwards)
        return asyncio.run(show(demo, demo.stage(directory, temporary=False), svg=svg, encore=encore))


def _stay(background: Background, tells: int, *, commands: Sequence[str]) -> "Encore[Any]":
    async def encore(stage: Stage[Any], console: Console, passed: bool) -> None:
        try:
            background.publish(stage.plane.blocking)
        except NotRunning:
            return
        stopping = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stopping.set)
        console.print("\nEverything still runs. To look around, and to stop it:")
        for variable, value in stage.environment.items():
            console.print(f"      export {variable}={value}", soft_wrap=True)
        for command in (*commands, "windlass dev down"):
            console.print(f"      {command}")
        sys.stdout.flush()
        os.write(tells, bytes([0 if passed else 1]))
        os.close(tells)
        let_go_of_output()
        await stopping.wait()

    return encore
