"""Requests to the builder on this machine. They print themselves: Secrets by name, files by size."""

from collections.abc import Mapping
from typing import ClassVar, Final

from windlass.kube.control.merge import FieldChange, changes
from windlass.kube.control.plan import Request
from windlass.os_build.builder import Deadlines
from windlass.os_build.credentials import Auths
from windlass.os_build.environment import Environment, Files
from windlass.os_build.inputs.context import Context

BUILDAH: Final = "buildah"


class BuilderRequest(Request, frozen=True, kw_only=True):
    """The answer comes at once; the build goes on."""

    SYSTEM = BUILDAH
    SECONDS = 10.0

    name: str


class StartBuild(BuilderRequest, frozen=True, kw_only=True):
    """Start a build, unless there is one of this name. Fields as in `builder.Order` and `builder.BuildState`.

    `pull_secret`, `push_secret`: the names of the Secrets, for people. `pull`, `push`: what is in them; None: the
    credentials of the user who runs this process. `lent`: files by the path in RUN steps.
    """

    pool: str
    inputs: str
    config: str
    attempt: int
    image: str
    context: Context
    pull_secret: str
    push_secret: str
    secrets: str
    pull: Auths | None
    push: Auths | None
    owner: str = ""
    deadlines: Deadlines = Deadlines()
    environment: Environment = Environment()
    lent: Mapping[str, Files] = {}

    def diff(self) -> tuple[FieldChange, ...]:
        shown = {
            "pool": self.pool,
            "config": self.config,
            "image": self.image,
            "attempt": self.attempt,
            "context": repr(self.context),
            "pullSecret": self.pull_secret,
            "pushSecret": self.push_secret,
            **({"lent": ", ".join(sorted(self.lent))} if self.lent else {}),
        }
        return tuple(changes({}, shown))


class RenewCredentials(BuilderRequest, frozen=True, kw_only=True):
    """Give a build that is not over these credentials; `secrets` is their version."""

    SECRET: ClassVar[frozenset[str]] = frozenset({"pull", "push"})

    pull: Auths
    push: Auths
    secrets: str


class CancelBuild(BuilderRequest, frozen=True, kw_only=True):
    """Stop a build that is not over; it stays as a failed one. The answer comes when nothing of it runs."""


class RemoveBuild(BuilderRequest, frozen=True, kw_only=True):
    """Forget a build, stopping it first if it is not over."""
