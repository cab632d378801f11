"""`windlass os-build prune`: removes images from the registry that nothing uses any more."""

from pathlib import Path

import click

from windlass.capability.conventions.settings import Settings, settings_of
from windlass.os_build.cli import names


@click.command("prune")
@click.argument("pools", metavar="[POOL]...", nargs=-1, shell_complete=names.pools)
@click.option("--keep", type=click.IntRange(min=0), required=True, metavar="N", help="Keep the newest N of each pool.")
@click.option("--dry-run", is_flag=True, help="Only show what would go, and why the other images stay.")
@click.option(
    "--insecure-registry",
    "insecure",
    multiple=True,
    metavar="HOST",
    help="Ask this registry by plain HTTP; may be repeated.",
)
@click.option(
    "--registry-ca",
    type=click.Path(path_type=Path, exists=True),
    metavar="PATH",
    help="File, or folder of *.crt, with certificates of registries.",
)
@settings_of
def command(
    settings: Settings,
    pools: tuple[str, ...],
    *,
    keep: int,
    dry_run: bool,
    insecure: tuple[str, ...],
    registry_ca: Path | None,
) -> int:
    """Remove the images of MachineConfigPools that this cluster built and that nothing uses any more, except the newest
    N of each pool. Without a name, those of all pools that are opted in or that a MachineOSConfig names.

    An image stays if a Node, a pool, a MachineOSConfig, a running build or a MachineConfig of them names it, if another
    tag or a list of images has it, or if its labels do not say that this cluster built it. Only
    `windlass run os-build --keep-images` builds images with that label.

    You need the rights of `windlass plan os-build`, to list Nodes, to read Secrets of the builder's namespace, and to
    patch MachineConfigPools; for pools with a MachineOSConfig, to delete MachineOSBuilds.
    """
    import asyncio

    from windlass.os_build.cli.pruning import PruneRequest, prune

    return asyncio.run(
        prune(settings, PruneRequest(pools, keep, dry_run=dry_run, insecure=insecure, registry_ca=registry_ca))
    )
