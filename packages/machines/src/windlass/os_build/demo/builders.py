"""Finds what builds on this machine consist of: their processes, mounts and files. Linux only, as buildah is."""

from pathlib import Path
from typing import Final

from msgspec import Struct

_PROC: Final = Path("/proc")
_KEEPER: Final = b"_keeper.py"


class Process(Struct, frozen=True, order=True):
    """A process; `since` tells it from a later one with the same id."""

    pid: int
    since: int


def processes(folder: Path) -> dict[Process, str]:
    """The processes of the builds in `folder` with their commands: their keepers, and all that these have started."""
    found: dict[int, tuple[int, Process, str]] = {}
    keepers: list[int] = []
    for place in _PROC.glob("[0-9]*"):
        try:
            # The name in parentheses may have spaces and parentheses itself.
            stat = (place / "stat").read_text(errors="replace").rpartition(")")[2].split()
            command = (place / "cmdline").read_bytes()
        except (OSError, ValueError):
            continue
        pid = int(place.name)
        found[pid] = int(stat[1]), Process(pid, int(stat[19])), command.decode(errors="replace").replace("\0", " ")
        if _KEEPER in command and str(folder).encode() in command:
            keepers.append(pid)
    ours = {*keepers}
    while more := {pid for pid, (parent, _, _) in found.items() if parent in ours} - ours:
        ours |= more
    return dict(found[pid][1:] for pid in ours)


def leftovers(folder: Path) -> tuple[str, ...]:
    """The folders of builds and the mounts below `folder`; its stores of base images stay, and do not count."""
    files = [str(path) for part in ("builds", "trash") for path in (folder / part).glob("*")]
    mounts = [line.split()[1] for line in (_PROC / "mounts").read_text().splitlines() if str(folder) in line]
    return (*sorted(files), *sorted(mounts))
