"""Picks the alerts that concern the update: alerts that began during the update, and alerts known to delay updates."""

from collections.abc import Iterable, Iterator
from typing import Final

from windlass.update_status.report import Impact, Insight, Level, Reference
from windlass.update_status.sources import Alert, AlertLabels
from windlass.update_status.times import ZERO, Moment, moment

KNOWN: Final = frozenset({"PodDisruptionBudgetLimit", "PodDisruptionBudgetAtLimit"})
"""Alerts that affect updates even if they are older."""

OF_OPERATORS: Final = frozenset({"ClusterOperatorDown", "ClusterOperatorDegraded", "ClusterOperatorFlapping"})
"""Alerts that the Cluster Version Operator fires for an operator."""

NO_RUNBOOK: Final = "<alert does not have a runbook_url annotation>"

_LEVELS: Final = {"critical": Level.CRITICAL, "warning": Level.WARNING}


def insights_of_alerts(alerts: Iterable[Alert], *, started: Moment) -> Iterator[Insight]:
    """An insight for each that concerns an update that `started` then."""
    for alert in alerts:
        name, level = alert.labels.alertname, _LEVELS.get(alert.labels.severity)
        if not name or level is None or alert.state == "pending":
            continue
        began = moment(alert.active_at)
        why = _why(name, during=began > started)
        if not why:
            continue
        yield Insight(
            level=level,
            impact=Impact.UNKNOWN,
            summary=f"Alert is firing: {alert.annotations.summary or name}",
            description=f"{why} {_description(alert)}",
            reference=alert.annotations.runbook_url or NO_RUNBOOK,
            started=None if began == ZERO else began,
            resources=(Reference("config.openshift.io", "alerts", name, alert.labels.namespace),),
            follows=_followed(alert.labels),
        )


def _followed(labels: AlertLabels) -> Reference | None:
    """The object whose trouble the alert reports again."""
    if labels.alertname in OF_OPERATORS and labels.name:
        return Reference("config.openshift.io", "clusteroperators", labels.name)
    if labels.alertname in KNOWN and labels.poddisruptionbudget:
        return Reference("policy", "poddisruptionbudgets", labels.poddisruptionbudget, labels.namespace)
    return None


def _why(name: str, *, during: bool) -> str:
    if name in KNOWN:
        when = "started firing during the update" if during else "has been firing since before the update started"
        return f"Alert known to affect updates {when}."
    return "Alert started firing during the update." if during else ""


def _description(alert: Alert) -> str:
    said = [text for text in (alert.annotations.description, alert.annotations.message) if text]
    return f"The alert description is: {' | '.join(said)}" if said else "The alert has no description."
