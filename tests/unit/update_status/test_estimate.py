"""The estimate of the control plane, by the figures that were computed with `oc`."""

import pytest
from msgspec import structs

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
        # The curve has steps at 25 % and at 90 %.
        (2499, 10000, 30, 30, 60, "57m"),
        (25, 100, 30, 30, 60, "58m"),
        (8999, 10000, 30, 30, 60, "42m"),
        (90, 100, 30, 30, 60, "39m"),
        # Below 1.2 % the curve is negative: the baseline counts, as before five minutes of progress.
        (1, 84, 30, 30, 60, "36m"),
        (50, 100, 5, 30, 60, "36m"),
        (50, 100, 5.1, 30, 60, "-14m5s"),
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


@pytest.mark.parametrize(
    ("seconds", "estimate", "assessment"),
    [
        (3600, 0, "Progressing"),
        (3601, 0, "Progressing"),
        (3602, -1, "Progressing - Slow"),
        (3600 + 720, -600, "Progressing - Slow"),
        (3600 + 722, -601, "Stalled"),
    ],
)
def test_an_overdue_update_is_judged_by_whole_seconds(seconds: int, estimate: int, assessment: str) -> None:
    found = progress(control_plane(updated=0, of=10, last_progress=1), START + seconds * SECOND)
    assert (found.estimate, found.assessment) == (estimate * SECOND, assessment)


def test_the_expected_time_is_cut_to_minutes() -> None:
    found = progress(control_plane(updated=0, of=10, last_progress=1), START + 119 * SECOND)
    assert (found.estimate, found.expected) == (70 * MINUTE, 71 * MINUTE)


def test_a_start_that_is_missing_was_as_long_ago_as_a_duration_can_be() -> None:
    plane = structs.replace(control_plane(updated=0, of=10, last_progress=1), started=ZERO)
    found = progress(plane, START)
    assert (found.duration, found.assessment) == (9223372020 * SECOND, "Stalled")


def test_a_baseline_out_of_all_bounds_wraps_around_as_in_go() -> None:
    plane = structs.replace(control_plane(updated=0, of=10, last_progress=1), baseline=2**63 - 1)
    found = progress(plane, START + 30 * MINUTE)
    assert (found.estimate, found.assessment) == (-7378699790 * SECOND, "Stalled")


def test_without_a_history_the_usual_time_is_left() -> None:
    plane = structs.replace(control_plane(updated=3, of=10, last_progress=30), versions=None)
    found = progress(plane, START + 40 * MINUTE)
    assert (found.assessment, found.duration, short(found.estimate)) == ("Progressing", 0, "1h12m")


def test_a_completed_control_plane_took_until_it_was_completed() -> None:
    plane = control_plane(updated=10, of=10, last_progress=30, completed=START + 95 * MINUTE + 12 * SECOND)
    found = progress(plane, START + 1000 * MINUTE)
    assert (found.assessment, short(found.duration), found.estimate) == ("Completed", "1h35m", 0)


def test_a_control_plane_without_operators_is_completed() -> None:
    assert progress(control_plane(updated=0, of=0, last_progress=1), START).assessment == "Completed"
