"""The picture of a demo: few lines, in a width at which a README shows them in their own size."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.text import Text

from windlass.demo.looks import Columns
from windlass.demo.performance import Played
from windlass.demo.picture import MOST_LINES, WIDTH, Picture, TooLong
from windlass.demo.story import Moment, Observed, Step
from windlass.machine_sync.demo.story import STORY

COLUMNS: Columns[list[str]] = Columns(
    ("MACHINE", "ADDRESS"), (10, 0), lambda scene: [[Text(name), Text("10.0.0.1")] for name in scene], pictured=1
)
ROOT = Path(__file__).parents[3]


def step(title: str, *commands: str, pictured: bool = True) -> Step[Any, list[str]]:
    return Step(title, commands, expect=lambda _, __: "done", pictured=pictured)


def drawn(file: Path, *steps: Step[Any, list[str]], text: str = "done") -> ElementTree.Element:
    """The picture of a demo in which each step adds a machine."""
    picture = Picture(COLUMNS, steps=len(steps), command="make demo")
    performed, scene = [], ["machine-0"]
    for number, one in enumerate(steps, start=1):
        picture.begin(number, one, Moment(scene))
        scene = [*scene, f"machine-{number}"]
        performed.append(Played(one, Observed(True, text), 1.5))
        picture.end(performed[-1], scene)
    picture.draw(file, performed, seconds=12.3)
    return ElementTree.parse(file).getroot()


def words(image: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in image.iter("{http://www.w3.org/2000/svg}text")]


def test_it_has_the_pictured_steps_with_what_they_changed(tmp_path: Path) -> None:
    image = drawn(tmp_path / "it.svg", step("Wait", pictured=False), step("Scale", "kubectl scale <a> & go"))

    said = words(image)
    assert said[2:-1] == ["2/2", "Scale", "$", "kubectl scale <a> & go", "MACHINE", "machine-2", "ok", "done", "1.5 s"]
    assert said[-1] == "All 2 steps came true in 12 s."
    assert "10.0.0.1" not in said, "the picture has only the pictured columns"


def test_no_line_is_wider_than_the_picture(tmp_path: Path) -> None:
    image = drawn(tmp_path / "it.svg", step("Say much", "x" * 150), text="much " * 40)

    for text in image.iter("{http://www.w3.org/2000/svg}text"):
        assert float(text.attrib["x"]) + float(text.attrib["textLength"]) <= WIDTH


def test_a_picture_that_nobody_would_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TooLong, match=f"at most {MOST_LINES}"):
        drawn(tmp_path / "it.svg", *(step(f"Step {number}") for number in range(8)))


def test_the_picture_of_the_readme_is_the_one_that_the_demo_draws() -> None:
    image = ElementTree.parse(ROOT / "docs" / "demo.svg").getroot()

    lines = {text.attrib["y"] for text in image.iter("{http://www.w3.org/2000/svg}text")}
    assert len(lines) <= MOST_LINES
    said = " ".join(words(image))
    for number, one in enumerate(STORY, start=1):
        assert (f"{number}/{len(STORY)} {one.title}" in said) == one.pictured
    assert re.search(r"All \d+ steps came true in \d+ s\.$", said)
    assert "(docs/demo.svg)" in (ROOT / "README.md").read_text(encoding="utf-8")
