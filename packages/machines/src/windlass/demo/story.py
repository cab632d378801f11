"""The parts of a demo: steps that a user could type, and their expected results.

`T` is the stage on which the steps act, `S` the scene: a snapshot of the stage.
"""

from collections.abc import Awaitable, Callable
from typing import Generic, TypeAlias, TypeVar

from msgspec import Struct

S = TypeVar("S")
T = TypeVar("T")
V = TypeVar("V")

PATIENCE = 120.0
"""Seconds for one step. On an idle computer no step takes ten, but a computer may be busy."""


class Missing(Exception):
    """What a scene still lacks for a step to be done, in a sentence."""


def need(found: V | None, missing: str) -> V:
    """The value, unless there is none or it is false. Raises Missing, with the sentence `missing`."""
    if not found:
        raise Missing(missing)
    return found


class Observed(Struct, frozen=True):
    """The result of checking a scene: met, with what was seen; or not yet, with what is still missing."""

    met: bool
    text: str


class Moment(Struct, Generic[S], frozen=True):
    """A step's beginning: the scene at that time, and the name of the object that the step is about, if there is
    one."""

    before: S
    name: str = ""


Expectation: TypeAlias = Callable[[S, Moment[S]], str]
"""Says what a step has done: a pure function of the present scene and the step's beginning. Raises Missing before."""

Act: TypeAlias = Callable[[T, Moment[S]], Awaitable[None]]
"""Carries a step out."""


async def look_on(*_: object) -> None:
    """Do nothing: others act."""


class Step(Struct, Generic[T, S], frozen=True):
    """One step.

    `commands` are those that a user would type for the same effect; `NAME` in them stands for the object that the step
    is about, which `about` selects from the scene. `act` carries the step out, and `expect` must hold within `seconds`.
    `pictured` steps are in the picture of the demo.
    """

    title: str
    commands: tuple[str, ...]
    expect: Expectation[S]
    act: Act[T, S] = look_on
    about: Callable[[S], str] = lambda _: ""
    seconds: float = PATIENCE
    pictured: bool = False

    def typed(self, moment: Moment[S]) -> list[str]:
        """The commands, with the name of the object."""
        return [command.replace("NAME", moment.name) for command in self.commands]

    def check(self, scene: S, moment: Moment[S]) -> Observed:
        """What the step has done, or what is still missing."""
        try:
            return Observed(True, self.expect(scene, moment))
        except Missing as missing:
            return Observed(False, str(missing))
