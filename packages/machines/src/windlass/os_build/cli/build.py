"""`windlass os-build build`: builds the image of a pool on this machine and pushes it, without a cluster."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from windlass.capability.conventions.options import Duration
from windlass.os_build.cli import given


def _lent(name: str, at: str) -> Callable[[Any], Any]:
    """An option that lends the files of a folder to RUN steps."""
    folder = click.Path(path_type=Path, file_okay=False, exists=True)
    return click.option(
        name, type=folder, metavar="DIR", help=f"Folder whose files RUN steps see at {at}; no layer gets them."
    )


@click.command("build")
@given.options(apply_by="tree")
@click.option(
    "--push",
    default="",
    metavar="HOST/ORG/REPO",
    help="The repository to push to. [default: renderedImagePushSpec of the MachineOSConfig, or finalImagePullspec of "
    "ConfigMap machine-os-builder-config]",
)
@click.option(
    "--authfile",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE",
    help="Credentials of registries, as podman login writes them. [default: those of this user]",
)
@click.option("--tls-verify/--no-tls-verify", default=True, show_default=True, help="Demand HTTPS and a certificate.")
@click.option(
    "--cert-dir",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="DIR",
    help="Folder of *.crt with certificates that are trusted beside the system's.",
)
@_lent("--entitlement", "/etc/pki/entitlement")
@_lent("--repositories", "/etc/yum.repos.d")
@_lent("--package-keys", "/etc/pki/rpm-gpg")
@click.option(
    "--store",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder for base images and builds. [default: ~/.cache/windlass/os-build]",
)
@click.option(
    "--storage-driver",
    type=click.Choice(["auto", "overlay", "vfs"]),
    default="auto",
    show_default=True,
    help="How images are stored: overlay needs far less time and disk, but does not work in every container; auto "
    "tries it, and takes vfs else.",
)
@click.option("--build-timeout", type=Duration(), default="30m", show_default=True, help="How long building may take.")
@click.option("--push-timeout", type=Duration(), default="10m", show_default=True, help="How long pushing may take.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="How to print the result.")
def command(
    choices: given.Choices,
    *,
    push: str,
    authfile: Path | None,
    tls_verify: bool,
    cert_dir: Path | None,
    store: Path | None,
    storage_driver: str,
    build_timeout: float,
    push_timeout: float,
    entitlement: Path | None,
    repositories: Path | None,
    package_keys: Path | None,
    output: str,
) -> int:
    """Build the image of a pool with buildah, push it, and print its pullspec with digest.

    The files are those of `windlass os-build render --apply-by tree`. Standard error has what buildah prints.

    Commands of the Containerfile run on this machine with your rights, and nothing but a chroot keeps them apart from
    it: build only what you trust.
    """
    from windlass.os_build.backends.local.buildah import Buildah
    from windlass.os_build.builder import Deadlines
    from windlass.os_build.cli.building import build, start
    from windlass.os_build.cli.from_files import inputs

    deadlines = Deadlines(build_timeout, push_timeout)
    request = start(
        inputs(choices, push=push, authorities=cert_dir),
        choices.apply_by,
        authfile=authfile,
        deadlines=deadlines,
        lent={"/etc/pki/entitlement": entitlement, "/etc/yum.repos.d": repositories, "/etc/pki/rpm-gpg": package_keys},
    )
    buildah = Buildah(driver=storage_driver, tls_verify=tls_verify)
    return build(request, buildah, store=store, form=output)
