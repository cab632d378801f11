"""What people hear when the update that is shown may be old."""

from typing import Any

import pytest

from windlass.api.update import OwnCondition, UpdateStatus, UpdateStatusStatus
from windlass.kube.cache.health import FollowStage, Pulse
from windlass.update_status.document import write
from windlass.update_status.report import ControlPlane, Report, Versions
from windlass.update_status.times import SECOND, moment
from windlass.update_status.view.troubles import INSTALL, changed, troubles

RENEWED = "2026-11-22T23:34:28.000000Z"
NOW = moment(RENEWED)


def pulse(stage: FollowStage = FollowStage.WATCHING, *, error: str = "", failing: float | None = None) -> Pulse:
    return Pulse(stage, 1.0, 1.0, True, error=error, failing_seconds=failing)


def condition(kind: Any, status: Any, reason: Any = "SourcesMissing") -> OwnCondition:
    return OwnCondition(type=kind, status=status, reason=reason, message="m", last_transition_time=RENEWED)


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        (pulse(), []),
        (pulse(FollowStage.BACKING_OFF, error="refused", failing=1.0), []),
        (pulse(FollowStage.BACKING_OFF, error="refused", failing=3.0), ["updatestatuses cannot be read: refused"]),
        (pulse(FollowStage.WATCHING, error="refused"), []),
        (
            pulse(FollowStage.NOT_SERVED),
            [f"the cluster has no UpdateStatus API: {INSTALL}"],
        ),
    ],
)
def test_a_watch_that_fails_for_longer_than_a_moment_is_told(seen: Pulse, told: list[str]) -> None:
    assert troubles(None, [(UpdateStatus, seen)], silence="ignored") == told


@pytest.mark.parametrize(
    ("one", "told"),
    [
        (condition("Available", "True", "AsExpected"), False),
        (condition("Available", "False"), True),
        (condition("Degraded", "True"), True),
        (condition("Degraded", "False", "AsExpected"), False),
        (condition("Truncated", "True", "LeftOut"), True),
        (condition("InformersDegraded", "True", "NotAnswering"), True),
    ],
)
def test_what_the_controller_says_of_itself_is_told_if_it_is_bad(one: OwnCondition, told: bool) -> None:
    said = troubles(UpdateStatusStatus(conditions=(one,)), [], silence="")
    assert said == ([f"{one.type} of the UpdateStatus is {one.status} ({one.reason}): m"] if told else [])


def test_a_silent_controller_is_told_with_the_rest() -> None:
    assert troubles(UpdateStatusStatus(), [(UpdateStatus, pulse())], silence="silent") == ["silent"]


def test_an_object_changed_when_its_controller_last_saw_something_new() -> None:
    """Not when somebody began to look at it."""
    assert changed(UpdateStatusStatus()) == ""
    status = UpdateStatusStatus(conditions=(condition("Available", "True"),))
    assert moment(changed(status)) == NOW
    plane = ControlPlane(
        updating="True",
        message="",
        since=NOW,
        versions=Versions(target="4.16.1", previous="4.16.0"),
        started=NOW,
        baseline=60 * SECOND,
        operators=(),
    )
    report = Report(control_plane=plane)
    first = write(report, now=NOW + 60 * SECOND)
    assert moment(changed(first)) == NOW + 60 * SECOND
    assert changed(write(report, now=NOW + 120 * SECOND, previous=first)) == changed(first)
