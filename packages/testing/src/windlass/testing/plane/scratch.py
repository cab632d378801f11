"""Creates the folders of one plane: logs and credentials on disk, etcd's data on tmpfs if there is room."""

import shutil
import tempfile
from pathlib import Path

_SHARED_MEMORY = Path("/dev/shm")
# etcd reserves 64 MB for each of two log segments from the start; a container's default /dev/shm holds just that.
_MEMORY_NEEDED = 1 << 30


def data_folder() -> Path:
    """A new folder for etcd's data: on tmpfs if there is one with room, else in the temporary directory."""
    return Path(tempfile.mkdtemp(prefix="windlass-etcd-", dir=_SHARED_MEMORY if _roomy(_SHARED_MEMORY) else None))


def plane_folder() -> Path:
    """A new folder for a plane's logs, keys and kubeconfigs, readable by us alone."""
    return Path(tempfile.mkdtemp(prefix="windlass-plane-"))


def _roomy(folder: Path) -> bool:
    try:
        return shutil.disk_usage(folder).free >= _MEMORY_NEEDED
    except OSError:
        return False
