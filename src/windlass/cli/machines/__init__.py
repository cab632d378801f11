"""`windlass machines`: both sides of every machine in one table."""

import click

from windlass.cli import names, sides
from windlass.cli.conventions import Settings, settings_of


@click.command()
@click.argument("wanted", metavar="[NAME]...", nargs=-1, shell_complete=names.machines)
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["table", "wide", "json", "yaml", "name"]),
    default="table",
    show_default=True,
    help="How to print the machines.",
)
@click.option("-w", "--watch", is_flag=True, help="Go on showing what changes, until Ctrl-C.")
@click.option("--no-headers", is_flag=True, help="Leave out the headings of the table.")
@sides.namespace_options
@settings_of
def command(
    settings: Settings,
    wanted: tuple[str, ...],
    form: str,
    *,
    watch: bool,
    no_headers: bool,
    machine_api_namespace: str,
    cluster_api_namespace: str,
) -> int:
    """Show machines on both sides: which is authoritative, the phase on each, whether they are in sync, for how long,
    and up to which generation of the authoritative side.

    A side on which a machine does not exist shows `-`. Needs no more than the right to list (and, for --watch, to
    watch) Machines.
    """
    import asyncio

    from windlass.cli.machines import show

    places = sides.namespaces(settings, machine_api_namespace, cluster_api_namespace)
    request = show.Request(frozenset(wanted), form, headings=not no_headers)
    if not watch:
        return asyncio.run(show.once(settings, places, request))

    from windlass.cli.machines import follow

    return asyncio.run(follow.follow(settings, places, request))
