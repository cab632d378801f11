"""`windlass os-build render`: shows what would be built, without building it."""

from pathlib import Path

import click

from windlass.capability.conventions.exit_codes import Exit
from windlass.os_build.cli import given


@click.command("render")
@given.options(apply_by="ignition")
@click.option(
    "--into",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write all files of the build into this folder, and print nothing.",
)
def command(choices: given.Choices, *, into: Path | None) -> int:
    """Print the Containerfile of a pool, from files.

    The files hold the MachineConfigPool and its rendered MachineConfig, and may hold the pool's MachineOSConfig, or the
    ConfigMaps on-cluster-build-custom-dockerfile and machine-config-osimageurl. Without the pool, the one MachineConfig
    that is named rendered-NAME-... is taken.

    It is what `windlass run os-build` builds without options; give --apply-by tree if that is run with it.

    The files of --into are a whole build context: buildah build DIR.
    """
    from windlass.os_build.cli.from_files import inputs

    context = inputs(choices).context
    if into is None:
        click.echo(context.containerfile, nl=False)
        return Exit.OK
    into.mkdir(parents=True, exist_ok=True)
    for name, content in context.files.items():
        (into / name).write_bytes(content)
    return Exit.OK
