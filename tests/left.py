"""What is left of builds in the folder that `windlass` keeps them in on this machine."""

import os
from pathlib import Path


def files_of_builds(folder: Path) -> list[str]:
    """Files and folders of builds, those that are being deleted too. Stores of images may stay."""
    # os.walk passes over a folder that is deleted while it is listed; rglob of Python 3.11 raises FileNotFoundError.
    return [
        os.path.join(at, name)
        for part in ("builds", "trash")
        for at, folders, names in os.walk(folder / part)
        for name in (*folders, *names)
    ]


def mounts_below(folder: Path) -> list[str]:
    """The mounts below the folder, a line of /proc/mounts each."""
    return [line for line in Path("/proc/mounts").read_text().splitlines() if str(folder) in line]
