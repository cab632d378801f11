"""The text of the control plane."""

import pytest

from windlass.update_status.report import Health, State, Versions
from windlass.update_status.text.control_plane import control_plane as rendered
from windlass.update_status.text.control_plane import operator_health, target_version, updating_operators
from windlass.update_status.times import MINUTE, SECOND, ZERO, Duration

from .reports import NOW, PENDING, START, UPDATED, control_plane, lines, operator

DNS = operator("dns", State.PROGRESSING)
MULTI_ARCH = Versions(target="4.16.1", previous="4.16.1", multi_arch=True)


def test_an_update_that_runs() -> None:
    plane = control_plane(
        UPDATED, DNS, UPDATED, PENDING, operator("etcd", State.PROGRESSING), last_progress=START + MINUTE
    )
    assert rendered(plane, NOW) == lines("""
        = Control Plane =
        Assessment:      Progressing
        Target Version:  4.16.1 (from 4.16.0)
        Updating:        dns, etcd
        Completion:      40% (2 operators updated, 2 updating, 1 waiting)
        Duration:        14m (Est. Time Remaining: 55m)
        Operator Health: 5 Healthy
    """)


def test_without_an_operator_that_is_being_updated_the_line_is_missing() -> None:
    assert "Updating:" not in rendered(control_plane(UPDATED, PENDING), NOW)


def test_an_operator_without_a_name_leaves_the_line_out_too() -> None:
    text = rendered(control_plane(operator("", State.PROGRESSING)), NOW)
    assert "Updating:" not in text
    assert "0% (0 operators updated, 1 updating, 0 waiting)" in text


def test_an_operator_that_says_nothing_of_its_progress_is_in_no_number() -> None:
    plane = control_plane(UPDATED, DNS, operator("etcd", State.UNKNOWN))
    assert "33% (1 operators updated, 1 updating, 0 waiting)" in rendered(plane, NOW)


@pytest.mark.parametrize(
    ("updated", "of", "percent"), [(0, 33, "0%"), (1, 200, "0%"), (1, 33, "3%"), (1, 8, "12%"), (3, 8, "38%")]
)
def test_percent_are_rounded_and_halves_to_the_even_number(updated: int, of: int, percent: str) -> None:
    plane = control_plane(*[UPDATED] * updated, *[PENDING] * (of - updated))
    assert f"Completion:      {percent} (" in rendered(plane, NOW)


@pytest.mark.parametrize(
    ("passed", "assessment", "duration"),
    [
        (MINUTE, "Progressing", "1m (Est. Time Remaining: 1h11m)"),
        (51 * MINUTE, "Progressing", "51m (Est. Time Remaining: 11m)"),
        (51 * MINUTE + 40 * SECOND, "Progressing", "52m (Est. Time Remaining: 10m)"),
        (52 * MINUTE, "Progressing", "52m (Est. Time Remaining: <10m)"),
        (60 * MINUTE, "Progressing", "1h"),
        (61 * MINUTE, "Progressing - Slow", "1h1m (Est. Time Remaining: <10m)"),
        (72 * MINUTE, "Progressing - Slow", "1h12m (Est. Time Remaining: <10m)"),
        (73 * MINUTE, "Stalled", "1h13m (Est. Time Remaining: N/A; estimate duration was 1h2m)"),
    ],
)
def test_an_estimate_is_vague(passed: Duration, assessment: str, duration: str) -> None:
    text = rendered(control_plane(UPDATED, PENDING, last_progress=START + MINUTE), START + passed)
    assert f"Assessment:      {assessment}\n" in text
    assert f"Duration:        {duration}\n" in text


def test_a_migration_to_several_architectures_has_no_estimate() -> None:
    plane = control_plane(UPDATED, PENDING, versions=MULTI_ARCH)
    assert "Duration:        14m (Est. Time Remaining: N/A for Multi-Architecture Migration)" in rendered(plane, NOW)


@pytest.mark.parametrize(
    ("versions", "text"),
    [
        (Versions(target="4.16.1", previous="4.16.0"), "4.16.1 (from 4.16.0)"),
        (Versions(target="4.16.0", previous="4.16.1"), "4.16.0 (from 4.16.1)"),
        (Versions(target="4.16.1"), "4.16.1 (a new install)"),
        (Versions(target="4.16.1", previous=""), "4.16.1 (from )"),
        (Versions(target="4.16.1", previous="4.16.0", incomplete=True), "4.16.1 (from incomplete 4.16.0)"),
        (MULTI_ARCH, "4.16.1 to Multi-Architecture"),
        (
            Versions(target="4.16.1", previous="4.16.1", incomplete=True, multi_arch=True),
            "4.16.1 (from incomplete 4.16.1)",
        ),
        (None, "unknown (from unknown)"),
    ],
)
def test_versions(versions: Versions | None, text: str) -> None:
    assert target_version(versions) == text


def test_without_a_history_no_time_has_passed_and_the_usual_time_is_left() -> None:
    assert rendered(control_plane(UPDATED, PENDING, versions=None), NOW) == lines("""
        = Control Plane =
        Assessment:      Progressing
        Target Version:  unknown (from unknown)
        Completion:      50% (1 operators updated, 0 updating, 1 waiting)
        Duration:        now (Est. Time Remaining: 1h12m)
        Operator Health: 2 Healthy
    """)


def test_a_completed_control_plane_is_one_sentence() -> None:
    plane = control_plane(UPDATED, operator("etcd", health=Health.DEGRADED), completed=START + 13 * MINUTE + SECOND)
    assert rendered(plane, NOW) == lines("""
        = Control Plane =
        Update to 4.16.1 successfully completed at 2024-02-27T12:13:01Z (duration: 13m)
    """)


def test_as_long_as_its_history_has_no_end_it_is_completed_now() -> None:
    text = rendered(control_plane(UPDATED), START + 9 * MINUTE + 5 * SECOND)
    assert "completed at 2024-02-27T12:09:05Z (duration: 9m5s)\n" in text


def test_completed_without_a_history() -> None:
    text = rendered(control_plane(UPDATED, versions=None), NOW)
    assert "Update to unknown successfully completed at 0001-01-01T00:00:00Z (duration: now)\n" in text


@pytest.mark.parametrize(
    ("health", "text"),
    [
        ([Health.HEALTHY, Health.HEALTHY], "2 Healthy"),
        ([Health.HEALTHY, Health.UNAVAILABLE], "1 Healthy, 1 Unavailable"),
        ([Health.DEGRADED], "0 Healthy, 1 Available but degraded"),
        ([Health.UNAVAILABLE, Health.DEGRADED, Health.HEALTHY], "1 Healthy, 1 Unavailable, 1 Available but degraded"),
    ],
)
def test_health_of_operators(health: list[Health], text: str) -> None:
    assert operator_health([operator("dns", health=one) for one in health]) == text


def test_operators_that_are_being_updated_in_detail() -> None:
    plane = control_plane(
        UPDATED,
        operator("etcd", State.PROGRESSING, since=NOW - 45 * SECOND, reason="NodeInstaller", message="1 of 3"),
        PENDING,
        operator(
            "kube-apiserver",
            State.PROGRESSING,
            since=NOW - 2 * MINUTE - 368975,
            reason="NodeInstaller::Pending",
            message="one\ntwo\n\nfour",
        ),
        operator("dns", State.PROGRESSING, since=NOW, reason="ThisHasTwentyLetters", message=""),
        operator("auth", State.PROGRESSING, since=NOW - 368975, message="x"),
    )
    assert updating_operators(plane, NOW) == lines("""
        Updating Cluster Operators
        NAME             SINCE   REASON                 MESSAGE
        etcd             45s     NodeInstaller          1 of 3
        kube-apiserver   2m      NodeInstaller::Pe...   one
                                                        two
                                                        $
                                                        four
        dns              now     ThisHasTwentyLetters   $
        auth             6m8s    -                      x
    """)


def test_an_operator_that_never_said_since_when_has_the_longest_duration() -> None:
    assert "dns    2562047h47m16s   -" in updating_operators(
        control_plane(operator("dns", State.PROGRESSING, since=ZERO, message="x")), NOW
    )


def test_no_operator_that_is_being_updated_no_table() -> None:
    assert updating_operators(control_plane(UPDATED, PENDING), NOW) == ""
