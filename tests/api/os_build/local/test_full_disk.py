"""Builds on this machine whose disk is full: a small one of memory."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.api.os_build.local.workshop import Workshop
from tests.unit.os_build.pool.snapshots import REQUEST
from windlass.os_build.backends.local.requests import StartBuild
from windlass.os_build.builder import ATTEMPTS, Cause, Phase
from windlass.os_build.failure import failure_text
from windlass.os_build.inputs.context import Context

ENOUGH = "64m"


class Disk:
    """A disk at `path`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def resize(self, size: str) -> None:
        _mount(self._path, f"remount,size={size}")


@pytest.fixture
def disk(workshop: Workshop) -> Iterator[Disk]:
    """That of the folder of builds."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a disk")
    workshop.folder.mkdir()
    _mount(workshop.folder, f"size={ENOUGH}")
    yield Disk(workshop.folder)
    subprocess.run(["umount", workshop.folder], check=True)


def _mount(path: Path, options: str) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", path], check=True)


def _with_file(request: StartBuild, megabytes: int) -> StartBuild:
    files = {**request.context.files, "large": os.urandom(megabytes << 20)}
    return replace(request, context=Context(files))


@pytest.mark.parametrize(
    ("size", "request_of"),
    [
        pytest.param("1m", lambda shop: shop.request(), id="the-base-image"),
        pytest.param("1m", lambda shop: _with_file(shop.request(), 2), id="the-context"),
        pytest.param("12m", lambda shop: _with_file(shop.request("COPY large /"), 6), id="a-layer"),
        pytest.param("12m", lambda shop: shop.request("RUN dd if=/dev/zero of=/a bs=1M count=64"), id="a-command"),
    ],
)
async def test_a_full_disk_is_the_cause_whatever_fills_it_and_space_suffices(
    workshop: Workshop, disk: Disk, size: str, request_of: Callable[[Workshop], StartBuild]
) -> None:
    disk.resize(size)
    async with workshop.open() as builds:
        state = await workshop.build(builds, request_of(workshop))
        assert state.failed is not None
        assert state.failed.cause is Cause.DISK, state.failed
        text = failure_text(state.failed, REQUEST, attempt=1, attempts=ATTEMPTS)
        assert "Free disk space where the builder runs. It is tried again by itself." in text
        assert "no space left on device" in text.lower()
        disk.resize(ENOUGH)
        again = await workshop.build(builds, workshop.request())
        assert again.phase is Phase.SUCCEEDED, again.failed
