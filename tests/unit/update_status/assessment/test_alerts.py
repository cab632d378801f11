"""Which alerts concern an update that began at START, and what is said of them."""

import pytest

from windlass.update_status.assessment.alerts import insights_of_alerts
from windlass.update_status.report import Impact, Insight, Level, Reference
from windlass.update_status.sources import Alert, AlertAnnotations, AlertLabels

from .objects import START, after, at

DURING = "Alert started firing during the update."
KNOWN_DURING = "Alert known to affect updates started firing during the update."
KNOWN_BEFORE = "Alert known to affect updates has been firing since before the update started."


def alert(
    name: str = "Slow",
    minutes: float | None = 1,
    *,
    severity: str = "warning",
    state: str = "firing",
    namespace: str = "",
    **annotations: str,
) -> Alert:
    return Alert(
        labels=AlertLabels(alertname=name, severity=severity, namespace=namespace),
        annotations=AlertAnnotations(**annotations),
        state=state,
        active_at=None if minutes is None else at(minutes),
    )


def found(*alerts: Alert) -> list[Insight]:
    return [*insights_of_alerts(alerts, started=START)]


@pytest.mark.parametrize(
    ("labels", "follows"),
    [
        ({"alertname": "ClusterOperatorDown", "name": "etcd"}, ("clusteroperators", "etcd")),
        ({"alertname": "ClusterOperatorDegraded", "name": "etcd"}, ("clusteroperators", "etcd")),
        ({"alertname": "ClusterOperatorDegraded"}, None),
        ({"alertname": "Slow", "name": "etcd"}, None),
        ({"alertname": "PodDisruptionBudgetAtLimit", "poddisruptionbudget": "shop"}, ("poddisruptionbudgets", "shop")),
        ({"alertname": "PodDisruptionBudgetAtLimit"}, None),
        ({"alertname": "Slow", "poddisruptionbudget": "shop"}, None),
    ],
)
def test_an_alert_follows_the_object_whose_trouble_it_reports_again(
    labels: dict[str, str], follows: tuple[str, str] | None
) -> None:
    one = Alert(labels=AlertLabels(severity="warning", namespace="n", **labels), state="firing", active_at=at(1))
    found = only(one).follows
    assert (None if found is None else (found.resource, found.name)) == follows


def only(one: Alert) -> Insight:
    (insight,) = found(one)
    return insight


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (alert("Slow", 1), DURING),
        (alert("Slow", 0), ""),
        (alert("Slow", -1), ""),
        (alert("Slow", None), ""),
        (alert("PodDisruptionBudgetLimit", 1), KNOWN_DURING),
        (alert("PodDisruptionBudgetLimit", 0), KNOWN_BEFORE),
        (alert("PodDisruptionBudgetAtLimit", -1), KNOWN_BEFORE),
        (alert("PodDisruptionBudgetAtLimit", None), KNOWN_BEFORE),
        (alert(""), ""),
        (alert(state="pending"), ""),
        (alert("PodDisruptionBudgetLimit", state="pending"), ""),
        (alert(state=""), DURING),
        (alert(severity="critical"), DURING),
        (alert(severity="info"), ""),
        (alert(severity="none"), ""),
        (alert(severity=""), ""),
        (alert(severity="Warning"), ""),
        (alert("PodDisruptionBudgetLimit", severity="info"), ""),
    ],
)
def test_the_alerts_that_concern_an_update(one: Alert, why: str) -> None:
    expected = [f"{why} The alert has no description."] if why else []
    assert [insight.description for insight in found(one)] == expected


@pytest.mark.parametrize(
    ("annotations", "rest"),
    [
        ({}, "The alert has no description."),
        ({"description": "d"}, "The alert description is: d"),
        ({"message": "m"}, "The alert description is: m"),
        ({"description": "d", "message": "m"}, "The alert description is: d | m"),
    ],
)
def test_description_and_message_are_quoted(annotations: dict[str, str], rest: str) -> None:
    assert only(alert("Slow", 1, **annotations)).description == f"{DURING} {rest}"


def test_the_name_stands_in_for_a_summary_and_a_text_for_the_runbook() -> None:
    bare = only(alert())
    full = only(alert("Slow", 1, summary="It is slow", runbook_url="https://example.com"))
    assert (bare.summary, full.summary) == ("Alert is firing: Slow", "Alert is firing: It is slow")
    assert (bare.reference, full.reference) == (
        "<alert does not have a runbook_url annotation>",
        "https://example.com",
    )


@pytest.mark.parametrize(("severity", "level"), [("critical", Level.CRITICAL), ("warning", Level.WARNING)])
def test_the_level_is_the_severity(severity: str, level: Level) -> None:
    one = only(alert(severity=severity))
    assert (one.level, one.impact) == (level, Impact.UNKNOWN)


@pytest.mark.parametrize(("minutes", "started"), [(1, after(1)), (None, None)])
def test_it_began_when_the_alert_became_active(minutes: float | None, started: int | None) -> None:
    assert only(alert("PodDisruptionBudgetLimit", minutes)).started == started


def test_alerts_keep_their_order_and_name_their_namespaces() -> None:
    insights = found(alert("B", 1, namespace="n"), alert("A", 9), alert("B", 3, namespace="n"))
    assert [one.resources for one in insights] == [
        (Reference("config.openshift.io", "alerts", "B", "n"),),
        (Reference("config.openshift.io", "alerts", "A"),),
        (Reference("config.openshift.io", "alerts", "B", "n"),),
    ]
