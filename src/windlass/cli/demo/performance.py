"""Play the story: each step is done, then looked at until it has come true or its time is up."""

import time
from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from windlass.cli.demo.scene import Finding, Moment, Scene, missing
from windlass.cli.demo.stage import Stage
from windlass.cli.demo.story import Step
from windlass.kube.errors import KubeError
from windlass.testing.binaries import BinariesError
from windlass.testing.plane.errors import PlaneError

_LOOK_SECONDS = 0.25
"""How often to look at what cannot be watched."""


class Result(Struct, frozen=True):
    """What became of a step; `finding` None: it was not tried, because one before it failed."""

    step: Step
    finding: Finding | None = None
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        return self.finding is not None and self.finding.met


class View(Protocol):
    """Who is told of it."""

    def begin(self, number: int, step: Step, moment: Moment) -> None: ...

    def show(self, scene: Scene, finding: Finding) -> None: ...

    def end(self, result: Result, scene: Scene) -> None: ...


async def perform(story: Sequence[Step], stage: Stage, view: View) -> list[Result]:
    """The results of all steps, in order. After a step that failed none is tried."""
    results: list[Result] = []
    scene = Scene()
    for number, step in enumerate(story, start=1):
        if results and not results[-1].passed:
            results.append(Result(step))
            continue
        result, scene = await _play(number, step, scene, stage=stage, view=view)
        results.append(result)
    return results


async def _play(number: int, step: Step, scene: Scene, *, stage: Stage, view: View) -> tuple[Result, Scene]:
    """The result of a step that begins at `scene`, and the scene at its end."""
    begun = time.monotonic()
    moment = Moment(scene, step.about(scene))
    view.begin(number, step, moment)
    try:
        await step.act(stage, moment)
        scene, finding = await _watch(step, moment, stage=stage, view=view)
    except (KubeError, PlaneError, BinariesError) as error:
        finding = missing(str(error))
    result = Result(step, finding, time.monotonic() - begun)
    view.end(result, scene)
    return result, scene


async def _watch(step: Step, moment: Moment, *, stage: Stage, view: View) -> tuple[Scene, Finding]:
    # From here on: how long it took to do what is to come true says nothing of how long that takes.
    deadline = time.monotonic() + step.seconds
    scene = moment.before
    while True:
        try:
            scene = await stage.look()
            finding = step.expect(scene, moment)
        except KubeError as error:
            if not error.transient:
                raise
            finding = missing(str(error))
        view.show(scene, finding)
        if finding.met:
            return scene, finding
        if casualty := stage.casualty():
            return scene, missing(casualty)
        if time.monotonic() >= deadline:
            return scene, missing(f"{finding.text} (waited {step.seconds:.0f} s)")
        await stage.change(seconds=_LOOK_SECONDS)
