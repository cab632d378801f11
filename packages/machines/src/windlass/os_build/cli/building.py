"""Builds the image of a pool on this machine, from files, and pushes it."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

from windlass.capability.conventions.complaints import say
from windlass.capability.conventions.exit_codes import Exit
from windlass.kube.folders import cache_folder
from windlass.os_build.backends.local.buildah import Buildah
from windlass.os_build.backends.local.builds import Builds, NoBuilder
from windlass.os_build.backends.local.records import InUse
from windlass.os_build.backends.local.requests import StartBuild
from windlass.os_build.builder import BuildState, Cause, Deadlines
from windlass.os_build.cli.from_files import Inputs
from windlass.os_build.cli.show import failure_tree
from windlass.os_build.credentials import Auths
from windlass.os_build.environment import Environment, Files
from windlass.os_build.failure import is_lint, what
from windlass.os_build.identity import build_name, inputs_of
from windlass.os_build.log import clean
from windlass.os_build.pullspec import Target

_REMEDIES: Final[Mapping[Cause, str]] = {
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
    Cause.IMAGE_REFUSED: "the registry does not take such an image: raise its limit, or make the image smaller",
    Cause.MEMORY: "give this machine more memory, or build where there is more",
    Cause.DISK: "free disk space in the folder of --store, or choose another one",
    Cause.EVICTED: "build where there is more room",
    Cause.CANCELLED: "run the command again",
    Cause.UNKNOWN: "the last lines above say why",
}
_LINT_REMEDY: Final = "bootc could not boot the image, as it says above: correct that, or give --no-bootc-lint"


def build(request: StartBuild, buildah: Buildah, *, store: Path | None, form: str) -> Exit:
    """`windlass os-build build`."""
    try:
        state = asyncio.run(_build(request, buildah, folder=store or cache_folder("os-build")))
    except (NoBuilder, InUse) as problem:
        say("error", str(problem))
        return Exit.FAILED
    image = Target.parse(request.image).digested(state.digest) if state.digest else ""
    if form == "json":
        click.echo(json.dumps(_as_json(state, image), indent=2))
    elif image:
        click.echo(image)
    if not image:
        say("error", _complaint(state))
    return Exit.OK if image else Exit.FAILED


async def _build(request: StartBuild, buildah: Buildah, *, folder: Path) -> BuildState:
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
        click.echo(clean(line.decode(errors="replace")), err=True)


def start(
    inputs: Inputs,
    apply_by: str,
    *,
    authfile: Path | None,
    deadlines: Deadlines,
    lent: Mapping[str, Path | None],
) -> StartBuild:
    """The request to the builder on this machine; `lent`: folders by the path in RUN steps."""
    request = inputs.request
    identity = inputs_of(request, applied_by=apply_by)
    name = build_name(request.pool, identity)
    auths = Auths({}, authfile.read_bytes()) if authfile else None
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
        environment=Environment(egress=request.egress, containers=inputs.context.containers),
        lent={at: _files(folder) for at, folder in lent.items() if folder is not None},
    )


def _files(folder: Path) -> Files:
    return Files({each.name: each.read_bytes() for each in sorted(folder.iterdir()) if each.is_file()})


def _complaint(state: BuildState) -> str:
    if state.failed is None:
        return f"the build was interrupted ({state.note}): run the command again"
    remedy = _LINT_REMEDY if is_lint(state.failed) else _REMEDIES[state.failed.cause]
    return f"the {what(state.failed)}: {remedy}"


def _as_json(state: BuildState, image: str) -> dict[str, Any]:
    return {
        "pool": state.pool,
        "config": state.config,
        "image": image,
        "digest": state.digest,
        "tag": state.image,
        "failure": failure_tree(state.failed) if state.failed else None,
    }
