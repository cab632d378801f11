"""How a story is played: a step that fails ends it and says why, a fault of the moment does not."""

import re
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import TypeAlias

import pytest
from msgspec.structs import replace
from rich.console import Console

from windlass.demo import story
from windlass.demo.looks import Page
from windlass.demo.performance import perform
from windlass.demo.scene import Scene
from windlass.demo.stage import Stage
from windlass.demo.story import PATIENCE, Missing, Moment
from windlass.demo.view import LinesView, summarise
from windlass.kube.errors import TransportError
from windlass.testing.plane.errors import PlaneError

PAGE: Page[Scene] = Page(lambda _: "", pictured=lambda _: "")


class Empty(Stage[Scene]):
    """There is no control plane on it."""

    opening = Scene()


Step: TypeAlias = story.Step[Empty, Scene]


def done(*_: object) -> str:
    return "done"


def never(*_: object) -> str:
    raise Missing("no machines")


def at_the_second_look() -> story.Expectation[Scene]:
    looks = iter([never, done])
    return lambda *_: next(looks)()


async def performed(tmp_path: Path, *steps: Step) -> str:
    """What a demo of these steps prints."""
    console = Console(file=StringIO(), width=200)
    async with Empty(tmp_path / "stage", temporary=False) as stage:
        results = await perform(steps, stage, LinesView(console, PAGE, steps=len(steps)))
    summarise(console, results, logs=stage.logs, seconds=0)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


async def test_a_step_that_does_not_come_true_ends_the_demo_and_says_where_to_look(tmp_path: Path) -> None:
    steps = [Step(title, (), expect, seconds=0) for title, expect in (("One", done), ("Two", never), ("Three", done))]
    said = await performed(tmp_path, *steps)
    assert re.search(r"^ 2  FAILED +[\d.]+ s  Two$", said, re.MULTILINE)
    assert re.search(r"^ 3  not tried +Three$", said, re.MULTILINE)
    assert "'Two' did not come true: no machines (waited 0 s)" in said
    assert f"The logs are in {tmp_path / 'stage' / 'logs'}" in said


class Forgetful(Empty):
    """Its API server answers every other look with a fault of the moment."""

    looks = 0

    async def look(self) -> Scene:
        self.looks += 1
        if self.looks % 2:
            raise TransportError("GET /version: the server hung up")
        return await super().look()


async def test_an_api_server_that_does_not_answer_now_and_then_does_not_end_the_demo(tmp_path: Path) -> None:
    async with Forgetful(tmp_path / "stage", temporary=False) as stage:
        [result] = await perform([Step("One", (), at_the_second_look())], stage)
    assert result.passed


async def test_how_long_it_took_to_do_a_step_is_not_taken_from_the_time_in_which_it_is_to_come_true(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr("windlass.demo.performance.time", SimpleNamespace(monotonic=lambda: now))

    async def slow(_: Empty, __: Moment[Scene]) -> None:
        nonlocal now
        now += 2 * PATIENCE

    async with Empty(tmp_path / "stage", temporary=False) as stage:
        [result] = await perform([Step("One", (), at_the_second_look(), slow)], stage)
    assert result.passed
    assert result.seconds == 2 * PATIENCE


async def test_a_step_that_cannot_be_done_says_why(tmp_path: Path) -> None:
    async def unable(_: Empty, __: Moment[Scene]) -> None:
        raise PlaneError("no room on the disk: free 6 GB")

    said = await performed(tmp_path, replace(Step("One", (), done), act=unable))
    assert "'One' did not come true: no room on the disk: free 6 GB" in said


async def test_what_was_started_last_ends_first(tmp_path: Path) -> None:
    ended: list[str] = []
    async with Empty(tmp_path / "stage", temporary=False) as stage:
        for name in ("cloud", "machine-api"):
            stage.at_end(ended.append, name)
        assert ended == []
    assert ended == ["machine-api", "cloud"]
