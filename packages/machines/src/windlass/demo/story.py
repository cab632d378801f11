"""The parts of a demo: steps that a user could type, and their expected results.

`T` is the stage on which the steps act, `S` the scene: a snapshot of the stage.
"""

from collections.abc import Awaitable, Callable
from typing import Generic, TypeAlias, TypeVar

from msgspec import Struct

S = TypeVar("S")
T = TypeVar("T")

PATIENCE = 120.0
"""Seconds for one step. On an idle computer no step takes ten, but a computer may be busy."""


class Observed(Struct, frozen=True):
    """The result of checking a scene: met, with what was seen; or not yet, with what is still missing."""

    met: bool
    text: str


def met(text: str) -> Observed:
    return Observed(True, text)


def missing(text: str) -> Observed:
    return Observed(False, text)


class Scene(Struct, frozen=True, kw_only=True):
    """The control plane and Windlass in every demo; the scene of a capability adds the objects of its story.

    `version` is the API server's, empty until it answered. `unwatched` are the resources whose first list has not
    arrived, None before they are watched. `ready` is Windlass's answer at /readyz, `leader` the holder of its Lease.
    """

    version: str = ""
    unwatched: tuple[str, ...] | None = None
    ready: bool = False
    leader: str = ""

    @property
    def silent(self) -> str:
        """Why nothing can be asked yet; empty if the API server answers."""
        return "" if self.version else "the API server does not answer"

    @property
    def unserved(self) -> str:
        """Why objects cannot be seen yet; empty if they can."""
        if self.silent or self.unwatched is None:
            return self.silent or "nothing can be watched yet"
        return f"{', '.join(self.unwatched)} cannot be watched" if self.unwatched else ""

    @property
    def idle(self) -> str:
        """Why Windlass does not work yet; empty if it does."""
        if not self.ready:
            return "Windlass is not ready"
        return "" if self.leader else "the Lease of Windlass has no holder"


class Moment(Struct, Generic[S], frozen=True):
    """A step's beginning: the scene at that time, and the name of the object that the step is about, if there is
    one."""

    before: S
    name: str = ""


Expectation: TypeAlias = Callable[[S, Moment[S]], Observed]
"""Checks whether a step has had its expected effect: a pure function of the present scene and the step's beginning."""


class Step(Struct, Generic[T, S], frozen=True):
    """One step.

    `commands` are those that a user would type for the same effect; `NAME` in them stands for the object that the step
    is about, which `about` selects from the scene. `act` carries the step out, and `expect` must hold within `seconds`.
    `pictured` steps are in the picture of the demo.
    """

    title: str
    commands: tuple[str, ...]
    act: Callable[[T, Moment[S]], Awaitable[None]]
    expect: Expectation[S]
    about: Callable[[S], str] = lambda _: ""
    seconds: float = PATIENCE
    pictured: bool = False

    def typed(self, moment: Moment[S]) -> list[str]:
        """The commands, with the name of the object."""
        return [command.replace("NAME", moment.name) for command in self.commands]
