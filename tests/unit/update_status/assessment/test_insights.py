"""What needs attention of ClusterVersion, operators and the history, and the order of all insights."""

import pytest
from msgspec import structs

from windlass.api.config import UpdateHistory
from windlass.api.meta import PlainCondition
from windlass.update_status.assessment import assess
from windlass.update_status.assessment.insights import DEGRADED_DOCS, DOWN_DOCS, HISTORY_DOCS
from windlass.update_status.report import Impact, Insight, Level, Reference, Scope
from windlass.update_status.sources import Alert, AlertLabels, Sources

from .objects import (
    BEGUN,
    HISTORY,
    INSTALLED,
    MASTER,
    PREVIOUS,
    TARGET,
    UPDATED_BEFORE,
    after,
    at,
    bad,
    cluster_version,
    item,
    node,
    operator,
    pool,
    said,
    sources,
)

NOW = after(60)
PROGRESSING = said("Progressing", "True")
BEHIND = operator("network", version=PREVIOUS)


def insights(read: Sources) -> tuple[Insight, ...]:
    return assess(read, now=NOW).insights


def summaries(read: Sources) -> list[str]:
    return [one.summary for one in insights(read)]


def test_an_update_that_goes_well_needs_no_attention() -> None:
    assert insights(sources()) == ()


def of_cluster_version(*conditions: PlainCondition) -> list[Insight]:
    return [*insights(sources(version=cluster_version(PROGRESSING, *conditions)))]


def test_a_cluster_version_without_the_condition_failing_is_unclear_since_now() -> None:
    (one,) = of_cluster_version()
    assert (one.level, one.impact, one.scope) == (Level.WARNING, Impact.UPDATE_STALLED, Scope.CONTROL_PLANE)
    assert one.summary == "Cluster Version version has no Failing condition"
    assert one.description == (
        "Current status of Cluster Version reconciliation is unclear.  See 'oc -n openshift-cluster-version logs "
        "-l k8s-app=cluster-version-operator --tail -1' to debug."
    )
    assert (one.reference, one.started) == (DEGRADED_DOCS, NOW)
    assert one.resources == (Reference("config.openshift.io", "clusterversions", "version"),)


@pytest.mark.parametrize(("status", "verb"), [("True", "is"), ("Unknown", "may be"), ("", "is"), ("Odd", "is")])
def test_a_cluster_version_that_is_failing_stalls_the_update(status: str, verb: str) -> None:
    (one,) = of_cluster_version(said("Failing", status, 3, reason="Slow", message="waiting"))
    assert (one.level, one.impact) == (Level.WARNING, Impact.UPDATE_STALLED)
    assert one.summary == f"Cluster Version version {verb} failing to proceed with the update (Slow)"
    assert (one.description, one.reference, one.started) == ("waiting", DEGRADED_DOCS, after(3))


def test_of_conditions_failing_the_first_counts() -> None:
    assert of_cluster_version(said("Failing", "False"), said("Failing", "True")) == []


def test_failing_without_a_message_is_not_complete_and_without_a_time_since_nobody_knows_when() -> None:
    (one,) = of_cluster_version(said("Failing", "True", None))
    assert (one.complete, one.started) == (False, None)


@pytest.mark.parametrize(
    ("condition", "status", "minutes", "level"),
    [
        ("Available", "False", 5, None),
        ("Available", "False", 5.02, Level.WARNING),
        ("Available", "False", 20, Level.WARNING),
        ("Available", "False", 20.02, Level.ERROR),
        ("Available", "Unknown", 5, None),
        ("Available", "Unknown", 5.02, Level.WARNING),
        ("Available", "Unknown", 20, Level.WARNING),
        ("Available", "Unknown", 20.02, Level.ERROR),
        ("Available", "True", 50, None),
        ("Degraded", "True", 5, None),
        ("Degraded", "True", 5.02, Level.WARNING),
        ("Degraded", "True", 40, Level.WARNING),
        ("Degraded", "True", 40.02, Level.ERROR),
        ("Degraded", "Unknown", 50, None),
        ("Degraded", "False", 50, None),
    ],
)
def test_an_operator_in_trouble_gets_a_warning_and_then_an_error(
    condition: str, status: str, minutes: float, level: Level | None
) -> None:
    found = insights(sources(BEHIND, operator("dns", said(condition, status, 60 - minutes))))
    assert [one.level for one in found] == ([] if level is None else [level])


def test_an_operator_that_gives_no_answer_is_not_an_insight_of_oc() -> None:
    (found,) = insights(sources(BEHIND, operator("dns", said("Available", "Unknown", 1, message="timeout"))))
    assert found.summary == "Cluster Operator dns does not say whether it is available"
    assert found.description == "timeout"
    assert found.remedy == "See the Pods and the log of operator dns: it, or what it asks, gives no answer."
    assert not found.complete


def test_of_an_operator_that_lacks_the_condition_nothing_says_since_when() -> None:
    assert insights(sources(BEHIND, operator("dns", without="Available"))) == ()


def test_what_is_said_of_an_operator_in_trouble() -> None:
    trouble = (said("Degraded", "True", 1, reason="D", message="slow"), said("Available", "False", 2, reason="A"))
    down, degraded = insights(sources(BEHIND, operator("dns", *trouble)))
    assert (down.summary, down.description) == ("Cluster Operator dns is unavailable (A)", "<no message>")
    assert (degraded.summary, degraded.description) == ("Cluster Operator dns is degraded (D)", "slow")
    assert (down.reference, degraded.reference) == (DOWN_DOCS, DEGRADED_DOCS)
    assert (down.started, degraded.started) == (after(2), after(1))
    assert {one.impact for one in (down, degraded)} == {Impact.API_AVAILABILITY}
    assert {one.resources for one in (down, degraded)} == {
        (Reference("config.openshift.io", "clusteroperators", "dns"),)
    }


def test_a_condition_without_a_time_has_lasted_too_long_and_nobody_knows_since_when() -> None:
    (one,) = insights(sources(BEHIND, operator("dns", said("Degraded", "True", None))))
    assert (one.level, one.started) == (Level.ERROR, None)


def test_of_conditions_of_an_operator_the_last_counts() -> None:
    assert insights(sources(BEHIND, operator("dns", said("Degraded", "True"), said("Degraded", "False")))) == ()


def test_operators_of_others_need_no_attention() -> None:
    assert insights(sources(BEHIND, operator("mine", said("Degraded", "True"), annotations={}))) == ()


def test_an_updated_operator_in_trouble_needs_attention_too() -> None:
    assert summaries(sources(BEHIND, operator("dns", said("Available", "False", reason="A")))) == [
        "Cluster Operator dns is unavailable (A)"
    ]


PARTIAL = item(PREVIOUS, state="Partial", started=-60, completed=0)


@pytest.mark.parametrize(
    ("history", "last"),
    [
        ([BEGUN, PARTIAL, INSTALLED], "4.14.0"),
        ([BEGUN, PARTIAL, item("4.14.3", state="Partial", started=-70), UPDATED_BEFORE, INSTALLED], PREVIOUS),
        ([BEGUN, PARTIAL], "unknown"),
        ([BEGUN, PARTIAL, item("4.14.0", state="Partial", started=-90)], "unknown"),
    ],
)
def test_a_previous_update_that_was_never_completed_is_told(history: list[UpdateHistory], last: str) -> None:
    (one,) = insights(sources(version=cluster_version(history=history)))
    assert (one.level, one.impact) == (Level.WARNING, Impact.NONE)
    assert one.summary == f"Previous update to {PREVIOUS} never completed, last complete update was {last}"
    assert one.description == (
        f"Current update to {TARGET} was initiated while the previous update to version {PREVIOUS} was still in "
        "progress"
    )
    assert (one.reference, one.started) == (HISTORY_DOCS, after(0))


@pytest.mark.parametrize("history", [[], [BEGUN], [BEGUN, UPDATED_BEFORE], HISTORY, [BEGUN, UPDATED_BEFORE, PARTIAL]])
def test_only_the_previous_update_counts(history: list[UpdateHistory]) -> None:
    assert insights(sources(version=cluster_version(history=history))) == ()


def test_it_is_not_told_once_the_control_plane_is_updated() -> None:
    assert insights(sources(operator("dns"), version=cluster_version(history=[BEGUN, PARTIAL, INSTALLED]))) == ()


def test_without_a_start_nobody_knows_since_when() -> None:
    history = [item(TARGET, state="Partial", started=None), PARTIAL]
    (one,) = insights(sources(version=cluster_version(history=history)))
    assert one.started is None


def test_insights_come_in_the_order_of_oc() -> None:
    trouble = (said("Available", "False", reason="A"), said("Degraded", "True", reason="D"))
    read = sources(
        operator("network", *trouble, version=PREVIOUS),
        operator("dns", *trouble),
        version=cluster_version(PROGRESSING, history=[BEGUN, PARTIAL]),
        pools=[pool("worker", paused=True), MASTER],
        nodes=[
            node("m1", state="Degraded", reason="stuck", roles=["master"]),
            node("w1", bad("Ready", "False"), state="Degraded", reason="stuck"),
        ],
    )
    alerts = tuple(
        Alert(labels=AlertLabels(alertname=name, severity="warning"), active_at=at(1)) for name in ("Second", "First")
    )
    assert summaries(structs.replace(read, alerts=alerts)) == [
        "Node w1 is not ready",
        "Node w1 is degraded",
        "Outdated nodes in a paused pool 'worker' will not be updated",
        "Node m1 is degraded",
        "Alert is firing: Second",
        "Alert is firing: First",
        "Cluster Version version has no Failing condition",
        "Cluster Operator network is unavailable (A)",
        "Cluster Operator network is degraded (D)",
        "Cluster Operator dns is unavailable (A)",
        "Cluster Operator dns is degraded (D)",
        f"Previous update to {PREVIOUS} never completed, last complete update was unknown",
    ]


IDLE = cluster_version(said("Progressing", "False"), history=[item(TARGET, started=0, completed=50), UPDATED_BEFORE])


@pytest.mark.parametrize(
    ("role", "current", "updating"),
    [("worker", "old", True), ("worker", "new", False), ("infra", "old", True), ("master", "old", False)],
)
def test_after_the_control_plane_only_pools_of_workers_keep_an_update_going(
    role: str, current: str, updating: bool
) -> None:
    trouble = operator("dns", said("Degraded", "True"))
    one = node(current=current, desired=current, roles=[role])
    pools = (MASTER, pool("worker"), pool("infra"))
    report = assess(sources(trouble, version=IDLE, pools=pools, nodes=[one]), now=NOW)
    assert report.updating is updating
    assert bool(report.insights) is updating


@pytest.mark.parametrize("status", ["False", "Unknown", ""])
def test_only_progressing_true_means_that_the_control_plane_is_being_updated(status: str) -> None:
    assert not assess(sources(version=cluster_version(said("Progressing", status))), now=NOW).updating
