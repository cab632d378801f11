"""The text of insights."""

import pytest
from msgspec import structs

from windlass.update_status.report import Level, Reference
from windlass.update_status.text.health import health, health_in_detail, since_when
from windlass.update_status.times import MINUTE, SECOND, ZERO

from .reports import NOW, START, control_plane, insight, lines, report

FINE = lines("""
    = Update Health =
    SINCE   LEVEL   IMPACT   MESSAGE
    14m     Info    None     Update is proceeding well
""")


def test_without_insights_the_update_is_proceeding_well() -> None:
    assert health(report(), NOW) == FINE
    assert health_in_detail(report(), NOW) == FINE


def test_its_age_is_rounded_to_seconds() -> None:
    assert "\n14m1s " in health(report(), NOW + SECOND // 2)
    assert "\n14m " in health(report(), NOW + SECOND // 2 - 1)


@pytest.mark.parametrize(
    ("started", "now", "shown"),
    [(ZERO, ZERO, "-"), (ZERO, NOW, "2562047h47m16s"), (NOW, ZERO, "2562047h47m16s"), (NOW, NOW - MINUTE, "-1m")],
    ids=["no times at all", "no start", "only a start", "a start in the future"],
)
def test_its_age_without_some_times_is_what_oc_makes_of_it(started: int, now: int, shown: str) -> None:
    found = report(structs.replace(control_plane(), started=started))
    assert f"\n{shown} " in health(found, now)


def test_insights_that_lack_a_text_are_left_out() -> None:
    whole = insight("a")
    for lacking in ("summary", "description", "reference"):
        found = report(insights=(structs.replace(whole, **{lacking: ""}),))
        assert health(found, NOW) == FINE
        assert health_in_detail(found, NOW) == FINE


def test_the_worst_comes_first_then_the_newest_and_of_unknown_age_last() -> None:
    found = report(
        insights=(
            insight("first of the same age", started=START),
            insight("without age", started=None),
            insight("never dated", started=ZERO),
            insight("second of the same age", started=START),
            insight("newer", started=START + MINUTE),
            insight("fatal", Level.CRITICAL, started=START - 10 * MINUTE),
            insight("nice", Level.INFO, started=NOW),
            insight("bad", Level.ERROR, started=None),
        )
    )
    assert health(found, NOW) == lines("""
        = Update Health =
        SINCE   LEVEL      IMPACT           MESSAGE
        24m     Critical   Update Stalled   fatal
        -       Error      Update Stalled   bad
        13m     Warning    Update Stalled   newer
        14m     Warning    Update Stalled   first of the same age
        14m     Warning    Update Stalled   second of the same age
        -       Warning    Update Stalled   without age
        -       Warning    Update Stalled   never dated
        now     Info       Update Stalled   nice

        Run with --details=health for additional description and links to related online documentation
    """)


def test_the_first_second_of_1970_is_a_time_as_any_other() -> None:
    found = report(insights=(insight("never", started=None), insight("old", started=0)))
    assert health(found, NOW).index("old") < health(found, NOW).index("never")


def test_more_is_said_of_a_single_warning_and_not_of_a_single_information() -> None:
    assert "Run with" in health(report(insights=(insight("a"),)), NOW)
    assert "Run with" not in health(report(insights=(insight("a", Level.INFO),)), NOW)
    assert "Run with" in health(report(insights=(insight("a", Level.INFO), insight("b", Level.INFO))), NOW)


def test_ages_are_cut_to_seconds() -> None:
    assert since_when(NOW - SECOND + 1, NOW) == "now"
    assert since_when(NOW - 2 * SECOND + 1, NOW) == "1s"
    assert since_when(NOW + 90 * SECOND, NOW) == "-1m30s"


def test_insights_in_detail() -> None:
    found = report(
        insights=(
            insight(
                "Node w-0 is degraded",
                Level.ERROR,
                started=None,
                description="one\ntwo",
                resources=(Reference("", "nodes", "w-0"),),
            ),
            insight(
                "Several things",
                resources=(
                    Reference("", "nodes", "w-1"),
                    Reference("config.openshift.io", "alerts", "Down", "openshift-dns"),
                    Reference("", "nodes", "w-0"),
                    Reference("machineconfiguration.openshift.io", "machineconfigpools", "worker"),
                ),
            ),
        )
    )
    assert health_in_detail(found, NOW) == lines("""
        = Update Health =
        Message: Node w-0 is degraded
          Since:       -
          Level:       Error
          Impact:      Update Stalled
          Reference:   https://example.com/runbook
          Resources:
            nodes: w-0
          Description: one
                       , two

        Message: Several things
          Since:       14m
          Level:       Warning
          Impact:      Update Stalled
          Reference:   https://example.com/runbook
          Resources:
            alerts.config.openshift.io:                           openshift-dns/Down
            machineconfigpools.machineconfiguration.openshift.io: worker
            nodes:                                                w-0, w-1
          Description: What it is.
    """)
