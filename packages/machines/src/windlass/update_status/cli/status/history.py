"""`windlass status history`: how long updates took, and what went wrong, by the records that a controller keeps."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from windlass.capability.conventions import output
from windlass.capability.conventions.exit_codes import Exit
from windlass.capability.conventions.settings import Settings, settings_of

if TYPE_CHECKING:
    from windlass.update_status.record import Record
    from windlass.update_status.times import Moment


@click.command("history")
@click.argument("number", type=click.IntRange(min=1), required=False)
@output.forms("table", "json", "yaml")
@settings_of
def command(settings: Settings, number: int | None, *, form: str) -> int:
    """Show the latest updates, a line for each, the newest first; or update NUMBER of that list in full: how long each
    operator, pool and node took, and what went wrong.

    A controller keeps the records (`windlass run update-status`). You need only the right to list UpdateRecords.
    """
    import asyncio

    from windlass.update_status.text.records import newest_first

    found, now = asyncio.run(_records(settings))
    records = newest_first(found)
    if not records:
        click.echo("No update has been recorded.")
        return Exit.OK
    if number is not None and number > len(records):
        plural = "s are" if len(records) > 1 else " is"
        raise click.ClickException(f"there is no update {number}: {len(records)} update{plural} recorded")
    chosen = records if number is None else [records[number - 1]]
    click.echo(_printed(chosen, form, now, in_full=number is not None), nl=False)
    return Exit.OK


async def _records(settings: Settings) -> "tuple[list[Record], Moment]":
    """The records, and the present by the API server's clock. Raises KubeErrors."""
    from windlass.api.update_record import UpdateRecord
    from windlass.capability.conventions.connection import connect
    from windlass.kube.errors import NotServed
    from windlass.update_status.record import record_of
    from windlass.update_status.times import of_datetime

    async with connect(settings) as client:
        try:
            listed = await client.list(UpdateRecord)
        except NotServed:
            raise click.ClickException(
                "the cluster has no UpdateRecord API: install Update status, which records updates (docs/install.md)"
            ) from None
        return [record_of(found.decode()) for found in listed.items], of_datetime(client.server_clock.now())


def _printed(records: "Sequence[Record]", form: str, now: "Moment", *, in_full: bool) -> str:
    from windlass.update_status.record import tree_of
    from windlass.update_status.text.records import render_record, render_records

    if form == "table":
        return render_record(records[0], now=now) if in_full else render_records(records, now=now)
    trees = [tree_of(record) for record in records]
    return output.document(form, trees[0] if in_full else trees)
