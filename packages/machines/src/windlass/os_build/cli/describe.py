"""`windlass os-build describe`: everything about the image of one pool, on one page."""

import click

from windlass.capability.conventions import output
from windlass.capability.conventions.settings import Settings, settings_of
from windlass.os_build.cli import names


@click.command("describe")
@click.argument("pool", shell_complete=names.pools)
@output.forms("text", "json")
@settings_of
def command(settings: Settings, pool: str, *, form: str) -> int:
    """Show what a MachineConfigPool asks for, its image, its builders with their failures, its problems with their
    remedies, conditions and last Events; for a pool that a MachineOSConfig names, that and its MachineOSBuild.

    It reads the cluster as the controller does, and asks no registry. Builds on the machine of a controller are not
    seen from here. `windlass plan os-build POOL` shows what would be done next.
    """
    import asyncio

    from windlass.os_build.cli.page import describe

    return asyncio.run(describe(settings, pool, form=form))
