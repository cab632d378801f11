"""Events by what changes in the record of an update."""

import pytest
from msgspec import structs

from windlass.api.update import UpdateStatus
from windlass.api.update_record import Took, Trouble
from windlass.kube.control.plan import Target
from windlass.update_status.controller.events import events
from windlass.update_status.record import Record

ABOUT = Target(UpdateStatus, "cluster")
WHEN = "2026-01-01T00:00:00Z"
BEGUN = Record(name="r", previous="4.15.9", target="4.16.1", state="Progressing", started=WHEN)
REFUSED = structs.replace(
    BEGUN, state="Refused", completed=WHEN, troubles=[Trouble(uid="request", level="Error", summary="not verified")]
)
WARNINGS = ("InsightAppeared", "UpdateSuperseded", "UpdateRefused")
POOL = structs.replace(BEGUN, pools=[Took(name="worker", started=WHEN, completed=WHEN)])


def trouble(level: str, *, resolved: str | None = None) -> Record:
    found = Trouble(uid="a", level=level, summary="etcd is degraded", first_seen=WHEN, resolved=resolved)
    return structs.replace(BEGUN, troubles=[found])


@pytest.mark.parametrize(
    ("before", "after", "reasons"),
    [
        (None, BEGUN, ["UpdateStarted"]),
        (BEGUN, BEGUN, []),
        (BEGUN, structs.replace(BEGUN, control_plane_completed=WHEN), ["ControlPlaneUpdated"]),
        (BEGUN, POOL, ["PoolUpdated"]),
        (POOL, POOL, []),
        (BEGUN, trouble("Error"), ["InsightAppeared"]),
        (BEGUN, trouble("Critical"), ["InsightAppeared"]),
        (BEGUN, trouble("Warning"), []),
        (trouble("Error"), trouble("Error"), []),
        (trouble("Error"), trouble("Error", resolved=WHEN), ["InsightResolved"]),
        (trouble("Error", resolved=WHEN), trouble("Error"), ["InsightAppeared"]),
        (trouble("Error", resolved=WHEN), trouble("Error", resolved=WHEN), []),
        (BEGUN, structs.replace(BEGUN, state="Completed"), ["UpdateCompleted"]),
        (BEGUN, structs.replace(BEGUN, state="Superseded"), ["UpdateSuperseded"]),
        (None, REFUSED, ["UpdateRefused"]),
        (REFUSED, REFUSED, []),
    ],
)
def test_each_phase_has_its_event(before: Record | None, after: Record, reasons: list[str]) -> None:
    found = list(events(ABOUT, before, after))
    assert [event.reason for event in found] == reasons
    for event in found:
        assert event.type == ("Warning" if event.reason in WARNINGS else "Normal")


def test_the_event_of_a_refusal_has_its_reason() -> None:
    (found,) = events(ABOUT, None, REFUSED)
    assert found.note == "The update to 4.16.1 was refused: not verified"
