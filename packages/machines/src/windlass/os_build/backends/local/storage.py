"""Chooses how images are stored where nobody has said it: by overlay if that works here, else by vfs.

vfs works everywhere, and copies the whole base image for each build. Overlay needs a kernel, a file system and rights
that let it mount. Only an attempt tells: two layers of nothing are built, as a build does it, in a store that is
removed again.
"""

import shutil
from pathlib import Path
from typing import Final

from msgspec import structs

from windlass.kube.logger import Logger
from windlass.os_build import log as logs
from windlass.os_build.backends.local.buildah import Buildah, environment
from windlass.os_build.backends.local.process import Keeper, Place

AUTO: Final = "auto"
OVERLAY: Final = "overlay"
VFS: Final = "vfs"
_LAYERS: Final = "FROM scratch AS one\nCOPY Containerfile /one\nFROM one\nCOPY Containerfile /two\n"
_SECONDS: Final = 60.0


async def chosen(buildah: Buildah, folder: Path, *, lock: int) -> Buildah:
    """The same with a driver that works in `folder`. `lock`: see `Keeper`."""
    if buildah.driver != AUTO:
        return buildah
    by_overlay = structs.replace(buildah, driver=OVERLAY)
    shutil.rmtree(folder, ignore_errors=True)
    temporary = folder / "tmp"
    temporary.mkdir(mode=0o700, parents=True)
    (folder / "Containerfile").write_text(_LAYERS)
    keeper = Keeper(folder, lock=lock)
    argv = by_overlay.build(folder, context=folder, image="localhost/attempt", auth=None)
    try:
        place = Place(temporary, environment(temporary=temporary))
        ended = await keeper.run(argv, place=place, seconds=_SECONDS)
        if ended.code == 0 and not ended.overdue:
            return by_overlay
        Logger(__name__).warning(
            "images are stored by vfs, which copies the base image for each build: overlay does not work here",
            store=str(folder.parent),
            output=logs.tail(ended.output)[-500:],
        )
        return structs.replace(buildah, driver=VFS)
    finally:
        await keeper.close()
        shutil.rmtree(folder, ignore_errors=True)
