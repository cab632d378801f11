"""The situations that a pool may be in: `pool.situation` tells them apart, `pool.decide` says what follows."""

from datetime import datetime
from typing import TypeAlias

from msgspec import Struct

from windlass.os_build.builder import BuildState, Cause
from windlass.os_build.machine_os.claim import Again, Current, Failed, Missing, Reuse, Silent, Wait
from windlass.os_build.registry.answers import Denied, NotAsked
from windlass.os_build.registry.answers import Refused as RefusedList
from windlass.os_build.registry.carrier import ImageList
from windlass.os_build.request import BackendName, Problem


class Gone(Struct, frozen=True):
    """There is no pool, or soon none."""


class Claimed(Struct, frozen=True):
    by: str


class ByConfig(Struct, frozen=True):
    standing: Wait | Silent | Again | Current | Failed | Reuse | Missing


class OptedOut(Struct, frozen=True):
    pass


class Unclear(Struct, frozen=True):
    problem: Problem


class Built(Struct, frozen=True):
    """`image` is recorded on the pool, for these inputs."""

    image: str
    config: str


class Underway(Struct, frozen=True):
    build: BuildState


class Doomed(Struct, frozen=True):
    """It goes on, and has failed for this `cause`."""

    build: BuildState
    cause: Cause


class Finished(Struct, frozen=True):
    build: BuildState
    digest: str


class Unconfirmed(Struct, frozen=True):
    """`why` the registry does not tell the digest."""

    build: BuildState
    why: str


class Lost(Struct, frozen=True):
    """The builder object is of no use any more; it is removed at `when`, and the build begins again."""

    build: BuildState
    when: datetime
    why: str = "it begins again"


class Broken(Struct, frozen=True):
    """`again`: when attempts begin anew; None: not by themselves."""

    build: BuildState
    again: datetime | None = None


class Retrying(Struct, frozen=True):
    build: BuildState
    when: datetime


class Joining(Struct, frozen=True):
    """All images of the `list` are built; `build` is one of them."""

    build: BuildState
    list: ImageList


class Unjoined(Struct, frozen=True):
    """The registry has not taken the list; `why`."""

    build: BuildState
    list: ImageList
    why: RefusedList | Denied | NotAsked


class HeldBack(Struct, frozen=True):
    condition: str
    message: str


class Resting(Struct, frozen=True):
    when: datetime


class Refused(Struct, frozen=True):
    """The API server refused what a build begins with; `why`, with the remedy. It is asked again at `when`."""

    why: str
    when: datetime


class Ready(Struct, frozen=True):
    """A build is due, with this name; `due`: of a list, the architectures with their attempts that are."""

    backend: BackendName
    attempt: int
    name: str
    due: tuple[tuple[str, int], ...] = ()


Situation: TypeAlias = (
    Gone
    | Claimed
    | ByConfig
    | OptedOut
    | Unclear
    | Built
    | Underway
    | Doomed
    | Finished
    | Unconfirmed
    | Lost
    | Broken
    | Retrying
    | Joining
    | Unjoined
    | HeldBack
    | Resting
    | Refused
    | Ready
)
