"""What is left of builds on this machine; a script stands in for buildah."""

from collections.abc import Sequence
from pathlib import Path

from tests.unit.os_build.backends.conformance import order
from tests.waiting import until
from windlass.kube.control.plan import Call
from windlass.kube.control.source import Mailbox
from windlass.os_build.backends.local.backend import LocalBackend
from windlass.os_build.backends.local.buildah import Buildah
from windlass.os_build.backends.local.builds import Builds
from windlass.os_build.backends.local.requests import StartBuild
from windlass.os_build.builder import BuildState, Cause, Failed, Phase

HANGS = 'case "$*" in *" build "*) sleep 10 ;; *) echo "[]" ;; esac'
NO_DIGEST = 'case "$*" in *" push "*) echo none >"$DIGEST" ;; *) echo "[]" ;; esac'


def opened(folder: Path, script: str) -> Builds:
    program = folder / "buildah"
    find = 'for word; do [ "$before" = --digestfile ] && DIGEST=$word; before=$word; done'
    program.write_text(f"#!/bin/sh\n{find}\n{script}\n")
    program.chmod(0o755)
    return Builds(folder / "builds", slots=1, buildah=Buildah(program=str(program)))


UNREADABLE = f"""case "$*" in
  *" build "*) mkdir -p "$2" ;;
  *" push "*) echo sha256:{"0" * 64} >"$DIGEST" ;;
esac"""


async def started(builds: Builds, phase: Phase) -> BuildState:
    (call,) = LocalBackend(builds, Mailbox()).start(order("worker"))
    assert isinstance(call, Call)
    assert isinstance(call.request, StartBuild)
    await builds.start(call.request)
    await until(lambda: (state := builds.states("worker")[0]).phase is phase or state.is_over)
    return builds.states("worker")[0]


def left(folder: Path) -> Sequence[str]:
    return sorted(path.name for path in (folder / "builds" / "builds").iterdir())


async def test_a_build_without_a_digest_has_failed_and_is_found_by_the_next_process(tmp_path: Path) -> None:
    async with opened(tmp_path, NO_DIGEST) as builds:
        state = await started(builds, Phase.FAILED)
        assert state.failed == Failed(cause=Cause.UNKNOWN, tail="buildah wrote no digest")
    async with opened(tmp_path, NO_DIGEST) as builds:
        assert builds.states("worker") == (state,)


async def test_a_build_that_is_interrupted_leaves_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path, HANGS) as builds:
        state = await started(builds, Phase.RUNNING)
        assert left(tmp_path) == [state.name]
    assert left(tmp_path) == []


async def test_a_store_whose_images_cannot_be_listed_is_removed_instead_of_growing(tmp_path: Path) -> None:
    async with opened(tmp_path, UNREADABLE) as builds:
        assert (await started(builds, Phase.SUCCEEDED)).digest
        await until(lambda: list((tmp_path / "builds" / "slots").iterdir()) == [])
