"""`windlass os-build trust`: prints what nodes need to take only signed images."""

from pathlib import Path

import click

from windlass.os_build.signing.trust import FORMS


@click.command("trust")
@click.argument("repository", metavar="HOST/ORG/REPO")
@click.option(
    "--public-key",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    required=True,
    metavar="FILE",
    help="The public key in PEM, such as cosign.pub.",
)
@click.option("--pool", default="worker", show_default=True, metavar="NAME", help="The pool of -o machineconfig.")
@click.option("-o", "--output", type=click.Choice(FORMS), default=FORMS[0], show_default=True, help="What to print.")
def command(repository: str, *, public_key: Path, pool: str, output: str) -> int:
    """Print what nodes need to take only those images from a repository that are signed by a key.

    Sign first: `windlass run os-build --signing-key SECRET`, and build again what nodes run. A node refuses an image
    without a signature, its own next one too.
    """
    from windlass.capability.conventions.complaints import say
    from windlass.capability.conventions.exit_codes import Exit
    from windlass.os_build.pullspec import Target
    from windlass.os_build.signing.trust import printed

    try:
        target = Target.parse(repository)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    try:
        from windlass.os_build.signing.key import WrongKey, public_of
    except ModuleNotFoundError as missing:
        say("error", f"{missing}: install the extra 'signing' of windlass-machines")
        return Exit.FAILED
    try:
        public = public_of(public_key.read_bytes())
    except (OSError, WrongKey) as error:
        raise click.UsageError(f"--public-key {public_key}: {error}") from None
    click.echo(printed(output, target, public, pool=pool), nl=False)
    return Exit.OK
