"""The state of a build from an OpenShift Build, as tables."""

from typing import Any

import msgspec
import pytest

from windlass.api.build import Build
from windlass.os_build.backends.openshift_state import says
from windlass.os_build.builder import BuildState, Cause, Phase
from windlass.os_build.request import BackendName

DIGEST = "sha256:" + "ab" * 32


KNOWN = BuildState(name="b", backend=BackendName.OPENSHIFT, pool="worker", inputs="i", phase=Phase.PENDING)


def build(**status: Any) -> Build:
    tree = {
        "metadata": {"name": "b", "creationTimestamp": "2026-11-23T12:00:00Z"},
        "spec": {"completionDeadlineSeconds": 2400},
        "status": status,
    }
    return msgspec.convert(tree, Build)


def state_of(found: Build) -> BuildState:
    return says(found, KNOWN)


@pytest.mark.parametrize(
    ("phase", "state"),
    [
        pytest.param("", Phase.PENDING, id="not seen by OpenShift"),
        pytest.param("New", Phase.PENDING, id="New"),
        pytest.param("Pending", Phase.PENDING, id="Pending"),
        pytest.param("Running", Phase.RUNNING, id="Running"),
        pytest.param("Complete", Phase.SUCCEEDED, id="Complete"),
        pytest.param("Failed", Phase.FAILED, id="Failed"),
        pytest.param("Error", Phase.FAILED, id="Error"),
        pytest.param("Cancelled", Phase.FAILED, id="Cancelled"),
    ],
)
def test_phases(phase: str, state: Phase) -> None:
    assert state_of(build(phase=phase)).phase == state


REFUSED = "error: build error: Failed to push image: unauthorized: authentication required"
STEP = 'error: build error: building at STEP "RUN false": while running runtime: exit status 1'


@pytest.mark.parametrize(
    ("reason", "log", "cause"),
    [
        pytest.param("DockerBuildFailed", STEP, Cause.STEP, id="a step"),
        pytest.param("DockerBuildFailed", "error: build error: no space left on device", Cause.DISK, id="disk"),
        pytest.param("GenericBuildFailed", STEP, Cause.STEP, id="generic, and the log says more"),
        pytest.param("GenericBuildFailed", "", Cause.UNKNOWN, id="generic"),
        pytest.param("PullBuilderImageFailed", "error: manifest unknown", Cause.IMAGE_NOT_FOUND, id="no base image"),
        pytest.param("PullBuilderImageFailed", "error: unauthorized", Cause.PULL_DENIED, id="base image refused"),
        pytest.param("FetchImageContentFailed", "error: connection refused", Cause.UNREACHABLE, id="image content"),
        pytest.param("PushImageToRegistryFailed", REFUSED, Cause.PUSH_DENIED, id="push refused"),
        pytest.param("PushImageToRegistryFailed", "error: i/o timeout", Cause.UNREACHABLE, id="push without answer"),
        pytest.param("ManageDockerfileFailed", "error: x", Cause.CONTAINERFILE, id="the Containerfile"),
        pytest.param("CancelledBuild", "", Cause.CANCELLED, id="cancelled"),
        pytest.param("OutOfMemoryKilled", "", Cause.UNKNOWN, id="memory"),
        pytest.param("CannotCreateBuildPod", "", Cause.UNKNOWN, id="no Pod"),
        pytest.param("SomethingNew", "", Cause.UNKNOWN, id="a reason that is not known here"),
    ],
)
def test_causes(reason: str, log: str, cause: Cause) -> None:
    said = state_of(build(phase="Failed", reason=reason, message="what OpenShift says", logSnippet=log))
    assert said.failed is not None
    assert said.failed.cause == cause
    assert said.failed.tail == (log or f"{reason}: what OpenShift says")


@pytest.mark.parametrize("reason", ["BuildPodEvicted", "BuildPodDeleted", "NoBuildContainerStatus"])
def test_a_pod_that_was_lost_is_no_failure(reason: str) -> None:
    said = state_of(build(phase="Error", reason=reason, message="it is gone"))
    assert (said.phase, said.failed, said.note) == (Phase.INTERRUPTED, None, f"{reason}: it is gone")


@pytest.mark.parametrize(
    ("ended", "log", "cause"),
    [
        pytest.param("2026-11-23T12:40:00Z", "", Cause.DEADLINE, id="as old as it may be"),
        pytest.param("2026-11-23T12:39:59Z", "", Cause.UNKNOWN, id="younger"),
        pytest.param("2026-11-23T12:50:00Z", STEP, Cause.STEP, id="old, and the log says why"),
    ],
)
def test_a_generic_failure_of_an_old_build_is_its_deadline(ended: str, log: str, cause: Cause) -> None:
    said = state_of(build(phase="Failed", reason="GenericBuildFailed", completionTimestamp=ended, logSnippet=log))
    assert said.failed is not None
    assert said.failed.cause == cause


def test_the_digest_may_be_missing_of_an_image_that_was_pushed() -> None:
    assert state_of(build(phase="Complete", output={"to": {"imageDigest": DIGEST}})).digest == DIGEST
    assert state_of(build(phase="Complete", output={})).digest == ""


def test_a_pending_build_says_what_it_waits_for() -> None:
    said = state_of(build(phase="New", reason="MissingPushSecret", message="secret \x1b[31mpush\x1b[0m does not exist"))
    assert said.note == "waits: MissingPushSecret: secret push does not exist"


@pytest.mark.parametrize(("phase", "ending"), [("Running", True), ("New", True), ("Complete", False)])
def test_a_build_that_is_to_be_cancelled_is_ending_until_it_is_over(phase: str, ending: bool) -> None:
    assert state_of(build(phase=phase, cancelled=True)).ending == ending
