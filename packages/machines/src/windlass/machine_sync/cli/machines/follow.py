"""`windlass machines --watch`: prints the present rows, then every change, until it is interrupted."""

import asyncio
import contextlib
import sys
from collections.abc import Callable, Iterable

import click

from windlass.capability.conventions import complaints, output
from windlass.capability.conventions.connection import connect
from windlass.capability.conventions.exit_codes import Exit
from windlass.capability.conventions.settings import Settings
from windlass.capability.conventions.watch import InPlace
from windlass.kube.process import logs
from windlass.machine_sync.cli.machines import view
from windlass.machine_sync.cli.machines.show import (
    MachinesRequest,
    listings,
    note_idle,
    report_troubles,
    summary,
    why_idle,
)
from windlass.machine_sync.cli.selection import Selection
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.inspection.listing import look_at
from windlass.machine_sync.inspection.live_rows import LiveRows
from windlass.machine_sync.overview import AnyRow


async def follow(settings: Settings, places: Namespaces, request: MachinesRequest) -> Exit:
    """`windlass machines --watch`: until it is interrupted."""
    logs.configure(level=settings.log_level or "error", format="console")
    async with connect(settings) as client:
        # List once first: an error that does not go away ends the command here, instead of endless retries.
        first = await look_at(client, places, request.selection.kinds)
        report_troubles(listings(first))
        note_idle(await why_idle(client, places))
        live_rows = LiveRows(client, places, first, report=_report)
        async with asyncio.TaskGroup() as tasks:
            for run in live_rows.runs:
                tasks.create_task(run())
            if request.form in ("table", "wide") and sys.stdout.isatty():
                await _live(live_rows, request)
            else:
                await _lines(live_rows, request)
    return Exit.OK


def _report(resource: str, trouble: str) -> None:
    if trouble:
        complaints.warn(f"{resource}: {trouble}")
    else:
        complaints.say("info", f"{resource}: watched again")


class RowFilter:
    """The changed rows to print: those selected, and those that were selected when last printed, so that the shown
    state is not stale."""

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._shown: set[tuple[str, str]] = set()

    def of(self, rows: Iterable[AnyRow]) -> list[AnyRow]:
        passing = []
        for row in rows:
            key = (row.kind, row.name)
            selected = self._selection.shows(row)
            if selected or key in self._shown:
                passing.append(row)
            if selected and not row.gone:
                self._shown.add(key)
            else:
                self._shown.discard(key)
        return passing


async def _lines(live_rows: LiveRows, request: MachinesRequest) -> None:
    """Every row once, then each row again when it changes, as `kubectl get -w` does."""
    tables, passage = request.tables(), RowFilter(request.selection)
    show: dict[str, Callable[[AnyRow], str]] = {
        "json": lambda row: output.one_of_many("json", view.tree(row)),
        "yaml": lambda row: output.one_of_many("yaml", view.tree(row)),
        "name": view.name,
    }
    async for changed in live_rows.changes():
        rows = passage.of(changed)
        if rows:
            lines = [show[request.form](row) for row in rows] if request.form in show else tables.lines(rows)
            click.echo("\n".join(lines))


async def _live(live_rows: LiveRows, request: MachinesRequest) -> None:
    """The tables in place, redrawn with every change and each second for the ages."""
    tables, selection = request.tables(), request.selection

    def picture() -> str:
        found = [row for row in live_rows.rows() if selection.names(row)]
        lines = tables.page(row for row in found if selection.shows(row))
        if selection.unsynced and found and not lines:
            lines = [summary(found, selection)]
        return "\n".join(lines)

    with contextlib.closing(InPlace()) as shown:
        while True:
            shown.show(picture())
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(live_rows.changed.wait(), timeout=1.0)
            live_rows.changed.clear()
