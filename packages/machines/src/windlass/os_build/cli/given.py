"""The options that say what is built where there is no cluster: objects in files, and what takes their place."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from windlass.os_build.options import BOOTC_LINT


class Choices(Struct, frozen=True, kw_only=True):
    """The options that say what is built."""

    sources: tuple[str, ...]
    pool: str
    base: str
    containerfile: Path | None
    apply_by: str
    trust_bundle: Path | None = None
    bootc_lint: bool = True


def options(*, apply_by: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Gives a command these options; it gets them as its first argument, a `Choices`. `apply_by` is the default."""
    return functools.partial(_with_options, apply_by)


def _with_options(default: str, function: Callable[..., int]) -> Callable[..., int]:
    @functools.wraps(function)
    def command(
        *,
        sources: tuple[str, ...],
        pool: str,
        base: str,
        containerfile: Path | None,
        apply_by: str,
        trust_bundle: Path | None,
        bootc_lint: bool,
        **others: Any,
    ) -> int:
        choices = Choices(
            sources=sources,
            pool=pool,
            base=base,
            containerfile=containerfile,
            apply_by=apply_by,
            trust_bundle=trust_bundle,
            bootc_lint=bootc_lint,
        )
        return function(choices, **others)

    taken: Callable[..., int] = command
    for option in (
        click.option(
            "--containerfile",
            type=click.Path(path_type=Path, dir_okay=False, exists=True),
            metavar="FILE",
            help="The user's part, in place of that of the MachineOSConfig or ConfigMap.",
        ),
        click.option(
            "--trust-bundle",
            type=click.Path(path_type=Path, dir_okay=False, exists=True),
            metavar="FILE",
            help="Certificates in PEM that the image trusts. [default: those of the ControllerConfig, if it is given]",
        ),
        BOOTC_LINT,
        click.option("--base", default="", metavar="IMAGE", help="The base image, in place of spec.osImageURL."),
        click.option(
            "--apply-by",
            type=click.Choice(["ignition", "tree"]),
            default=default,
            show_default=True,
            help="How the image gets the configuration: by the program in the base image, or as files from here.",
        ),
        click.option("--pool", required=True, metavar="NAME", help="The MachineConfigPool."),
        click.option(
            "-f",
            "--filename",
            "sources",
            multiple=True,
            required=True,
            metavar="FILE|DIR|-",
            help="File, directory (with those below it), must-gather or - for standard input; may be repeated.",
        ),
    ):
        taken = option(taken)
    return taken
