"""The settings of OS builds on a cluster."""

from pathlib import Path

from msgspec import Struct

from windlass.os_build.backends.job import JobSettings
from windlass.os_build.pool.snapshot import Settings


class LocalSettings(Struct, frozen=True, kw_only=True):
    """Builds on this machine: in `folder`, `slots` at a time.

    certificates  a folder with CAs of registries
    driver        of the stores of images: vfs or overlay
    """

    folder: Path
    slots: int = 2
    certificates: Path | None = None
    driver: str = "vfs"


class OsBuildSettings(Struct, frozen=True, kw_only=True):
    """How builds are made, and by which backends.

    authorities    certificates that are trusted beside the system's when a registry is asked
    insecure       hosts of registries that are asked by plain HTTP
    local          None: no builds on this machine
    """

    pools: Settings = Settings()
    authorities: Path | None = None
    insecure: tuple[str, ...] = ()
    job: JobSettings = JobSettings()
    local: LocalSettings | None = None
