"""`windlass release`: removes what Machine sync has put on Machines and MachineSets, before an uninstall."""

import click

from windlass.capability.conventions.settings import Settings, settings_of
from windlass.machine_sync.cli import names, sides


@click.command()
@click.argument("wanted", metavar="[NAME]...", nargs=-1, shell_complete=names.machines_and_sets)
@click.option("--all", "every", is_flag=True, help="Release every machine and MachineSet.")
@click.option("--dry-run", is_flag=True, help="Only print what would be done.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation; required for --all without a terminal.")
@click.option(
    "--force",
    is_flag=True,
    help="Also release objects that are Migrating, even while a controller runs that may put the finalizers back.",
)
@sides.namespace_options
@settings_of
def command(
    settings: Settings,
    wanted: tuple[str, ...],
    *,
    every: bool,
    dry_run: bool,
    yes: bool,
    force: bool,
    machine_api_namespace: str,
    cluster_api_namespace: str,
) -> int:
    """Remove the finalizers and annotations of Machine sync, so that nothing waits for it after an uninstall.

    NAME is a machine or MachineSet; machine/NAME and machineset/NAME say which. A machine is released on its Machine in
    both APIs and on its infrastructure machine, a MachineSet in both APIs. The command prints the result for each
    object, and which objects stay paused.

    Stop Machine sync first. While it runs, this command refuses, because the finalizers would come back. An object that
    is Migrating is not released: no controller acts on it, and without Machine sync none would again. Running the
    command twice is harmless.
    """
    import asyncio

    from windlass.capability.conventions import terminal
    from windlass.machine_sync.cli import selection
    from windlass.machine_sync.cli.release import releasing

    if every == bool(wanted):
        raise click.UsageError("say which machines: either NAMEs, or --all")
    asking = every and not (yes or dry_run)
    if asking:
        terminal.need("--all")
    places = sides.namespaces(settings, machine_api_namespace, cluster_api_namespace)
    request = releasing.ReleaseRequest(selection.parse(wanted), dry_run=dry_run, ask=asking, force=force)
    return asyncio.run(releasing.release(settings, places, request))
