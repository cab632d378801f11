"""`windlass os-build rebuild --wait`: how the end of the build is told."""

from typing import Any

import msgspec
import pytest

from tests.unit.os_build.world import pool
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.os_build.cli.rebuilding import verdict
from windlass.os_build.constants import IMAGE, IMAGE_INPUTS, LAYERING, REBUILD
from windlass.os_build.identity import rebuild_of
from windlass.os_build.overview import row_of

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
