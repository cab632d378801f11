"""Times in the object move only with what they tell."""

from msgspec import structs

from tests.unit.update_status.document.parts import NOW, STARTED, degraded_node, node, operator, report
from tests.unit.update_status.document.written import entries, the_health, the_node
from windlass.api.update import ControlPlaneEntry, UpdateStatusStatus
from windlass.api.update_insights import ClusterVersionInsight, NodeInsight
from windlass.update_status.document import read, write
from windlass.update_status.report import Phase, Reference, State
from windlass.update_status.times import HOUR, MINUTE, SECOND, rfc3339

LATER = NOW + 30 * SECOND


def the_version(status: UpdateStatusStatus) -> ClusterVersionInsight:
    found = entries(status)["cv-version"]
    assert isinstance(found, ControlPlaneEntry)
    assert found.insight.cluster_version is not None
    return found.insight.cluster_version


def transitions(found: NodeInsight) -> dict[str, str]:
    return {one.type: one.last_transition_time for one in found.conditions}


def test_an_insight_was_acquired_when_its_content_was_last_another() -> None:
    first = write(report(operators=(operator("a"), operator("b"))), now=NOW)
    changed = report(operators=(operator("a", message="it waits for b"), operator("b")))
    second = write(changed, now=LATER, previous=first)
    assert entries(second)["co-a"].acquired_at == rfc3339(LATER)
    assert entries(second)["co-b"].acquired_at == rfc3339(NOW)


def test_what_nothing_in_the_cluster_tells_was_first_seen_when_it_was_first_written() -> None:
    first = write(report(degraded_node()), now=NOW)
    second = write(report(degraded_node(description="disk still full")), now=LATER, previous=first)
    found = the_health(second)
    assert (found.started_at, found.first_seen_at) == (None, rfc3339(NOW))
    assert found.impact.description == "disk still full"
    assert read(second, now=LATER).insights[0].started is None


def test_what_ends_and_comes_back_is_seen_anew() -> None:
    first = write(report(degraded_node()), now=NOW)
    ended = write(report(), now=LATER, previous=first)
    back = write(report(degraded_node()), now=LATER + MINUTE, previous=ended)
    assert the_health(back).first_seen_at == rfc3339(LATER + MINUTE)


def test_what_oc_counts_from_the_present_is_read_so_again() -> None:
    about = (Reference("config.openshift.io", "clusterversions", "version"),)
    insight = degraded_node(summary="Cluster Version version has no Failing condition", started=NOW, resources=about)
    first = write(report(structs.replace(insight, pool="")), now=NOW)
    again = structs.replace(insight, pool="", started=LATER)
    second = write(report(again), now=LATER, previous=first)
    assert (the_health(second).started_at, the_health(second).first_seen_at) == (None, rfc3339(NOW))
    assert entries(second) == entries(first)
    assert read(second, now=LATER + HOUR).insights[0].started == LATER + HOUR


def test_a_transition_is_one_of_the_status_and_not_of_the_reason() -> None:
    first = write(report(of=node(phase=Phase.DRAINING, updating=True)), now=NOW)
    second = write(report(of=node(phase=Phase.REBOOTING, updating=True)), now=LATER, previous=first)
    third = write(report(of=node(phase=Phase.UPDATED)), now=LATER + MINUTE, previous=second)
    assert transitions(the_node(second))["Updating"] == rfc3339(NOW)
    assert the_node(second).observed_since == rfc3339(LATER)
    (resting,) = third.worker_pools[0].nodes
    assert (resting.state, resting.observed_since) == ("Updated", rfc3339(LATER + MINUTE))


def test_since_when_a_node_waits_stays_while_its_availability_comes_and_goes() -> None:
    away = node(unavailable=True, why_unavailable="Not ready")
    first = write(report(), now=NOW)
    second = write(report(of=away), now=LATER, previous=first)
    third = write(report(), now=LATER + MINUTE, previous=second)
    fourth = write(report(of=node(phase=Phase.PAUSED)), now=LATER + HOUR, previous=third)
    assert [one.observed_since for one in first.worker_pools[0].nodes] == [rfc3339(NOW)]
    assert (the_node(second).observed_since, second.worker_pools[0].nodes) == (rfc3339(NOW), ())
    assert third.worker_pools[0].nodes == first.worker_pools[0].nodes
    assert [one.observed_since for one in fourth.worker_pools[0].nodes] == [rfc3339(LATER + HOUR)]


def test_a_node_at_rest_has_one_time_where_its_machine_config_node_tells() -> None:
    (one,) = write(report(of=node(since=STARTED)), now=NOW).worker_pools[0].nodes
    assert (one.step_started_at, one.observed_since) == (rfc3339(STARTED), None)


def test_a_transition_that_the_cluster_reports_is_taken_from_it() -> None:
    first = write(report(operators=(operator(state=State.PROGRESSING),)), now=NOW)
    found = entries(first)["co-etcd"]
    assert isinstance(found, ControlPlaneEntry)
    assert found.insight.cluster_operator is not None
    assert found.insight.cluster_operator.conditions[0].last_transition_time == rfc3339(STARTED)


def test_the_expected_end_stays_as_long_as_it_is_about_right() -> None:
    first = write(report(), now=NOW)
    # What is left shrinks by 1.2 seconds each second, so that the end creeps towards the present.
    near = write(report(), now=NOW + 4 * MINUTE, previous=first)
    far = write(report(), now=NOW + 25 * MINUTE, previous=near)
    assert the_version(first).estimated_completed_at == rfc3339(NOW + 48 * MINUTE)
    assert the_version(near).estimated_completed_at == the_version(first).estimated_completed_at
    assert the_version(far).estimated_completed_at == rfc3339(NOW + 43 * MINUTE)


def test_an_end_that_is_hours_away_stays_for_more_than_a_minute() -> None:
    plane = structs.replace(report().control_plane, baseline=4 * HOUR)
    whole = structs.replace(report(), control_plane=plane)
    first = write(whole, now=NOW)
    near = write(whole, now=NOW + 10 * MINUTE, previous=first)
    far = write(whole, now=NOW + HOUR, previous=near)
    assert the_version(near).estimated_completed_at == rfc3339(NOW + 264 * MINUTE)
    assert the_version(far).estimated_completed_at == rfc3339(NOW + 252 * MINUTE)
