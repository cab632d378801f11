"""Chooses how images are stored where nobody has said it: by overlay if that works here, else by vfs.

vfs works everywhere, and copies the whole base image for each build. Overlay needs a kernel, a file system and rights
that let it mount. Only an attempt tells: two layers of nothing are built, as a build does it, in a store that is
removed again. On a full disk it tells nothing: then overlay is taken where stores of it are, for it has worked there.
"""

import errno
import os
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
    try:
        wrong = await _attempt(by_overlay, folder, lock=lock)
    except OSError as error:
        wrong = str(error)
    if not wrong:
        return by_overlay
    if os.strerror(errno.ENOSPC).lower() in wrong.lower() and any((folder.parent / "slots").glob(f"*-{OVERLAY}")):
        return by_overlay
    Logger(__name__).warning(
        "images are stored by vfs, which copies the base image for each build: overlay does not work here",
        store=str(folder.parent),
        output=wrong,
    )
    return structs.replace(buildah, driver=VFS)


async def _attempt(buildah: Buildah, folder: Path, *, lock: int) -> str:
    """The end of what a build said that failed; empty if it did not. Raises OSError."""
    shutil.rmtree(folder, ignore_errors=True)
    temporary = folder / "tmp"
    temporary.mkdir(mode=0o700, parents=True)
    (folder / "Containerfile").write_text(_LAYERS)
    keeper = Keeper(folder, lock=lock)
    argv = buildah.build(folder, context=folder, image="localhost/attempt", auth=None)
    try:
        place = Place(temporary, environment(temporary=temporary))
        ended = await keeper.run(argv, place=place, seconds=_SECONDS)
        if ended.code == 0 and not ended.overdue:
            return ""
        return logs.tail(ended.output)[-500:] or f"exit code {ended.code}"
    finally:
        await keeper.close()
        shutil.rmtree(folder, ignore_errors=True)
