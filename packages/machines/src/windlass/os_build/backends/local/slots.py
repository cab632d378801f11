"""The stores of images: one slot for each build at a time, and what stays in its store afterwards.

A base image of an OS is gigabytes, so a store outlives builds and keeps the bases of the last one. Everything else is
removed after each build: what was built, older bases, and working containers of builds that were killed.
"""

import shutil
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from windlass.kube.logger import Logger
from windlass.os_build.backends.local.buildah import Buildah, environment, images_of
from windlass.os_build.backends.local.process import Keeper, Place

_SECONDS: Final = 120.0
"""For a command of its own: removing gigabytes may take a while."""


class _Image(Struct):
    id: str
    names: list[str] | None = None


class Slot:
    """A store, the keeper of its commands, and the commands that prune the store. Not for several builds at a time.

    `lock`: see `Keeper`.
    """

    def __init__(self, folder: Path, buildah: Buildah, *, lock: int) -> None:
        self.folder = folder
        self.keeper = Keeper(folder, lock=lock)
        self._buildah = buildah
        self._log = Logger(__name__)

    async def sweep(self) -> None:
        """Remove what an earlier process left. A store that cannot be used is removed whole."""
        if self.folder.exists():
            await self._command(self._buildah.remove_containers(self.folder))
        await self.keeper.close()

    async def tidy(self, containerfile: str, *, whole: bool) -> None:
        """Leave only the base images of this Containerfile. `whole`: its build succeeded, and left no container."""
        try:
            if whole or await self._command(self._buildah.remove_containers(self.folder)):
                await self._remove_images(images_of(containerfile), whole=whole)
        finally:
            await self.keeper.close()

    async def _remove_images(self, kept: frozenset[str], *, whole: bool) -> None:
        try:
            listed = msgspec.json.decode(self._buildah.images(self.folder).read_bytes(), type=list[_Image])
        except (OSError, msgspec.MsgspecError) as error:
            if whole:  # else nothing may have been pulled yet
                self._remove(str(error))
            return
        if gone := [image.id for image in listed if not kept.intersection(image.names or ())]:
            await self._command(self._buildah.remove_images(self.folder, gone))

    async def _command(self, argv: list[str]) -> bool:
        """False if it failed: then the store was removed, since nothing in it is worth a failing build."""
        temporary = self.folder / "tmp"
        temporary.mkdir(mode=0o700, parents=True, exist_ok=True)
        ended = await self.keeper.run(argv, place=Place(temporary, environment(temporary=temporary)), seconds=_SECONDS)
        if failed := ended.code != 0 or ended.overdue:
            self._remove(ended.output[-500:])
        return not failed

    def _remove(self, output: str) -> None:
        self._log.warning("a store of images was removed because buildah cannot use it", output=output)
        shutil.rmtree(self.folder, ignore_errors=True)
