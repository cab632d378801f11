"""The estimate of the control plane, by the figures that were computed with `oc`."""

import pytest

from windlass.update_status.estimate import progress
from windlass.update_status.report import ControlPlane, Health, Operator, State, Versions
from windlass.update_status.times import MINUTE, SECOND, ZERO, moment, short

START = moment("2024-02-27T12:00:00Z")


def control_plane(
    *, updated: int, of: int, last_progress: float, baseline: float = 60, completed: int | None = None
) -> ControlPlane:
    operators = tuple(
        Operator(
            name=f"o{number}",
            state=State.UPDATED if number < updated else State.PENDING,
            health=Health.HEALTHY,
            since=ZERO,
            health_since=ZERO,
        )
        for number in range(of)
    )
    return ControlPlane(
        updating="True",
        since=START,
        versions=Versions(target="4.16.0", previous="4.15.0"),
        started=START,
        completed=completed,
        last_progress=START + int(last_progress * MINUTE),
        baseline=int(baseline * MINUTE),
        operators=operators,
    )


@pytest.mark.parametrize(
    ("updated", "of", "last_progress", "passed", "baseline", "left"),
    [
        (0, 100, 30, 30, 60, "36m"),
        (0, 100, 30, 31, 60, "35m"),
        (20, 100, 30, 30, 60, "1h9m"),
        (20, 100, 30, 35, 60, "1h3m"),
        (75, 100, 30, 30, 60, "50m"),
        (99, 100, 20, 20, 60, "4m50s"),
        (5, 100, 4, 10, 80, "1h24m"),
        (100, 100, 30, 30, 60, "now"),
    ],
)
def test_the_remaining_time(
    updated: int, of: int, last_progress: float, passed: float, baseline: float, left: str
) -> None:
    plane = control_plane(updated=updated, of=of, last_progress=last_progress, baseline=baseline)
    assert short(progress(plane, START + int(passed * MINUTE)).estimate) == left


@pytest.mark.parametrize(
    ("minutes", "assessment"),
    [(60, "Progressing"), (60.5, "Progressing - Slow"), (72, "Progressing - Slow"), (73, "Stalled")],
)
def test_an_overdue_update_is_slow_and_then_stalled(minutes: float, assessment: str) -> None:
    plane = control_plane(updated=0, of=10, last_progress=1)
    assert progress(plane, START + int(minutes * MINUTE)).assessment == assessment


def test_a_completed_control_plane_took_until_it_was_completed() -> None:
    plane = control_plane(updated=10, of=10, last_progress=30, completed=START + 95 * MINUTE + 12 * SECOND)
    found = progress(plane, START + 1000 * MINUTE)
    assert (found.assessment, short(found.duration), found.estimate) == ("Completed", "1h35m", 0)


def test_a_control_plane_without_operators_is_completed() -> None:
    assert progress(control_plane(updated=0, of=0, last_progress=1), START).assessment == "Completed"
