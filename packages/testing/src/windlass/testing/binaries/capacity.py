"""Checks before a build that the machine has enough disk and memory for it."""

import os
import shutil
from pathlib import Path

from windlass.testing.binaries.errors import NotEnoughCapacity

DISK = 6 << 30
"""Bytes that a whole cold build takes: 4 GB of Go's build cache, the rest modules and programs."""

MEMORY = 2 << 30
"""Bytes that linking kube-apiserver takes at its peak, with some reserve."""

_CGROUP = Path("/sys/fs/cgroup")
_REMEDY = "or point KUBEBUILDER_ASSETS at a folder that holds etcd and kube-apiserver"


def check(folder: Path) -> None:
    """Raise NotEnoughCapacity unless a build that writes to `folder` can be expected to finish."""
    free = shutil.disk_usage(folder).free
    if free < DISK:
        raise NotEnoughCapacity(
            f"building the control plane needs {_gigabytes(DISK)} of free disk and {folder} has {_gigabytes(free)}: "
            f"free some, set XDG_CACHE_HOME to a larger disk, {_REMEDY}"
        )
    memory = available_memory()
    if memory is not None and memory < MEMORY:
        raise NotEnoughCapacity(
            f"building the control plane needs {_gigabytes(MEMORY)} of free memory and there are "
            f"{_gigabytes(memory)}: stop other programs, {_REMEDY}"
        )


def available_memory() -> int | None:
    """Bytes that this process could still use within the container's limit; None if unknown."""
    amounts = [amount for amount in (_system_memory(), _container_memory()) if amount is not None]
    return min(amounts, default=None)


def _system_memory() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        try:
            return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (ValueError, OSError):
            return None
    for line in lines:
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _container_memory() -> int | None:
    try:
        limit = (_CGROUP / "memory.max").read_text(encoding="ascii").strip()
        used = (_CGROUP / "memory.current").read_text(encoding="ascii").strip()
        figures = dict(line.split() for line in (_CGROUP / "memory.stat").read_text(encoding="ascii").splitlines())
    except OSError:
        return None
    # Inactive file pages are reclaimed when memory is needed; the kubelet counts in the same way.
    return None if limit == "max" else int(limit) - int(used) + int(figures.get("inactive_file", 0))


def _gigabytes(amount: int) -> str:
    return f"{amount / (1 << 30):.1f} GiB"
