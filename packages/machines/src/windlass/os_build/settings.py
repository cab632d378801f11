"""The settings of OS builds on a cluster."""

from pathlib import Path

from msgspec import Struct

from windlass.os_build.placement import Placement
from windlass.os_build.pool.snapshot import Settings


class LocalSettings(Struct, frozen=True, kw_only=True):
    """Builds on this machine: in `folder`, `slots` at a time.

    driver  of the stores of images: vfs, overlay, or auto, which is overlay where that works
    """

    folder: Path
    slots: int = 2
    driver: str = "auto"


class OsBuildSettings(Struct, frozen=True, kw_only=True):
    """How builds are made, and by which backends.

    placement      how builder Pods are made
    insecure       hosts of registries that are asked by plain HTTP
    local          None: no builds on this machine
    """

    pools: Settings = Settings()
    insecure: tuple[str, ...] = ()
    placement: Placement = Placement()
    local: LocalSettings | None = None
