"""Declares what a builder backend does: it starts, watches, cancels and removes builds for the controller of pools.

A `Backend` knows no rules: `start`, `cancel` and `clean` give actions for a plan, `look` gives the state of what there
is. A build is its builder object (an OpenShift Build, a Job, a folder), which carries the `Order`'s identity, so a
restarted process finds it again. What a failure means is told once, here, for all backends.

A new backend is one module in `windlass.os_build.backends` that passes `tests/unit/os_build/backends/conformance.py`.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Protocol

from msgspec import Struct

from windlass.api.machineosconfig import MachineOSBuilder
from windlass.kube.control.controller import Watch
from windlass.kube.control.permissions import Declaration
from windlass.kube.control.plan import Action
from windlass.kube.control.plan import Target as ObjectTarget
from windlass.kube.control.source import Source
from windlass.kube.errors import NotServed
from windlass.os_build.credentials import Secrets
from windlass.os_build.environment import Environment, Files
from windlass.os_build.inputs.context import Context
from windlass.os_build.request import BackendName, Problem, Request

ATTEMPTS: Final = 4
"""One, and three retries of a transient failure."""


class Deadlines(Struct, frozen=True):
    """Seconds that building and pushing may take. Backends that cannot tell them apart allow the sum."""

    build: float = 1800.0
    push: float = 600.0


class Phase(StrEnum):
    """How far a build is. The last three are ends."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    INTERRUPTED = "Interrupted"
    """The infrastructure lost it: it is started again, and that counts as no attempt."""


class Cause(StrEnum):
    """Why a build failed; also the reason of the pool's condition."""

    PULL_DENIED = "PullDenied"
    PUSH_DENIED = "PushDenied"
    IMAGE_NOT_FOUND = "ImageNotFound"
    CONTAINERFILE = "ContainerfileInvalid"
    STEP = "StepFailed"
    DEADLINE = "DeadlineExceeded"
    UNREACHABLE = "RegistryUnavailable"
    UNTRUSTED = "RegistryNotTrusted"
    """TLS: a certificate of a CA that is not known, or plain HTTP where HTTPS is expected."""
    IMAGE_REFUSED = "ImageRefused"
    """The registry takes no image like this, such as one of this size."""
    DISK = "DiskFull"
    MEMORY = "OutOfMemory"
    EVICTED = "BuilderEvicted"
    CANCELLED = "BuildCancelled"
    ARCHITECTURE = "WrongArchitecture"
    """The image is for another architecture than the Node that it was built on."""
    UNKNOWN = "BuildFailed"


TRANSIENT: Final = frozenset({Cause.UNREACHABLE, Cause.DISK, Cause.EVICTED})
"""Causes that may pass without a change by the user."""
HEALED_BY_CREDENTIALS: Final = frozenset({Cause.PULL_DENIED, Cause.PUSH_DENIED, Cause.IMAGE_NOT_FOUND})
"""Causes that other credentials may remove. Registries also call an image unknown that one may not pull."""


class Failed(Struct, frozen=True, kw_only=True):
    """Why a build failed.

    step       the instruction that failed, as the builder prints it; may be empty
    exit_code  of that instruction or of the builder; None if unknown
    tail       the last lines of the log, safe to show (`windlass.os_build.log`)
    pushing    it failed while it pushed the image, as far as the backend tells
    """

    cause: Cause
    step: str = ""
    exit_code: int | None = None
    tail: str = ""
    pushing: bool = False

    @property
    def transient(self) -> bool:
        return self.cause in TRANSIENT


class Obstacle(StrEnum):
    """What keeps a builder from its start; also the reason of the pool's condition. It may pass by itself, so there is
    no deadline for it."""

    IMAGE = "BuilderImageUnavailable"
    UNSCHEDULABLE = "BuilderUnschedulable"
    REFUSED = "BuilderRefused"
    """The API server takes no Pod of it."""
    START = "BuilderNotStarted"


class Waits(Struct, frozen=True, kw_only=True):
    """A builder has not started.

    about     the object whose Events tell why
    since     when that was created
    obstacle  None: the object does not tell
    """

    about: ObjectTarget
    since: datetime | None
    obstacle: Obstacle | None = None
    text: str = ""


class Order(Struct, frozen=True, kw_only=True):
    """A build that is to be started.

    name     of the builder object
    inputs   the identity (`identity.Inputs`) as text
    pool     the MachineConfigPool: the owner of builder objects
    context  its files; `Containerfile` is one of them
    secrets  those for pulling and pushing, as they are now
    tag      of the image; empty: `name`
    part_of  the tag of the list that is going to name the image; empty: none is
    environment  how it reaches registries, whom it trusts, and what is lent to it
    lent_files   the files of what is lent, by path, for a backend whose builders cannot (`mounts_secrets`)
    """

    name: str
    inputs: str
    attempt: int
    pool: ObjectTarget
    request: Request
    context: Context
    secrets: Secrets
    deadlines: Deadlines = Deadlines()
    tag: str = ""
    part_of: str = ""
    environment: Environment = Environment()
    lent_files: Mapping[str, Files] = {}

    @property
    def image(self) -> str:
        """The pullspec that the image is pushed to."""
        return self.request.target.tagged(self.tag or self.name)


class BuildState(Struct, frozen=True, kw_only=True):
    """A builder object, as it is now.

    secrets  the state of the Secrets when it began (`Secrets.state`)
    digest   `sha256:...` of the image that was pushed; empty if the backend does not tell
    started  when its builder object began
    runs     when its builder did; None: it does not run, or the backend has deadlines of its own
    note     for people: what a pending build waits for
    waits    None: it has started, or the backend does not tell
    doomed   it will come to no other end, but goes on until it is cancelled
    ending   it was cancelled or deleted, and is not gone yet
    architecture  what it was to run on; empty: anything
    part_of  the tag of the list that is going to name its image; empty: none is
    owner    the uid of the pool that it was started for, if the backend needs it to stop a build of a pool that is gone
    builder  the builder object as a MachineOSBuild names it; None: that API has no word for it
    handle   the backend's own
    """

    name: str
    backend: BackendName
    pool: str
    inputs: str
    phase: Phase
    config: str = ""
    attempt: int = 1
    secrets: str = ""
    image: str = ""
    digest: str = ""
    failed: Failed | None = None
    started: datetime | None = None
    runs: datetime | None = None
    ended: datetime | None = None
    note: str = ""
    waits: Waits | None = None
    doomed: Cause | None = None
    ending: bool = False
    architecture: str = ""
    part_of: str = ""
    owner: str = ""
    builder: MachineOSBuilder | None = None
    handle: Any = None

    @property
    def is_over(self) -> bool:
        return self.phase in (Phase.SUCCEEDED, Phase.FAILED, Phase.INTERRUPTED)


class Backend(Protocol):
    """One way to build. Keys of its watches and sources are names of pools.

    `usual`: pools that name no builder may get it. `mounts_secrets`: its builders read Secrets and ConfigMaps as they
    are. `in_cluster`: its builders run in the cluster, so they take turns; other backends have queues of their own.
    """

    @property
    def name(self) -> BackendName: ...
    @property
    def watches(self) -> tuple[Watch[str], ...]: ...
    @property
    def sources(self) -> tuple[Source[str], ...]: ...
    @property
    def permissions(self) -> tuple[Declaration, ...]: ...
    @property
    def usual(self) -> bool: ...
    @property
    def mounts_secrets(self) -> bool: ...
    @property
    def in_cluster(self) -> bool: ...

    def unfit(self, context: Context, request: Request) -> Problem | None:
        """The reason why the backend cannot build this context; None if it can."""
        ...

    def look(self, pool: str) -> Sequence[BuildState]:
        """All builder objects of the pool, in any phase, oldest first. Reads caches or memory; asks nobody."""
        ...

    def start(self, order: Order) -> tuple[Action, ...]:
        """Create the builder object; if it exists already, nothing happens."""
        ...

    def renew(self, state: BuildState, secrets: Secrets) -> tuple[Action, ...]:
        """Give a build that is not over these credentials; nothing if its builder reads the Secrets itself."""
        ...

    def cancel(self, state: BuildState, cause: Cause) -> tuple[Action, ...]:
        """Stop a build that is not over; then it has failed, for this cause if the backend can keep it."""
        ...

    def clean(self, state: BuildState, *, why: str) -> tuple[Action, ...]:
        """Remove the builder object of a build, stopping it first if it is not over."""
        ...


def builds_of(backends: Mapping[BackendName, Backend], pool: str) -> tuple[BuildState, ...]:
    """All builder objects of the pool, oldest first within a backend; a backend that is not served has none."""
    found: list[BuildState] = []
    for backend in backends.values():
        with suppress(NotServed):
            found += backend.look(pool)
    return tuple(found)
