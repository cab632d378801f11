"""Loads prebuilt programs from archives whose digest is pinned here.

An archive without a digest that was read or computed is not loaded. `PINNED` is empty until such a digest is entered;
until then programs are built from modules, where go.sum pins every byte. A host that refuses or hangs is no error: the
next source is tried.
"""

import hashlib
import tarfile
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from windlass.testing.binaries.parts import Part, Platform

CONNECT_SECONDS = 5.0
"""How long a host may keep us waiting for its next bytes before we build instead."""


@dataclass(frozen=True)
class Archive:
    """A tar archive at `url`; `members` maps the names of programs to their paths in it."""

    url: str
    sha512: str
    members: Mapping[str, str]


Pins = Mapping[tuple[str, str], Sequence[Archive]]
"""Archives by part and platform, for example `("etcd-v3.7.3", "linux/amd64")`."""

PINNED: Pins = {}


class Unusable(Exception):
    """An archive could not be loaded, or does not match its pinned digest."""


def offers(part: Part, target: Platform, *, pinned: Pins = PINNED) -> bool:
    """Whether the pinned archives contain everything that is needed of `part`."""
    offered = {name for archive in _pinned_for(part, target, pinned) for name in archive.members}
    return bool(part.programs) and not part.crds and offered.issuperset(program.name for program in part.programs)


def load(part: Part, target: Platform, destination: Path, *, pinned: Pins = PINNED) -> None:
    """Put the part's programs into `destination`. Raises Unusable, possibly with some of them written."""
    for archive in _pinned_for(part, target, pinned):
        try:
            _load_one(archive, destination)
        except (OSError, tarfile.TarError) as problem:
            raise Unusable(f"{part.name}: {archive.url} is of no use ({problem})") from problem


def _pinned_for(part: Part, target: Platform, pinned: Pins) -> Sequence[Archive]:
    return pinned.get((f"{part.name}-{part.version}", str(target)), ())


def _load_one(archive: Archive, destination: Path) -> None:
    with TemporaryFile() as file:
        with urllib.request.urlopen(archive.url, timeout=CONNECT_SECONDS) as response:
            digest = _copy(response, file)
        if digest != archive.sha512:
            raise Unusable(f"{archive.url}: its SHA-512 is {digest}, pinned is {archive.sha512}")
        file.seek(0)
        with tarfile.open(fileobj=file) as tar:
            for name, member in archive.members.items():
                _extract(tar, member, destination / name)


def _copy(source: IO[bytes], destination: IO[bytes]) -> str:
    digest = hashlib.sha512()
    while block := source.read(1 << 20):
        digest.update(block)
        destination.write(block)
    return digest.hexdigest()


def _extract(tar: tarfile.TarFile, member: str, destination: Path) -> None:
    try:
        content = tar.extractfile(member)
    except KeyError:
        content = None
    if content is None:
        raise tarfile.TarError(f"there is no file {member} in it")
    with content, destination.open("wb") as program:
        while block := content.read(1 << 20):
            program.write(block)
    destination.chmod(0o755)
