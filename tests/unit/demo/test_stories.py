"""The stories of all demos: their commands can be typed, what they apply is shipped, and no step is true too early."""

import re
from collections.abc import Sequence
from importlib import import_module, resources
from typing import Any

import pytest

from tests.unit.scenes import missing
from windlass.cli.demo import DEMOS
from windlass.demo.performance import Demo
from windlass.demo.story import Moment

LOADED: Sequence[Demo[Any, Any]] = [import_module(name).DEMO for name in DEMOS.values()]


@pytest.fixture(params=LOADED, ids=[*DEMOS])
def demo(request: pytest.FixtureRequest) -> Demo[Any, Any]:
    loaded: Demo[Any, Any] = request.param
    return loaded


def test_every_manifest_that_a_step_applies_is_there(demo: Demo[Any, Any]) -> None:
    commands = [command for step in demo.story for command in step.commands if command.startswith("kubectl apply ")]
    # The stage writes these: the Machine Config Operator's part, and what names a port.
    applied = {*re.findall(r"-f ([\w-]+\.yaml)", "\n".join(commands))} - {"60-motd.yaml", "70-mirror.yaml"}
    folders = [resources.files(package).joinpath("manifests") for package in (demo.stage.MANIFESTS, "windlass.demo")]
    assert [name for name in applied if not any(folder.joinpath(name).is_file() for folder in folders)] == []


def test_no_step_has_come_true_before_anything_was_done(demo: Demo[Any, Any]) -> None:
    nothing = demo.stage.opening
    assert [step.title for step in demo.story if not missing(step.expect, nothing, Moment(nothing, "m"))] == []


def test_the_commands_of_a_step_name_its_object(demo: Demo[Any, Any]) -> None:
    assert not any("NAME" in command for step in demo.story for command in step.typed(Moment(None, "m")))
