"""Odd situations during an update, each as a small cluster: the report as a whole."""

import pytest
from msgspec import structs

from windlass.api.core import NodeSpec, Taint
from windlass.update_status.assessment import assess
from windlass.update_status.estimate import Progress, progress
from windlass.update_status.report import Impact, Phase, Pool, Report, State, Versions
from windlass.update_status.sources import Sources, Unknown
from windlass.update_status.times import HOUR, MINUTE, SECOND, ZERO

from .objects import (
    BEGUN,
    INSTALLED,
    PREVIOUS,
    START,
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
BEHIND = operator("network", version=PREVIOUS)
MASTER, WORKER = pool("master"), pool("worker")
DONE = item(TARGET, started=0, completed=50)
IDLE = (said("Progressing", "False"), said("Failing", "False"))


def report(found: Sources) -> Report:
    return assess(found, now=NOW)


def computed(found: Sources) -> Progress:
    return progress(report(found).control_plane, NOW)


def workers(found: Report) -> Pool:
    return next(one for one in found.pools if one.name == "worker")


def test_an_update_that_is_sent_elsewhere_begins_anew() -> None:
    superseded = item(PREVIOUS, state="Partial", started=-30, completed=0)
    found = report(sources(version=cluster_version(history=[BEGUN, superseded, INSTALLED])))
    assert found.control_plane.started == START
    assert found.control_plane.versions == Versions(
        target=TARGET, previous=PREVIOUS, incomplete=True, unfinished=(PREVIOUS,), completed="4.14.0"
    )
    assert [one.summary for one in found.insights] == [
        f"Previous update to {PREVIOUS} never completed, last complete update was 4.14.0"
    ]


def test_an_installation_is_expected_to_take_an_hour() -> None:
    first = cluster_version(history=[BEGUN])
    assert report(sources(version=first)).control_plane.baseline == HOUR
    assert progress(report(sources(version=first)).control_plane, after(1)).estimate == 71 * MINUTE


def test_a_rollback_is_an_update_to_a_lower_version() -> None:
    back = item("4.14.9", state="Partial", started=0)
    version = cluster_version(history=[back, UPDATED_BEFORE, INSTALLED], desired="4.14.9")
    plane = report(sources(operator("dns", version="4.14.9"), operator("network"), version=version)).control_plane
    assert [one.state for one in plane.operators] == [State.UPDATED, State.PENDING]
    assert plane.baseline == 100 * MINUTE
    assert plane.versions is not None
    assert plane.versions.rollback


def test_without_a_history_no_time_has_passed_and_all_nodes_wait() -> None:
    found = sources(version=cluster_version(history=()), nodes=[node(current="new", desired="new")])
    usual = 72 * MINUTE
    assert computed(found) == Progress(
        assessment="Progressing", completion=50, duration=0, estimate=usual, expected=usual, completed=ZERO
    )
    assert workers(report(found)).summary.assessment == "Pending"


MULTI_ARCH = [
    item(TARGET, state="Partial", started=0, image="multi"),
    item(TARGET, started=-60, completed=0, image="single"),
]


def test_a_migration_to_several_architectures_is_seen_in_machine_config_and_the_configurations() -> None:
    found = report(
        sources(
            operator("dns"),
            operator("machine-config", said("Progressing", "True"), images=("old",)),
            version=cluster_version(history=MULTI_ARCH),
            pools=[MASTER, pool("worker", config="newer")],
            nodes=[
                node("a", current="newer", desired="newer"),
                node("b", current="new", desired="newer", state="Working"),
                node("c", current="new", desired="new"),
            ],
            operator_image="new",
        )
    )
    assert [one.state for one in found.control_plane.operators] == [State.UPDATED, State.PROGRESSING]
    assert [one.phase for one in workers(found).nodes] == [Phase.UPDATED, Phase.UPDATING, Phase.PENDING]


def test_after_a_migration_to_several_architectures_nodes_that_still_roll_do_not_count() -> None:
    version = cluster_version(*IDLE, history=[structs.replace(one, state="Completed") for one in MULTI_ARCH])
    one = node(current="new", desired="newer", state="Working")
    assert not report(sources(version=version, pools=[MASTER, pool("worker", config="newer")], nodes=[one])).updating


def test_a_new_configuration_of_the_same_version_is_no_update() -> None:
    one = node(current="new", desired="newer", state="Working")
    pools = [MASTER, pool("worker", config="newer")]
    found = report(sources(version=cluster_version(*IDLE, history=[DONE, UPDATED_BEFORE]), pools=pools, nodes=[one]))
    assert not found.updating
    assert [one.phase for one in workers(found).nodes] == [Phase.UPDATED]


def test_after_the_control_plane_the_workers_keep_the_update_going() -> None:
    version = cluster_version(*IDLE, history=[DONE, UPDATED_BEFORE])
    found = sources(operator("dns"), version=version, nodes=[node(desired="new", state="Rebooting")])
    assert report(found).updating
    assert computed(found) == Progress(
        assessment="Completed", completion=100, duration=50 * MINUTE, completed=after(50)
    )


def test_a_paused_pool_keeps_the_update_going() -> None:
    version = cluster_version(*IDLE, history=[DONE, UPDATED_BEFORE])
    found = report(sources(version=version, pools=[MASTER, pool("worker", paused=True)], nodes=[node()]))
    assert found.updating
    assert workers(found).summary.assessment == "Excluded"
    assert len(found.insights) == 1


def test_pending_hides_degraded_while_all_nodes_wait() -> None:
    found = report(sources(nodes=[node("a", state="Degraded", reason="stuck"), node("b")]))
    assert workers(found).summary.assessment == "Pending"
    assert [one.summary for one in found.insights] == ["Node a is degraded"]


def test_operators_are_all_updated_before_the_cluster_version_says_so() -> None:
    assert computed(sources(operator("dns"))) == Progress(
        assessment="Completed", completion=100, duration=60 * MINUTE, completed=NOW
    )


def test_an_operator_that_is_neither_progressing_nor_not_is_in_no_bucket() -> None:
    found = report(sources(operator("dns", said("Progressing", "Unknown"), version=PREVIOUS), operator("etcd")))
    assert [one.state for one in found.control_plane.operators] == [State.UNKNOWN, State.UPDATED]


def test_a_slow_operator_may_be_failing() -> None:
    slow = said(
        "Failing",
        "Unknown",
        reason="SlowClusterOperator",
        message="waiting on network over 30 minutes which is longer than expected",
    )
    (one,) = report(sources(version=cluster_version(said("Progressing", "True"), slow))).insights
    assert one.summary == "Cluster Version version may be failing to proceed with the update (SlowClusterOperator)"
    assert one.impact is Impact.UPDATE_SPEED


def test_a_node_whose_machine_config_was_removed_waits_with_an_unknown_version() -> None:
    unread = ("MachineConfig gone: not found",)
    found = structs.replace(sources(nodes=[node(current="gone", desired="new")]), gaps=unread)
    (one,) = workers(report(found)).nodes
    assert (one.version, one.phase) == ("", Phase.PENDING)
    assert report(found).gaps == unread


def test_a_node_that_joins_is_unavailable_until_its_machine_config_daemon_is_done() -> None:
    found = report(sources(nodes=[node("n1", bad("Ready", "True"), current=None, desired=None, state=None)]))
    (one,) = workers(found).nodes
    assert (one.version, one.message) == ("", "Machine Config Daemon is processing the node")
    assert found.insights == ()


def test_a_node_without_a_pool_is_named() -> None:
    found = report(sources(nodes=[node("edge", roles=["edge"])]))
    assert (found.unassigned, found.gaps) == (("edge",), ())


def test_a_pool_of_arbiters_is_a_pool_of_workers() -> None:
    found = report(sources(pools=[MASTER, WORKER, pool("arbiter")], nodes=[node(roles=["arbiter"])]))
    assert [(one.name, one.summary.total) for one in found.pools] == [("master", 0), ("worker", 0), ("arbiter", 1)]


def test_where_the_clock_of_the_cluster_is_ahead_durations_are_negative() -> None:
    plane = report(sources()).control_plane
    assert progress(plane, START - SECOND).duration == -SECOND


def test_a_hosted_control_plane_has_no_pools() -> None:
    hosted = structs.replace(sources(), pools=Unknown("the server could not find the requested resource"))
    found = report(hosted)
    assert (found.updating, found.pools) == (True, ())
    assert found.gaps == ("pools and nodes: the server could not find the requested resource",)


def test_without_the_deployment_of_the_machine_config_operator_it_is_never_updated() -> None:
    found = report(sources(operator("machine-config", images=("any",)), operator_image=""))
    assert not found.control_plane.all_updated


def test_what_is_missing_without_rights_is_named() -> None:
    blind = structs.replace(
        sources(BEHIND, operator_image=Unknown("deployments is forbidden")), nodes=Unknown("nodes is forbidden")
    )
    assert report(blind).gaps == (
        "whether machine-config runs the image of the target: deployments is forbidden",
        "nodes: nodes is forbidden",
    )


@pytest.mark.parametrize(
    ("key", "minutes", "since"),
    [
        ("node.kubernetes.io/unschedulable", 3, after(3)),
        ("node.kubernetes.io/unschedulable", 0, after(0)),
        ("node.kubernetes.io/unschedulable", -1, None),
        ("node.kubernetes.io/not-ready", 3, None),
    ],
)
def test_a_drain_is_dated_by_a_cordon_during_the_update(key: str, minutes: float, since: int | None) -> None:
    cordoned = NodeSpec(unschedulable=True, taints=[Taint(key=key, effect="NoSchedule", time_added=at(minutes))])
    drains = node(desired="new", state="Working", desiredDrain="drain-new", lastAppliedDrain="uncordon-old")
    (one,) = workers(report(sources(nodes=[structs.replace(drains, spec=cordoned)]))).nodes
    assert (one.phase, one.since) == (Phase.DRAINING, since)
    waits = structs.replace(node(), spec=cordoned)
    assert workers(report(sources(nodes=[waits]))).nodes[0].since is None
