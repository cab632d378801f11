"""`windlass os-build rebuild --wait`: how the end of the build is told."""

from datetime import datetime
from typing import Any

import msgspec
import pytest

from tests.unit.os_build.world import pool
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.api.machineosconfig import MachineOSBuild, MachineOSConfig
from windlass.os_build.cli.rebuilding import verdict, verdict_of_claim
from windlass.os_build.constants import IMAGE, IMAGE_INPUTS, LAYERING, REBUILD
from windlass.os_build.identity import rebuild_of
from windlass.os_build.machine_os.conditions import State as BuildIs
from windlass.os_build.machine_os.conditions import vector
from windlass.os_build.overview import Claims, row_of

ASKED = "2026-11-23T10:00:00Z"
BEFORE, AFTER = "2026-11-23T09:59:59Z", "2026-11-23T10:00:05Z"


def state(
    true: str = "", *, reason: str = "StepFailed", since: str = AFTER, asked: str = ASKED, **annotations: str
) -> MachineConfigPool:
    tree: dict[str, Any] = pool("worker", "rendered-worker-1", annotations={LAYERING: "", **annotations})
    if asked:
        tree["metadata"]["annotations"][REBUILD] = asked
    tree["status"]["conditions"] = [
        {"type": each, "status": str(each == true), "reason": reason, "message": "m", "lastTransitionTime": since}
        for each in ("BuildPending", "Building", "BuildSuccess", "BuildFailed")
    ]
    return msgspec.convert(tree, MachineConfigPool)


def recorded(asked: str) -> dict[str, str]:
    return {IMAGE: "r.example/os@sha256:ab", IMAGE_INPUTS: f"0123.{rebuild_of(asked)}"}


OLD = row_of(state("BuildFailed", since=BEFORE))


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(state("Building"), id="it-runs"),
        pytest.param(state("BuildSuccess", **recorded("an earlier request")), id="the-image-is-that-of-before"),
        pytest.param(state("BuildSuccess", **{IMAGE_INPUTS: "0123"}), id="the-image-of-no-request"),
        pytest.param(state("BuildFailed", since=BEFORE), id="the-failure-is-that-of-before"),
    ],
)
def test_it_goes_on_waiting(found: MachineConfigPool) -> None:
    assert verdict(found, asked=ASKED, before=OLD) is None


def test_the_image_of_this_request_ends_it_well() -> None:
    found = state("BuildSuccess", **recorded(ASKED))
    assert verdict(found, asked=ASKED, before=OLD) == ("built r.example/os@sha256:ab", True)


@pytest.mark.parametrize(
    ("found", "text"),
    [
        pytest.param(state("BuildFailed"), "m", id="the-build-failed"),
        pytest.param(
            state("BuildFailed", reason="ConfigurationInvalid", since=BEFORE), "m", id="no-build-can-change-it"
        ),
        pytest.param(state("Building", asked="another"), "somebody else has changed it", id="another-request"),
        pytest.param(state("Building", asked=""), "somebody else has changed it", id="the-request-is-withdrawn"),
    ],
)
def test_it_ends_badly_with_the_reason(found: MachineConfigPool, text: str) -> None:
    ended = verdict(found, asked=ASKED, before=OLD)
    assert ended is not None
    assert text in ended[0]
    assert not ended[1]


def test_a_failure_of_a_pool_that_had_none_is_of_this_build() -> None:
    before = row_of(state("BuildSuccess", since=AFTER))
    assert verdict(state("BuildFailed", since=AFTER), asked=ASKED, before=before) == ("m", False)


def test_a_pool_that_is_opted_out_meanwhile_gets_no_image() -> None:
    out = msgspec.convert(pool("worker", "", annotations={REBUILD: ASKED}), MachineConfigPool)
    assert verdict(out, asked=ASKED, before=OLD) == ("the pool was opted out", False)


IMAGE_OF = "registry.example.com/org/os@sha256:" + "ab" * 32


def claims(state: BuildIs | None, *, asked: str = ASKED, taken: bool = True, named: bool = True) -> Claims:
    """A MachineOSConfig whose builder has taken the request, and the MachineOSBuild that followed, if it is there."""
    annotations = {} if taken else {REBUILD: asked}
    status: dict[str, Any] = {"machineOSBuild": {"name": "worker-1"}}
    of_build: dict[str, Any] = {}
    if state is not None:
        of_build["conditions"] = msgspec.to_builtins(vector(state, now=datetime.fromisoformat(AFTER), why="m"))
    if state is BuildIs.SUCCEEDED:
        status["currentImagePullSpec"] = of_build["digestedImagePushSpec"] = IMAGE_OF
    config = {"metadata": {"name": "w", "annotations": annotations}, "status": status}
    build = {
        "metadata": {"name": "worker-1", "annotations": {REBUILD: asked}},
        "spec": {"machineConfig": {"name": "rendered-worker-1"}},
        "status": of_build,
    }
    return Claims(
        {"worker": msgspec.convert(config, MachineOSConfig)} if named else {},
        {"worker-1": msgspec.convert(build, MachineOSBuild)} if state is not None else {},
    )


@pytest.mark.parametrize(
    ("found", "ended"),
    [
        pytest.param(claims(BuildIs.FAILED, taken=False), None, id="nobody-has-taken-the-request"),
        pytest.param(claims(None), None, id="no-build-yet"),
        pytest.param(claims(BuildIs.BUILDING), None, id="it-builds"),
        pytest.param(claims(BuildIs.SUCCEEDED), (f"built {IMAGE_OF}", True), id="built"),
        pytest.param(claims(BuildIs.FAILED), ("m", False), id="failed"),
        pytest.param(
            claims(BuildIs.BUILDING, named=False), ("no MachineOSConfig names the pool any more", False), id="unclaimed"
        ),
    ],
)
def test_of_a_pool_with_a_machine_os_config_its_build_tells(found: Claims, ended: tuple[str, bool] | None) -> None:
    claimed = msgspec.convert(pool("worker", "rendered-worker-1", annotations={}), MachineConfigPool)
    assert verdict_of_claim(claimed, found, asked=ASKED) == ended


def test_a_request_of_somebody_else_ends_the_waiting_for_a_machine_os_build() -> None:
    claimed = msgspec.convert(pool("worker", "rendered-worker-1", annotations={}), MachineConfigPool)
    ended = verdict_of_claim(claimed, claims(BuildIs.SUCCEEDED, asked="another"), asked=ASKED)
    assert ended is not None
    assert "somebody else has changed it" in ended[0]
