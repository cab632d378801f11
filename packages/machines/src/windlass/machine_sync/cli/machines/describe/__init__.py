"""`windlass machines describe`: shows all details of one machine or MachineSet on one page."""

import click

from windlass.capability.conventions import output
from windlass.capability.conventions.settings import Settings, settings_of
from windlass.machine_sync.cli import names, sides


@click.command("describe")
@click.argument("name", shell_complete=names.machines_and_sets)
@output.forms("text", "json")
@sides.namespace_options
@settings_of
def command(settings: Settings, name: str, *, form: str, machine_api_namespace: str, cluster_api_namespace: str) -> int:
    """Show a machine or MachineSet on both sides, its infrastructure, conditions and last Events, and the plan that
    Windlass would apply next.

    NAME is the name of a machine or of a MachineSet; if both have it, machine/NAME or machineset/NAME. You need only
    the right to read.
    """
    import asyncio

    from windlass.machine_sync.cli.machines.describe import show
    from windlass.machine_sync.cli.selection import parse

    places = sides.namespaces(settings, machine_api_namespace, cluster_api_namespace)
    (wanted,) = parse([name]).wanted
    return asyncio.run(show.describe(settings, places, wanted, form=form))
