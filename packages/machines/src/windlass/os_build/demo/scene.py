"""An immutable snapshot of the pools, of the registry and of this machine, which the expectations check."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, TypeAlias

from msgspec import Struct, field

from windlass.api.machineconfiguration import MachineConfigPool
from windlass.demo import scene, story
from windlass.demo.story import need
from windlass.kube.conditions import find
from windlass.os_build.constants import IMAGE_ALIAS, RESULT
from windlass.os_build.overview import PoolRow, row_of
from windlass.os_build.pool.conditions import VECTOR

POOLS = ("worker", "infra")

_DIGITS: Final = 7
_PROC: Final = Path("/proc")
_KEEPER: Final = b"_keeper.py"


class Pushed(Struct, frozen=True):
    """An image in the registry: its tag, the pool, rendered MachineConfig and base of its labels, some of its files."""

    tag: str
    digest: str
    pool: str
    config: str
    files: Mapping[str, str] = field(default_factory=dict)
    base: str = ""

    def needs_file(self, path: str, content: str) -> None:
        """A file of the image has this content."""
        found = self.files.get(path)
        need(found == content, f"{self.pool}: {path} in its image is {found!r}, not {content!r}")


class Process(Struct, frozen=True, order=True):
    """A process; `since` tells it from a later one with the same id."""

    pid: int
    since: int


class Scene(scene.Scene, frozen=True, kw_only=True):
    """The pools, and what became of their images; empty before the first step.

    `base` is the pullspec of the base image, `images` all others. `mirrored` is how often the mirror of another base
    image gave something. `builders` are the processes of builds with their commands, `killed` those that ran when
    Windlass was killed, and `left` the files and mounts of builds.
    """

    base: str = ""
    mirror: str = ""
    mirrored: int = 0
    images: tuple[Pushed, ...] = ()
    builders: Mapping[Process, str] = field(default_factory=dict)
    killed: frozenset[Process] = frozenset()
    left: tuple[str, ...] = ()

    def row(self, pool: str) -> PoolRow:
        """A pool as `windlass os-build list` shows it. Raises Missing."""
        return row_of(self.needs(MachineConfigPool, pool).object)

    def recorded(self, pool: str) -> Mapping[str, str]:
        """The annotations with which Windlass tells the result."""
        found = self.get(MachineConfigPool, pool)
        return {key: value for key, value in found.metadata.annotations.items() if key in RESULT} if found else {}

    def images_of(self, pool: str) -> frozenset[str]:
        """The tags of all images of a pool."""
        return frozenset(each.tag for each in self.images if each.pool == pool)

    # what expectations ask for

    def needs_built(self, pool: str) -> Pushed:
        """The image of a pool that is built: by its condition, its annotations and the registry."""
        row, digest = self.row(pool), self.row(pool).image.rpartition("@")[2]
        need(row.up_to_date, said(row))
        need(self.recorded(pool).get(IMAGE_ALIAS) == row.image, f"{pool}: its annotations are {self.recorded(pool)}")
        found = (each for each in self.images if each.digest == digest and each.pool == pool)
        image = need(next(found, None), f"{pool}: the registry does not have {row.image}")
        need(image.config == row.config, f"{pool}: its image is of {image.config or 'no MachineConfig'}")
        return image

    def needs_untouched(self) -> None:
        """No pool has an annotation or a condition of Windlass."""
        for name in POOLS:
            conditions = self.needs(MachineConfigPool, name).object.status.conditions
            need(not self.recorded(name), f"{name} has the annotations {', '.join(self.recorded(name))}")
            told = [kind for kind in VECTOR if find(conditions, kind)]
            need(not told, f"{name} has the conditions {', '.join(told)}")

    def needs_tidiness(self) -> None:
        """No build runs, and none has left files or mounts."""
        need(not self.builders, f"{len(self.builders)} processes of builds still run")
        need(not self.left, f"{', '.join(self.left)} is left")


def said(row: PoolRow) -> str:
    """What a pool says of its image, in a line."""
    message = row.message.splitlines() or ["(nothing)"]
    return f"{row.pool}: {row.state} {row.reason}, of {row.image_config or 'no MachineConfig'}: {message[0]}"


def shortened(config: str) -> str:
    """A rendered MachineConfig with the first digits of its hash."""
    name, dash, digits = config.rpartition("-")
    return f"{name}{dash}{digits[:_DIGITS]}" or "-"


Expectation: TypeAlias = story.Expectation[Scene]
Moment: TypeAlias = story.Moment[Scene]


# What builds on this machine consist of: their processes, mounts and files. Linux only, as buildah is.


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
