"""A pool in one row."""

from datetime import datetime
from typing import Any

import msgspec
import pytest

from tests.unit.os_build.world import pool
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.api.machineosconfig import MachineOSBuild, MachineOSConfig
from windlass.os_build.constants import IMAGE, IMAGE_CONFIG, LAYERING
from windlass.os_build.machine_os.conditions import State as BuildIs
from windlass.os_build.machine_os.conditions import vector
from windlass.os_build.overview import State, row_of, row_of_claim

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


IMAGE_OF = "registry.example.com/org/os@sha256:" + "ab" * 32
NOTHING: dict[str, MachineOSBuild] = {}


def claimed_pool(degraded: tuple[str, str] | None = None) -> MachineConfigPool:
    tree: dict[str, Any] = pool("worker", "rendered-worker-2", annotations={})
    if degraded:
        told = {"type": "ImageBuildDegraded", "status": degraded[0], "reason": degraded[1], "message": "on the pool"}
        tree["status"]["conditions"] += [{**told, "lastTransitionTime": SINCE}]
    return msgspec.convert(tree, MachineConfigPool)


def of(state: BuildIs, *, config: str = "rendered-worker-2", name: str = "worker-2") -> dict[str, MachineOSBuild]:
    status: dict[str, Any] = {"conditions": msgspec.to_builtins(vector(state, now=datetime.fromisoformat(SINCE)))}
    if state is BuildIs.SUCCEEDED:
        status["digestedImagePushSpec"] = IMAGE_OF
    tree = {"metadata": {"name": name}, "spec": {"machineConfig": {"name": config}}, "status": status}
    return {name: msgspec.convert(tree, MachineOSBuild)}


def asks(*, image: str = "") -> MachineOSConfig:
    status = {"currentImagePullSpec": image, "machineOSBuild": {"name": "worker-2"}}
    return msgspec.convert({"metadata": {"name": "of-worker"}, "status": status}, MachineOSConfig)


@pytest.mark.parametrize(
    ("builds", "degraded", "state", "reason"),
    [
        pytest.param(of(BuildIs.INITIAL), None, State.PENDING, "", id="new"),
        pytest.param(of(BuildIs.PREPARED), None, State.PENDING, "Prepared", id="prepared"),
        pytest.param(of(BuildIs.BUILDING), ("False", "Building"), State.BUILDING, "Building", id="building"),
        pytest.param(of(BuildIs.FAILED), ("True", "BuildFailed"), State.FAILED, "Failed", id="failed"),
        pytest.param(of(BuildIs.INTERRUPTED), None, State.PENDING, "Interrupted", id="interrupted"),
        pytest.param(of(BuildIs.SUCCEEDED), ("False", "BuildSuccess"), State.BUILT, "Ready", id="built"),
        pytest.param(
            of(BuildIs.PREPARED), ("True", "BuilderUnschedulable"), State.PENDING, "BuilderUnschedulable", id="waits"
        ),
        pytest.param(
            of(BuildIs.INITIAL), ("True", "SecretMissing"), State.PENDING, "SecretMissing", id="held before it begins"
        ),
        pytest.param(NOTHING, ("True", "BuilderRefused"), State.PENDING, "BuilderRefused", id="refused at once"),
        pytest.param(NOTHING, None, State.UNSEEN, "", id="nobody has seen it"),
        pytest.param(
            of(BuildIs.SUCCEEDED, config="rendered-worker-1"), None, State.UNSEEN, "", id="of an earlier configuration"
        ),
        pytest.param(None, ("True", "BuildFailed"), State.FAILED, "BuildFailed", id="builds may not be listed"),
        pytest.param(None, ("False", "BuildSuccess"), State.BUILT, "BuildSuccess", id="the same, and it is built"),
    ],
)
def test_the_build_of_a_machine_os_config_is_the_state(
    builds: dict[str, MachineOSBuild] | None, degraded: tuple[str, str] | None, state: State, reason: str
) -> None:
    row = row_of_claim(claimed_pool(degraded), asks(), builds)
    assert (row.state, row.reason, row.claimed_by) == (state, reason, "of-worker")
    assert not (degraded and degraded[0] == "True" and reason != "Failed") or row.message == "on the pool"


def test_a_configuration_with_the_image_of_another_one_has_that_image() -> None:
    both = {**of(BuildIs.SUCCEEDED, config="rendered-worker-1", name="worker-1"), **of(BuildIs.SUCCEEDED)}
    row = row_of_claim(claimed_pool(), asks(image=IMAGE_OF), both)
    assert (row.image, row.image_config, row.up_to_date) == (IMAGE_OF, "rendered-worker-2", True)


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
