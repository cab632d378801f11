"""`windlass os-build rebuild`: asks for another image from the same inputs."""

import click

from windlass.capability.conventions.options import Duration
from windlass.capability.conventions.settings import Settings, settings_of
from windlass.os_build.cli import names


@click.command("rebuild")
@click.argument("pools", metavar="POOL...", nargs=-1, required=True, shell_complete=names.pools)
@click.option("--wait", is_flag=True, help="Wait until each image is built; exit code 1 if a build fails.")
@click.option(
    "--timeout",
    type=Duration(),
    default=2700.0,
    metavar="DURATION",
    help="Time limit of --wait: 10m or 90s; 0 means no limit. Default 45m.",
)
@settings_of
def command(settings: Settings, pools: tuple[str, ...], *, wait: bool, timeout: float) -> int:
    """Build the images of these MachineConfigPools again, although nothing has changed that an image is made from:
    because a package repository or the base image has, or because a build failed for a cause that is gone.

    It writes the annotation machineconfiguration.openshift.io/rebuild; `windlass run os-build` does the rest. You need
    the right to get and patch MachineConfigPools; for pools with a MachineOSConfig, to patch that and list
    MachineOSBuilds.
    """
    import asyncio

    from windlass.os_build.cli.rebuilding import rebuild

    return asyncio.run(rebuild(settings, pools, wait=wait, within=timeout or None))
