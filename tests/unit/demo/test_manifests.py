"""What the commands of a demo apply is shipped with it."""

import re
from collections.abc import Sequence
from importlib import resources
from typing import Any

import pytest

from windlass.demo import stage
from windlass.demo.story import Step
from windlass.machine_sync.demo.stage import Stage as MachineSync
from windlass.machine_sync.demo.story import STORY as MACHINE_SYNC
from windlass.openstack.demo.stage import Stage as OpenStack
from windlass.openstack.demo.story import STORY as OPENSTACK
from windlass.update_status.demo.stage import Stage as UpdateStatus
from windlass.update_status.demo.story import STORY as UPDATE_STATUS

DEMOS = [(MachineSync, MACHINE_SYNC), (OpenStack, OPENSTACK), (UpdateStatus, UPDATE_STATUS)]


@pytest.mark.parametrize(("kind", "story"), DEMOS)
def test_every_manifest_that_a_step_applies_is_there(
    kind: type[stage.Stage[Any]], story: Sequence[Step[Any, Any]]
) -> None:
    commands = [command for step in story for command in step.commands if command.startswith("kubectl apply ")]
    applied = re.findall(r"-f ([\w-]+\.yaml)", "\n".join(commands))
    folders = [resources.files(package).joinpath("manifests") for package in (kind.MANIFESTS, "windlass.demo")]
    assert len(applied) > 1
    assert [name for name in applied if not any(folder.joinpath(name).is_file() for folder in folders)] == []
