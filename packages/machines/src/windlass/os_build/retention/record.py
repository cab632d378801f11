"""The images that a pool had, as the objects of this cluster say. Pure.

| pool | record |
|---|---|
| named by a MachineOSConfig | its MachineOSBuilds that succeeded |
| opted in by itself | the annotation `BUILT` of the pool: each image that the pool recorded, newest first |

A record is what may be looked at, never a permission: `rule` demands that the image itself names this cluster.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec
from msgspec import Struct

from windlass.api.machineconfiguration import GROUP, MachineConfigPool
from windlass.api.machineosconfig import MachineOSBuild
from windlass.kube.clock import rfc3339
from windlass.kube.foreign import Malformed, read_json
from windlass.os_build.constants import IMAGE, IMAGE_CONFIG
from windlass.os_build.machine_os.conditions import State, state_of
from windlass.os_build.pullspec import DIGEST

BUILT: Final = f"{GROUP}/built-os-images"
"""An annotation of pools: the images that were built for it, in JSON."""
LONGEST: Final = 100
"""Images of a pool that are remembered. Images beyond that stay in the registry."""


class Record(Struct, frozen=True):
    """An image that a pool had.

    image   `host/org/repo@sha256:...`
    config  the rendered MachineConfig that it was built from
    built   RFC 3339
    build   the MachineOSBuild that says so; empty: the annotation of the pool does
    """

    image: str
    config: str = ""
    built: str = ""
    build: str = ""

    @property
    def repository(self) -> str:
        return self.image.partition("@")[0]

    @property
    def digest(self) -> str:
        return self.image.partition("@")[2]


class _Entry(Struct, frozen=True, omit_defaults=True):
    image: str
    config: str = ""
    built: str = ""


def read(pool: MachineConfigPool) -> tuple[Record, ...]:
    """The images in the annotation, newest first; what is no record there is left out."""
    try:
        entries = read_json(pool.metadata.annotations.get(BUILT, "[]"), list[msgspec.Raw])
    except Malformed:
        return ()
    found = []
    for raw in entries[:LONGEST]:
        try:
            entry = read_json(raw, _Entry)
        except Malformed:
            continue
        record = Record(entry.image, entry.config, entry.built)
        if DIGEST.fullmatch(record.digest):
            found.append(record)
    return tuple(found)


def with_current(records: Sequence[Record], pool: MachineConfigPool, *, now: datetime) -> tuple[Record, ...]:
    """The same, with the image that the pool has now. An image that is built again counts as new."""
    image = pool.metadata.annotations.get(IMAGE, "")
    if not DIGEST.fullmatch(image.partition("@")[2]) or (records and records[0].image == image):
        return tuple(records)
    current = Record(image, pool.metadata.annotations.get(IMAGE_CONFIG, ""), rfc3339(now))
    return (current, *(each for each in records if each.image != image))[:LONGEST]


def written(records: Iterable[Record]) -> str:
    """The annotation; empty without records."""
    entries = [_Entry(each.image, each.config, each.built) for each in records]
    return msgspec.json.encode(entries).decode() if entries else ""


def of_builds(builds: Iterable[MachineOSBuild]) -> tuple[Record, ...]:
    """The images of these MachineOSBuilds that succeeded, newest first."""
    found = []
    for build in builds:
        image = build.status.digested_image_push_spec
        if state_of(build.status.conditions) is State.SUCCEEDED and DIGEST.fullmatch(image.partition("@")[2]):
            built = build.status.build_end or build.metadata.creation_timestamp or ""
            found.append(Record(image, build.spec.machine_config.name, built, build.metadata.name))
    return tuple(sorted(found, key=lambda each: (each.built, each.build), reverse=True))


def by_digest(records: Iterable[Record]) -> Mapping[str, tuple[Record, ...]]:
    """The records of each image, newest first: a MachineConfig that changes only files has the image of another one."""
    found: dict[str, tuple[Record, ...]] = {}
    for each in records:
        found[each.digest] = (*found.get(each.digest, ()), each)
    return found
