"""How a scene that is a text looks in a log and on a terminal; rows are in the tests of the demo that has them."""

import re
from io import StringIO
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from rich.console import Console

from windlass.demo.looks import Page
from windlass.demo.performance import Played
from windlass.demo.picture import Picture
from windlass.demo.story import Moment, Observed, Step
from windlass.demo.view import LinesView, TableView

PAGE: Page[str] = Page(lambda scene: scene, pictured=lambda scene: scene.partition("\n")[0])


STEP: Step[Any, str] = Step("Wait", ("true",), expect=lambda _, __: "done")


def shown(view: type[LinesView[str]], *scenes: str, terminal: bool) -> list[str]:
    """What the view prints for a step that goes through these scenes, without control sequences."""
    console = Console(file=StringIO(), width=40, force_terminal=terminal, color_system=None)
    look = view(console, PAGE, steps=1)
    look.begin(1, STEP, Moment(""))
    for scene in scenes[:-1]:
        look.show(scene, Observed(False, "not yet"))
    look.show(scenes[-1], Observed(True, "done"))
    look.end(Played(STEP, Observed(True, "done"), 1.5), scenes[-1])
    assert isinstance(console.file, StringIO)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", console.file.getvalue()).splitlines()


def test_a_log_has_the_text_once_at_the_end_of_a_step() -> None:
    assert shown(LinesView, "half", "all\n\nof it   \n", terminal=False) == [
        "",
        " 1/1 Wait",
        "      $ true",
        "      all",
        "",
        "      of it",
        "      ok  done  1.5 s",
    ]


def test_a_terminal_has_the_text_as_it_changes_and_at_the_end_of_a_step() -> None:
    lines = [line.strip() for line in shown(TableView, "half", "all", terminal=True)]
    assert any("half" in line for line in lines)
    assert any("waiting: not yet" in line for line in lines)
    assert lines[-2:] == ["all", "ok  done  1.5 s"]


def test_no_line_of_a_text_is_cut_except_in_the_picture(tmp_path: Path) -> None:
    assert f"      {'x' * 150}" in shown(LinesView, "x" * 150, terminal=False)
    # The last that a terminal shows stays; the live text before it may be cut.
    assert "".join(line.strip() for line in shown(TableView, "x" * 150, terminal=True)[-6:]).count("x") >= 150

    picture = Picture(PAGE, steps=1, command="make it")
    picture.begin(1, replace(STEP, pictured=True), Moment(""))
    picture.end(Played(STEP, Observed(True, "done"), 1.5), f"{'x' * 150}\nmore")
    picture.draw(tmp_path / "it.svg", [], seconds=1)
    image = (tmp_path / "it.svg").read_text(encoding="utf-8")
    assert ">make it<" in image
    assert re.search(r">x{80,94}…<", image)
    assert "more" not in image


def test_a_scene_with_nothing_to_say_takes_no_line() -> None:
    assert shown(LinesView, "", terminal=False)[-2:] == ["      $ true", "      ok  done  1.5 s"]
    assert PAGE.whole("") is None
