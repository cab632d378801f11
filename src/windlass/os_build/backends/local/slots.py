"""The stores of images: one slot for each build at a time, and what stays in its store afterwards.

A base image of an OS is gigabytes, so a store outlives builds and keeps the bases of the last one. Everything else is
removed after each build: what was built, older bases, and working containers of builds that were killed.
"""

import re
import shutil
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from windlass.kube.logger import Logger
from windlass.os_build.backends.local.buildah import Buildah, environment, images_of
from windlass.os_build.backends.local.process import Ended, Place, run

_LIST: Final = re.compile(r"^\[", re.MULTILINE)
_SECONDS: Final = 120.0
"""For a command of its own: removing gigabytes may take a while."""


class _Image(Struct):
    id: str
    names: list[str] | None = None


class Slot:
    """A store, and the commands that keep it small. Not for several builds at a time."""

    def __init__(self, folder: Path, buildah: Buildah, *, lock: int) -> None:
        self.folder = folder
        self._buildah = buildah
        self._lock = lock
        self._log = Logger(__name__)

    async def sweep(self) -> None:
        """Remove what an earlier process left. A store that cannot be used is removed whole."""
        if self.folder.exists():
            await self._command(self._buildah.remove_containers(self.folder))
        self._make()

    async def tidy(self, containerfile: str, *, whole: bool) -> None:
        """Leave only the base images of this Containerfile. `whole`: its build succeeded, and left no container."""
        if not whole and (await self._command(self._buildah.remove_containers(self.folder))) is None:
            return
        listed = await self._command(self._buildah.list_images(self.folder))
        if listed is None:
            return
        keep = images_of(containerfile)
        gone = [image.id for image in _listed(listed.output) if not keep.intersection(image.names or ())]
        if gone:
            await self._command(self._buildah.remove_images(self.folder, gone))

    def _make(self) -> None:
        (self.folder / "tmp").mkdir(mode=0o700, parents=True, exist_ok=True)

    async def _command(self, argv: list[str]) -> Ended | None:
        """None if it failed: then the store was removed, since nothing in it is worth a failing build."""
        self._make()
        place = Place(self.folder / "tmp", environment(temporary=self.folder / "tmp"), self._lock)
        ended = await run(argv, place=place, seconds=_SECONDS)
        if ended.code == 0 and not ended.overdue:
            return ended
        self._log.warning("a store of images was removed because buildah cannot use it", output=ended.output[-500:])
        self.remove()
        self._make()
        return None

    def remove(self) -> None:
        """Remove the store."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _listed(output: str) -> list[_Image]:
    """The images in the output of buildah, which may have warnings before the list."""
    begin = _LIST.search(output)
    return (msgspec.json.decode(output[begin.start() :], type=list[_Image] | None) or []) if begin else []
