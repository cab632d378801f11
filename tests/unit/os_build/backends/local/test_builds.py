"""What is left of builds on this machine; a script stands in for buildah."""

import errno
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

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


def opened(folder: Path, script: str, *, driver: str = "vfs") -> Builds:
    program = folder / "buildah"
    find = 'for word; do [ "$before" = --digestfile ] && DIGEST=$word; before=$word; done'
    program.write_text(f"#!/bin/sh\n{find}\n{script}\n")
    program.chmod(0o755)
    return Builds(folder / "builds", slots=1, buildah=Buildah(program=str(program), driver=driver))


UNREADABLE = f"""case "$*" in
  *" build "*) mkdir -p "$2" ;;
  *" push "*) echo sha256:{"0" * 64} >"$DIGEST" ;;
esac"""

QUEUED = f"""case "$*" in
  *" build "*) mkdir -p "$2/vfs-images"; echo '[{{"id": "built"}}]' >"$2/vfs-images/images.json" ;;
  *" push "*) echo sha256:{"0" * 64} >"$DIGEST" ;;
esac
for word; do case $word in build|rmi) echo "$word" >>"${{0%/*}}/commands"; break ;; esac; done"""


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


async def test_while_builds_wait_a_store_is_tidied_after_each_fourth_of_them_and_after_the_last(tmp_path: Path) -> None:
    pools = [f"pool-{number}" for number in range(6)]
    async with opened(tmp_path, QUEUED) as builds:
        for pool in pools:
            (call,) = LocalBackend(builds, Mailbox()).start(order(pool))
            assert isinstance(call, Call)
            assert isinstance(call.request, StartBuild)
            await builds.start(call.request)
        await until(lambda: all(builds.states(pool)[0].is_over for pool in pools))
        await until(lambda: (tmp_path / "commands").read_text().split()[-1] == "rmi")
    assert "".join(word[0] for word in (tmp_path / "commands").read_text().split()) == "bbbbrbbr"


NO_OVERLAY = f"""case "$*" in
  *" overlay build "*) echo "kernel does not support overlay fs" >&2; exit 125 ;;
  *" build "*) mkdir -p "$2/vfs-images"; echo '[]' >"$2/vfs-images/images.json" ;;
  *" push "*) echo sha256:{"0" * 64} >"$DIGEST" ;;
esac"""
ANY_DRIVER = f"""case "$*" in
  *" overlay build "*) mkdir -p "$2/overlay-images"; echo '[]' >"$2/overlay-images/images.json" ;;
  *" push "*) echo sha256:{"0" * 64} >"$DIGEST" ;;
esac"""


def stores(folder: Path) -> list[str]:
    return sorted(each.name for each in (folder / "builds" / "slots").iterdir())


async def test_images_are_stored_by_overlay_where_that_works_and_nothing_is_left_of_the_attempt(tmp_path: Path) -> None:
    async with opened(tmp_path, ANY_DRIVER, driver="auto") as builds:
        assert (await started(builds, Phase.SUCCEEDED)).digest
        assert stores(tmp_path) == ["0-overlay"]
    assert not (tmp_path / "builds" / "attempt").exists()


async def test_where_overlay_does_not_work_images_are_stored_by_vfs_and_that_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(tmp_path, NO_OVERLAY, driver="auto") as builds:
        assert (await started(builds, Phase.SUCCEEDED)).digest
        assert stores(tmp_path) == ["0"]
    [said] = [each for each in caplog.records if each.name.endswith("local.storage")]
    assert (said.levelname, "overlay does not work here" in said.getMessage()) == ("WARNING", True)
    assert "kernel does not support overlay fs" in str(said.__dict__)


FULL = """case "$*" in *" overlay build "*) echo "write /x: no space left on device" >&2; exit 125 ;; esac"""


@pytest.mark.parametrize(("before", "kept"), [("overlay", ["0-overlay"]), ("vfs", ["0"])])
@pytest.mark.parametrize("begins", [True, False], ids=["the attempt fails", "it cannot begin"])
async def test_on_a_full_disk_images_are_stored_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, kept: list[str], begins: bool
) -> None:
    async with opened(tmp_path, ANY_DRIVER if before == "overlay" else NO_OVERLAY, driver=before) as builds:
        assert (await started(builds, Phase.SUCCEEDED)).digest

    async def full(*_: object, **__: object) -> str:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if not begins:
        monkeypatch.setattr("windlass.os_build.backends.local.storage._attempt", full)
    async with opened(tmp_path, FULL, driver="auto"):
        assert stores(tmp_path) == kept


async def test_a_driver_that_is_named_is_not_tried_first(tmp_path: Path) -> None:
    async with opened(tmp_path, NO_OVERLAY, driver="overlay") as builds:
        assert (await started(builds, Phase.FAILED)).failed is not None


async def test_the_stores_of_another_driver_are_removed(tmp_path: Path) -> None:
    async with opened(tmp_path, QUEUED) as builds:
        assert (await started(builds, Phase.SUCCEEDED)).digest
        assert stores(tmp_path) == ["0"]
    async with opened(tmp_path, ANY_DRIVER, driver="overlay"):
        assert stores(tmp_path) == []
