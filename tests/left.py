"""What runs on this machine, and what is left of builds in the folder that `windlass` keeps them in."""

import os
from pathlib import Path


def command_lines() -> dict[int, str]:
    """The command lines of all processes but this one, by process id."""
    lines = {}
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = file.read_bytes().decode(errors="replace")
        except OSError:
            continue
        lines[int(file.parent.name)] = line.strip("\0").replace("\0", " ")
    return {pid: line for pid, line in lines.items() if pid != os.getpid()}


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
