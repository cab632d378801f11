"""`windlass machines --watch`: the machines now, and whatever changes, until it is interrupted."""

import asyncio
import contextlib
import sys
from collections.abc import Callable

import click

from windlass.cli.connection import connect
from windlass.cli.conventions import Settings
from windlass.cli.exit_codes import Exit
from windlass.cli.machines import view
from windlass.cli.machines.board import Board
from windlass.cli.machines.read import both_sides
from windlass.cli.machines.show import Request, report_troubles
from windlass.kube import logs
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.overview import Row


async def follow(settings: Settings, places: Namespaces, request: Request) -> Exit:
    """`windlass machines --watch`: until it is interrupted."""
    logs.configure(level=settings.log_level or "error", format="console")
    async with connect(settings) as client:
        # One plain look first: what cannot work at all ends here with an error, instead of being tried again for ever.
        first = await both_sides(client, places)
        report_troubles(first)
        board = Board(client, places, first)
        async with asyncio.TaskGroup() as tasks:
            for run in board.runs:
                tasks.create_task(run())
            if request.form in ("table", "wide") and sys.stdout.isatty():
                await _live(board, request)
            else:
                await _lines(board, request)
    return Exit.OK


async def _lines(board: Board, request: Request) -> None:
    """Every row once, then each row again when it changes, as `kubectl get -w` does."""
    table = request.table()
    headings = request.headings
    show: dict[str, Callable[[Row], str]] = {
        "json": lambda row: view.as_json_line(view.tree(row)),
        "yaml": lambda row: "---\n" + view.as_yaml(view.tree(row)),
        "name": view.name,
    }
    async for rows in board.changes():
        selected = [row for row in rows if request.selects(row.name)]
        if not selected:
            continue
        if request.form in show:
            lines = [show[request.form](row) for row in selected]
        else:
            lines, headings = table.lines(selected, headings=headings), False
        click.echo("\n".join(lines))


async def _live(board: Board, request: Request) -> None:
    """One table in place, redrawn with every change and each second for the ages."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    table = request.table()

    def picture() -> Text:
        rows = [row for row in board.rows() if request.selects(row.name)]
        lines = table.lines(rows, headings=request.headings)
        return Text.from_ansi("\n".join(lines), no_wrap=True, overflow="ellipsis")

    console = Console(file=sys.stdout, highlight=False)
    with Live(picture(), console=console, auto_refresh=False, vertical_overflow="ellipsis") as live:
        while True:
            live.update(picture(), refresh=True)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(board.changed.wait(), timeout=1.0)
            board.changed.clear()
