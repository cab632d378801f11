"""`windlass os-build list`: one row for each pool."""

import click

from windlass.capability.conventions import output
from windlass.capability.conventions.settings import Settings, settings_of
from windlass.os_build.cli import names


@click.command("list")
@click.argument("wanted", metavar="[POOL]...", nargs=-1, shell_complete=names.pools)
@output.forms("table", "wide", "json", "yaml", "name", text="How to print them.")
@click.option("--all", "every", is_flag=True, help="Also show pools that are not opted in.")
@click.option("--no-headers", is_flag=True, help="Leave out the headings of the table.")
@settings_of
def command(settings: Settings, wanted: tuple[str, ...], *, form: str, every: bool, no_headers: bool) -> int:
    """Show how the images of pools are doing: of all pools that are opted in, or of those that are named.

    It shows what the pools say, for which you need only the right to list them; -o wide, json and yaml also show the
    builders, for which you need the rights of `windlass plan os-build`.
    """
    import asyncio

    from windlass.os_build.cli.show import ListRequest, show

    return asyncio.run(show(settings, ListRequest(wanted, form, every=every, headings=not no_headers)))
