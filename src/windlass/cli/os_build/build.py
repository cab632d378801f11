"""`windlass os-build build`: builds the image of a pool on this machine and pushes it, without a cluster."""

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from windlass.cli.conventions.complaints import say
from windlass.cli.conventions.exit_codes import Exit
from windlass.cli.conventions.options import Duration
from windlass.cli.os_build import given

if TYPE_CHECKING:
    from windlass.os_build.backends.local.buildah import Buildah
    from windlass.os_build.backends.local.requests import StartBuild
    from windlass.os_build.builder import BuildState
    from windlass.os_build.credentials import Auths


@click.command("build")
@given.options
@click.option(
    "--push",
    default="",
    metavar="HOST/ORG/REPO",
    help="The repository to push to. [default: finalImagePullspec of ConfigMap machine-os-builder-config]",
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
@click.option(
    "--store",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder for base images and builds. [default: ~/.cache/windlass/os-build]",
)
@click.option(
    "--storage-driver",
    type=click.Choice(["vfs", "overlay"]),
    default="vfs",
    show_default=True,
    help="How images are stored: overlay needs far less disk, but does not work in every container.",
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
    output: str,
) -> int:
    """Build the image of a pool with buildah, push it, and print its pullspec with digest.

    The files are those of `windlass os-build render`. Standard error has what buildah prints.

    Commands of the Containerfile run on this machine with your rights, and nothing but a chroot keeps them apart from
    it: build only what you trust.
    """
    from windlass.capability.folders import cache_folder
    from windlass.os_build.backends.local.buildah import Buildah
    from windlass.os_build.backends.local.builds import NoBuilder
    from windlass.os_build.backends.local.records import InUse
    from windlass.os_build.builder import Deadlines
    from windlass.os_build.credentials import Auths

    inputs = given.inputs(choices, push=push)
    auths = Auths({}, authfile.read_bytes()) if authfile else None
    request = _start(inputs, choices.apply_by, auths=auths, deadlines=Deadlines(build_timeout, push_timeout))
    buildah = Buildah(driver=storage_driver, tls_verify=tls_verify, certificates=cert_dir)
    try:
        state = asyncio.run(_build(request, buildah, folder=store or cache_folder("os-build")))
    except (NoBuilder, InUse) as problem:
        say("error", str(problem))
        return Exit.FAILED
    image = inputs.request.target.digested(state.digest) if state.digest else ""
    if output == "json":
        click.echo(json.dumps(_as_json(state, image), indent=2))
    elif image:
        click.echo(image)
    if not image:
        say("error", _complaint(state))
    return Exit.OK if image else Exit.FAILED


async def _build(request: "StartBuild", buildah: "Buildah", *, folder: Path) -> "BuildState":
    from windlass.os_build.backends.local.builds import Builds

    changed = asyncio.Event()
    lines = Lines()
    async with Builds(folder, slots=1, buildah=buildah, changed=lambda _: changed.set(), output=lines.add) as builds:
        # A run that was killed may have left its end.
        await builds.remove(request.name)
        state = await builds.start(request)
        while not state.is_over:
            changed.clear()
            state = builds.state(request.name) or state
            if not state.is_over:
                await changed.wait()
        await builds.remove(request.name)
    lines.end()
    return state


class Lines:
    """Shows lines of a log while they come, without what could affect a terminal."""

    def __init__(self) -> None:
        self._rest = b""

    def add(self, chunk: bytes) -> None:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            self._show(line)

    def end(self) -> None:
        if self._rest:
            self._show(self._rest)

    @staticmethod
    def _show(line: bytes) -> None:
        from windlass.os_build.log import clean

        click.echo(clean(line.decode(errors="replace")), err=True)


def _start(inputs: given.Inputs, apply_by: str, *, auths: "Auths | None", deadlines: Any) -> "StartBuild":
    from windlass.os_build.backends.local.requests import StartBuild
    from windlass.os_build.identity import build_name, inputs_of

    request = inputs.request
    identity = inputs_of(request, applied_by=apply_by)
    name = build_name(request.pool, identity)
    return StartBuild(
        name=name,
        pool=request.pool,
        inputs=str(identity),
        config=request.config,
        attempt=1,
        image=request.target.tagged(name),
        context=inputs.context,
        pull_secret="",
        push_secret="",
        secrets="",
        pull=auths,
        push=auths,
        deadlines=deadlines,
    )


def _complaint(state: "BuildState") -> str:
    from windlass.os_build.failure import what

    if state.failed is None:
        return f"the build was interrupted ({state.note}): run the command again"
    return f"the {what(state.failed)}: {_remedies()[state.failed.cause]}"


def _remedies() -> dict[Any, str]:
    from windlass.os_build.builder import Cause

    return {
        Cause.PULL_DENIED: "the registry refuses to give the base image: log in, or give --authfile",
        Cause.PUSH_DENIED: "the registry refuses to take the image: check that the repository of --push exists and "
        "that you may push there; log in, or give --authfile",
        Cause.IMAGE_NOT_FOUND: "an image of the Containerfile does not exist: correct its name, or push it",
        Cause.CONTAINERFILE: "correct the Containerfile; `windlass os-build render` shows all of it",
        Cause.STEP: "correct the command, or what it needs; its output is above",
        Cause.DEADLINE: "give it more time with --build-timeout or --push-timeout, or look above for what hangs",
        Cause.UNREACHABLE: "check that the registry is healthy and reached from here, and run the command again",
        Cause.UNTRUSTED: "give the CA of the registry's certificate with --cert-dir, or allow plain HTTP with "
        "--no-tls-verify",
        Cause.DISK: "free disk space in the folder of --store, or choose another one",
        Cause.CANCELLED: "run the command again",
        Cause.UNKNOWN: "the last lines above say why",
    }


def _as_json(state: "BuildState", image: str) -> dict[str, Any]:
    from windlass.cli.os_build.show import failure_tree

    return {
        "pool": state.pool,
        "config": state.config,
        "image": image,
        "digest": state.digest,
        "tag": state.image,
        "failure": failure_tree(state.failed) if state.failed else None,
    }
