"""How an object on OpenStack is doing, by its conditions."""

from collections.abc import Mapping
from typing import Any

import pytest

from windlass.api.meta import Condition
from windlass.openstack.view.standing import LONGEST, standing

SAID = Mapping[str, tuple[str, str, str]]
READY = ("True", "Ready", "")
NO_FLAVOR = ("False", "DependencyFailed", "no flavor matches")
RETRIED = ("True", "TransientError", "no flavor matches\nNext attempt at 12:00")
WRONG = ("False", "InvalidConfiguration", "no flavor matches\nIt is tried again within 10 minutes")
AT_WORK = ("True", "Progressing", "Creating the server")
AT_REST = ("False", "Success", "")
DEAD_END = ("False", "UnrecoverableError", "gone")
REFUSED = ("False", "WriteRefused", "webhook")
BUILDING = ("False", "InstanceNotReady", "BUILD")
UNSEEN = ("Unknown", "NotYetObserved", "Waiting for the Cluster")
PAUSED = ("True", "Paused", "Nothing is done")
LACKS = "DependencyFailed"
STUCK = ("Needs somebody", "bad")


def conditions(said: SAID) -> list[Condition]:
    return [
        Condition(type=kind, status=status, reason=reason, message=message, last_transition_time="2026-11-29T10:00:00Z")
        for kind, (status, reason, message) in said.items()
    ]


@pytest.mark.parametrize(
    ("said", "state", "tone", "reason", "message"),
    [
        ({}, "Not seen yet", "calm", "", ""),
        ({"Ready": READY, "Progressing": AT_REST}, "Ready", "good", "", ""),
        ({"Ready": READY, "BastionReady": ("False", "X", "no flavor")}, "Ready", "warn", "X", "no flavor"),
        ({"Ready": READY, "BastionReady": ("Unknown", "X", "later")}, "Ready", "good", "", ""),
        ({"Ready": NO_FLAVOR, "Progressing": RETRIED}, "Tried again", "warn", LACKS, RETRIED[2]),
        ({"Ready": NO_FLAVOR, "Progressing": WRONG}, *STUCK, LACKS, WRONG[2]),
        ({"Ready": NO_FLAVOR, "Progressing": DEAD_END}, *STUCK, LACKS, "gone"),
        ({"Ready": NO_FLAVOR, "Progressing": REFUSED}, *STUCK, LACKS, "webhook"),
        ({"Ready": BUILDING, "Progressing": AT_WORK}, "Under way", "busy", "InstanceNotReady", "BUILD"),
        ({"Ready": UNSEEN}, "Under way", "busy", "NotYetObserved", "Waiting for the Cluster"),
        ({"Ready": NO_FLAVOR}, "Not ready", "warn", LACKS, "no flavor matches"),
        ({"Ready": NO_FLAVOR, "Progressing": AT_REST}, "Not ready", "warn", LACKS, "no flavor matches"),
        ({"Ready": READY, "Paused": PAUSED}, "Paused", "calm", "Paused", "Nothing is done"),
        ({"Ready": NO_FLAVOR, "Progressing": WRONG, "Paused": PAUSED}, "Paused", "calm", "Paused", "Nothing is done"),
    ],
)
def test_the_conditions_tell_how_it_is_doing(said: SAID, state: str, tone: str, reason: str, message: str) -> None:
    found = standing(conditions(said))
    assert (found.state, found.tone, found.reason, found.message) == (state, tone, reason, message)
    assert found.needs_somebody is (tone in ("bad", "warn"))


@pytest.mark.parametrize(
    ("progressing", "state", "tone"),
    [
        (AT_WORK, "Deleting", "busy"),
        (RETRIED, "Deleting, tried again", "warn"),
        (WRONG, "Deletion is stuck", "bad"),
    ],
)
@pytest.mark.parametrize("step", [("True", "DeletingServer", "Deleting server a"), None])
def test_a_deletion_tells_its_step_and_what_stops_it(progressing: Any, state: str, tone: str, step: Any) -> None:
    said = {
        "Ready": READY,
        "Progressing": progressing,
        "Paused": ("True", "Paused", ""),
        **({"Deleting": step} if step else {}),
    }
    found = standing(conditions(said), deleting="2026-11-29T11:00:00Z")
    assert (found.state, found.tone, found.since) == (state, tone, "2026-11-29T11:00:00Z")


def test_a_message_of_a_megabyte_is_cut() -> None:
    found = standing(
        conditions({"Ready": ("False", "X" * 2**20, "word " * 2**18)}),
    )
    assert len(found.message) <= LONGEST
    assert len(found.reason) <= 100
