"""A pool in one row."""

from typing import Any

import msgspec
import pytest

from tests.unit.os_build.world import pool
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.os_build.constants import IMAGE, IMAGE_CONFIG, LAYERING
from windlass.os_build.overview import State, row_of

SINCE = "2026-11-23T10:00:00Z"


def says(true: str = "", **annotations: str) -> MachineConfigPool:
    tree: dict[str, Any] = pool("worker", "rendered-worker-2", annotations={LAYERING: "", **annotations})
    vector = ("BuildPending", "Building", "BuildSuccess", "BuildFailed")
    tree["status"]["conditions"] += [
        {
            "type": each,
            "status": "True" if each == true else "False",
            "reason": "Why",
            "message": "text" if each == true or not true else "",
            "lastTransitionTime": SINCE,
        }
        for each in vector
    ]
    return msgspec.convert(tree, MachineConfigPool)


@pytest.mark.parametrize(
    ("true", "state"),
    [
        ("BuildPending", State.PENDING),
        ("Building", State.BUILDING),
        ("BuildSuccess", State.BUILT),
        ("BuildFailed", State.FAILED),
        ("", State.HELD_BACK),
    ],
)
def test_the_true_condition_is_the_state(true: str, state: State) -> None:
    row = row_of(says(true))
    assert (row.state, row.reason, row.message, row.since) == (state, "Why", "text", SINCE)


def test_an_opted_in_pool_without_conditions_was_not_seen_by_a_controller() -> None:
    seen = msgspec.convert(pool("worker", "rendered-worker-1"), MachineConfigPool)
    assert row_of(seen).state is State.UNSEEN


def test_a_pool_of_a_machine_os_config_is_claimed_even_if_it_is_not_opted_in() -> None:
    row = row_of(msgspec.convert(pool("worker", "", annotations={}), MachineConfigPool), claimed="worker")
    assert row.state is State.CLAIMED
    assert "MachineOSConfig worker" in row.message


@pytest.mark.parametrize("where", ["annotations", "labels"])
def test_a_pool_is_in_by_annotation_or_label(where: str) -> None:
    out: dict[str, Any] = {"annotations": {}}
    assert row_of(msgspec.convert(pool("worker", "", **out), MachineConfigPool)).state is State.OUT
    opted = msgspec.convert(pool("worker", "", **{**out, where: {LAYERING: ""}}), MachineConfigPool)
    assert row_of(opted).state is State.UNSEEN


@pytest.mark.parametrize(
    ("true", "built_from", "up_to_date"),
    [
        pytest.param("BuildSuccess", "rendered-worker-2", True, id="built"),
        pytest.param("BuildSuccess", "rendered-worker-1", False, id="no-controller-has-noticed-the-change"),
        pytest.param("Building", "rendered-worker-2", False, id="the-containerfile-changed"),
    ],
)
def test_an_image_of_other_inputs_is_not_up_to_date(true: str, built_from: str, up_to_date: bool) -> None:
    row = row_of(says(true, **{IMAGE: "r.example/os@sha256:ab", IMAGE_CONFIG: built_from}))
    assert row.up_to_date == up_to_date
