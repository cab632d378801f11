"""Which builders were lost in mid-build."""

import pytest

from tests.unit.os_build.machine_os.samples import NOW, build, claim, machine_os_build
from windlass.os_build.builder import BuildState, Phase
from windlass.os_build.machine_os import events
from windlass.os_build.machine_os.conditions import State
from windlass.os_build.request import BackendName

NAME = machine_os_build().metadata.name


def builder(phase: Phase, *, inputs: str = f"{NAME}.uid-1") -> BuildState:
    return BuildState(
        name="build-1", backend=BackendName.JOB, pool="worker", inputs=inputs, phase=phase, started=NOW, ended=NOW
    )


@pytest.mark.parametrize(
    ("state", "lost", "told"),
    [
        (State.BUILDING, builder(Phase.INTERRUPTED), ["BuildInterrupted"]),
        (State.PREPARED, builder(Phase.INTERRUPTED), ["BuildInterrupted"]),
        (State.INITIAL, builder(Phase.INTERRUPTED), []),
        (State.BUILDING, builder(Phase.FAILED), []),
        (State.BUILDING, builder(Phase.INTERRUPTED, inputs="another.uid-2"), []),
    ],
    ids=["in-mid-build", "before-it-ran", "refused", "failed", "of-another-build"],
)
def test_only_a_builder_that_there_was_interrupts_its_build(state: State, lost: BuildState, told: list[str]) -> None:
    found = events.interrupted(claim(build(state, uid="uid-1")), lost)
    assert [each.reason for each in found] == told
