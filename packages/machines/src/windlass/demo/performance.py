"""Plays a story: carries out each step, then waits until its expectation holds or its time is up."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct

from windlass.demo.looks import Look
from windlass.demo.stage import Stage
from windlass.demo.story import Moment, Observed, S, Step
from windlass.kube.errors import KubeError
from windlass.testing.binaries import PARTS, BinariesError, obtain
from windlass.testing.plane.errors import PlaneError

T = TypeVar("T", bound=Stage[Any])

_LOOK_SECONDS = 0.25
"""Seconds between looks at what cannot be watched."""


class Demo(Struct, Generic[T, S], frozen=True):
    """A story, the stage it plays on (made from a directory, which may be temporary), and how its scenes look.

    `command` shows the demo; `afterwards` are commands to look around with when it has been kept. `prepare` finds the
    programs, or builds them, before any deadline begins; it raises BinariesError or PlaneError.
    """

    stage: type[T]
    story: Sequence[Step[T, S]]
    look: Look[S]
    command: str
    afterwards: tuple[str, ...]
    prepare: Callable[[], object] = partial(obtain, PARTS)


class Played(Struct, Generic[S], frozen=True):
    """The result of a step; `observed` None: it was not tried, because an earlier step failed."""

    step: Step[Any, S]
    observed: Observed | None = None
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        return self.observed is not None and self.observed.met


class View(Protocol[S]):
    """Shows the performance."""

    def begin(self, number: int, step: Step[Any, S], moment: Moment[S]) -> None: ...

    def show(self, scene: S, observed: Observed) -> None: ...

    def end(self, played: Played[S], scene: S) -> None: ...


async def perform(story: Sequence[Step[T, S]], stage: T, *views: View[S]) -> list[Played[S]]:
    """The results of all steps, in order. After a step that failed, none is tried."""
    performed: list[Played[S]] = []
    scene: S = stage.opening
    for number, step in enumerate(story, start=1):
        if performed and not performed[-1].passed:
            performed.append(Played(step))
            continue
        played, scene = await _play(number, step, scene, stage=stage, views=views)
        performed.append(played)
    return performed


async def _play(number: int, step: Step[T, S], scene: S, *, stage: T, views: Sequence[View[S]]) -> tuple[Played[S], S]:
    """The result of a step that begins at `scene`, and the scene at its end."""
    begun = time.monotonic()
    moment = Moment(scene, step.about(scene))
    for view in views:
        view.begin(number, step, moment)
    try:
        await step.act(stage, moment)
        scene, observed = await _watch(step, moment, stage=stage, views=views)
    except (KubeError, PlaneError, BinariesError) as error:
        observed = Observed(False, str(error))
    played = Played(step, observed, time.monotonic() - begun)
    for view in views:
        view.end(played, scene)
    return played, scene


async def _watch(step: Step[T, S], moment: Moment[S], *, stage: T, views: Sequence[View[S]]) -> tuple[S, Observed]:
    # The deadline begins after the action: the time of the action must not shorten the wait for its effect.
    deadline = time.monotonic() + step.seconds
    scene = moment.before
    while True:
        try:
            scene = await stage.look()
            observed = step.check(scene, moment)
        except KubeError as error:
            if not error.transient:
                raise
            observed = Observed(False, str(error))
        for view in views:
            view.show(scene, observed)
        if observed.met:
            return scene, observed
        if casualty := stage.casualty():
            return scene, Observed(False, casualty)
        if time.monotonic() >= deadline:
            return scene, Observed(False, f"{observed.text} (waited {step.seconds:.0f} s)")
        await stage.change(seconds=_LOOK_SECONDS)
