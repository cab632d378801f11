"""A node, rule by rule: its phase, what is shown of it, and what needs attention."""

import pytest

from windlass.api.core import Node as ClusterNode
from windlass.api.machineconfiguration import MachineConfigNode, MachineConfigNodeStatus, MachineConfigPool
from windlass.api.meta import Condition
from windlass.update_status.assessment.nodes import NODE_DOCS, NodeFound, Update, assess_node
from windlass.update_status.report import Assessment, Impact, Level, Node, Phase, Reference, Scope
from windlass.update_status.times import Moment

from .objects import MASTER, PREVIOUS, RELEASES, TARGET, WORKER, after, at, bad, node, pool

UPDATED, PENDING, PAUSED = Phase.UPDATED, Phase.PENDING, Phase.PAUSED
DRAINING, UPDATING, REBOOTING = Phase.DRAINING, Phase.UPDATING, Phase.REBOOTING

PAUSED_POOL = pool("worker", paused=True)


def found(
    one: ClusterNode,
    of: MachineConfigPool = WORKER,
    *,
    target: str | None = TARGET,
    multi_arch: bool = False,
    wall: Moment | None = None,
    progress: MachineConfigNode | None = None,
) -> NodeFound:
    update = Update(
        target=target,
        multi_arch=multi_arch,
        versions=RELEASES,
        progress={} if progress is None else {one.metadata.name: progress},
        wall=after(60) if wall is None else wall,
    )
    return assess_node(one, of, update)


def assessed(one: ClusterNode, of: MachineConfigPool = WORKER, *, target: str | None = TARGET) -> Node:
    return found(one, of, target=target).node


@pytest.mark.parametrize(
    ("current", "desired", "wanted", "paused", "phase", "updating"),
    [
        ("new", "new", "new", False, UPDATED, False),
        ("new", "new", "new", True, UPDATED, False),
        ("new", None, "new", False, UPDATED, False),
        ("new", "newer", "newer", False, UPDATED, False),
        ("new", "old", "old", False, UPDATED, False),
        ("old", "new", "new", False, UPDATING, True),
        ("old", "new", "new", True, UPDATING, True),
        ("old", "new", "newer", False, PENDING, False),
        ("old", "new", "newer", True, PAUSED, False),
        ("old", "old", "new", False, PENDING, False),
        ("old", "old", "new", True, PAUSED, False),
        ("old", "gone", "gone", False, PENDING, False),
        ("gone", "new", "new", False, PENDING, False),
        (None, "new", "new", False, PENDING, False),
        (None, None, "new", False, PENDING, False),
        (None, None, "", True, PAUSED, False),
        ("old", None, "", False, PENDING, False),
        ("old", "", "", False, PENDING, False),
    ],
)
def test_the_phase_by_the_configurations(
    current: str | None, desired: str | None, wanted: str, paused: bool, phase: Phase, updating: bool
) -> None:
    one = assessed(
        node(current=current, desired=desired, state="Working"), pool("worker", config=wanted, paused=paused)
    )
    assert (one.phase, one.updating) == (phase, updating)


@pytest.mark.parametrize(
    ("current", "desired", "wanted", "phase", "updating"),
    [
        ("newer", "newer", "newer", UPDATED, False),
        ("newer", None, "newer", UPDATED, False),
        ("new", "newer", "newer", UPDATING, True),
        ("new", "newer", "other", PENDING, False),
        ("new", "new", "newer", PENDING, False),
        ("new", "", "newer", PENDING, False),
    ],
)
def test_in_a_migration_to_several_architectures_the_configurations_must_agree(
    current: str, desired: str | None, wanted: str, phase: Phase, updating: bool
) -> None:
    one = found(node(current=current, desired=desired, state="Working"), pool("worker", config=wanted), multi_arch=True)
    assert (one.node.phase, one.node.updating) == (phase, updating)


@pytest.mark.parametrize(
    ("state", "desired_drain", "last_applied", "phase"),
    [
        ("Working", "drain-new", "uncordon-old", DRAINING),
        ("Rebooting", "drain-new", "uncordon-old", DRAINING),
        ("Degraded", "drain-new", "uncordon-old", DRAINING),
        (None, "drain-new", "uncordon-old", DRAINING),
        ("Working", "drain", "uncordon-old", DRAINING),
        ("Done", "drain-new", "uncordon-old", DRAINING),
        ("Done", "uncordon-old", "uncordon-old", DRAINING),
        ("Done", "uncordon-new", "drain-new", DRAINING),
        ("Done", None, "uncordon-old", UPDATED),
        ("Done", "drain-new", None, UPDATED),
        ("Done", "drain-new", "", UPDATED),
        ("Done", None, None, UPDATED),
        ("Working", "drain-new", "drain-new", UPDATING),
        ("Working", "uncordon-new", "drain-new", UPDATING),
        ("Working", "drainage-new", "uncordon-old", UPDATING),
        ("Working", None, None, UPDATING),
        ("Working", "drain-new", None, UPDATING),
        ("Degraded", None, None, UPDATING),
        ("Odd", None, None, UPDATING),
        ("", None, None, UPDATING),
        (None, None, None, UPDATING),
        ("Rebooting", "drain-new", "drain-new", REBOOTING),
        ("Rebooting", None, None, REBOOTING),
    ],
)
def test_the_phase_of_a_node_that_is_being_updated(
    state: str | None, desired_drain: str | None, last_applied: str | None, phase: Phase
) -> None:
    one = assessed(node(desired="new", state=state, desiredDrain=desired_drain, lastAppliedDrain=last_applied))
    assert (one.phase, one.updating) == (phase, True)


def test_a_node_that_waits_is_not_draining_whatever_was_asked_of_it() -> None:
    one = assessed(node(state="Working", desiredDrain="drain-old", lastAppliedDrain="uncordon-old"))
    assert one.phase is PENDING


def test_without_a_history_no_node_is_updated_or_being_updated() -> None:
    assert {assessed(node(current=current, desired="new"), target=None).phase for current in ("old", "new")} == {
        PENDING
    }


@pytest.mark.parametrize(("current", "version"), [("old", PREVIOUS), ("gone", ""), ("", ""), (None, "")])
def test_the_version_is_that_of_the_current_configuration(current: str | None, version: str) -> None:
    assert assessed(node(current=current, desired="new")).version == version


@pytest.mark.parametrize(
    ("desired", "state", "degraded"),
    [
        ("old", "Degraded", True),
        ("new", "Unreconcilable", True),
        ("", "Degraded", False),
        (None, "Unreconcilable", False),
        ("old", "Working", False),
        ("old", None, False),
    ],
)
def test_a_node_is_degraded_by_its_state_once_it_has_a_desired_configuration(
    desired: str | None, state: str | None, degraded: bool
) -> None:
    assert assessed(node(desired=desired, state=state)).degraded is degraded


DOWN = bad("Ready", "False")
PROCESSING = "Machine Config Daemon is processing the node"


@pytest.mark.parametrize(
    ("one", "of", "assessment", "phase", "message"),
    [
        (node(current="new", desired="new"), WORKER, Assessment.COMPLETED, UPDATED, ""),
        (node(), WORKER, Assessment.OUTDATED, PENDING, ""),
        (node(), PAUSED_POOL, Assessment.EXCLUDED, PAUSED, ""),
        (node(desired="new", state="Working"), WORKER, Assessment.PROGRESSING, UPDATING, ""),
        (node("n1", DOWN), WORKER, Assessment.UNAVAILABLE, PENDING, "Not ready"),
        (node("n1", DOWN), PAUSED_POOL, Assessment.UNAVAILABLE, PAUSED, "Not ready"),
        (node("n1", DOWN, current="new", desired="new"), WORKER, Assessment.UNAVAILABLE, UPDATED, "Not ready"),
        (node("n1", DOWN, desired="new", state="Working"), WORKER, Assessment.PROGRESSING, UPDATING, ""),
        (node(desired="new", state="Degraded", reason="stuck"), WORKER, Assessment.DEGRADED, UPDATING, "stuck"),
        (node(state="Degraded", reason="stuck"), WORKER, Assessment.DEGRADED, PENDING, "stuck"),
        (node("n1", DOWN, state="Degraded", reason="stuck"), WORKER, Assessment.DEGRADED, PENDING, "stuck"),
        (node("n1", DOWN, state="Degraded"), WORKER, Assessment.DEGRADED, PENDING, ""),
        (node(state="Working", reason="calm"), WORKER, Assessment.UNAVAILABLE, PENDING, PROCESSING),
    ],
)
def test_degraded_goes_before_unavailable_and_that_before_the_phase(
    one: ClusterNode, of: MachineConfigPool, assessment: Assessment, phase: Phase, message: str
) -> None:
    seen = assessed(one, of)
    assert (seen.assessment, seen.phase, seen.message) == (assessment, phase, message)


def test_a_node_in_order_gives_no_insight() -> None:
    assert found(node()).insights == ()


@pytest.mark.parametrize(
    ("condition", "minutes", "serious"),
    [
        ("Ready", 5, True),
        ("Ready", 4.99, False),
        ("DiskPressure", 1, True),
        ("DiskPressure", 0.99, False),
        ("NetworkUnavailable", 1, True),
        ("NetworkUnavailable", 0.99, False),
    ],
)
def test_a_condition_is_serious_when_it_has_lasted(condition: str, minutes: float, serious: bool) -> None:
    one = node("n1", bad(condition, "Unknown", 0))
    assert bool(found(one, wall=after(minutes)).insights) is serious


def test_a_condition_without_a_time_is_serious_and_nobody_knows_since_when() -> None:
    (insight,) = found(node("n1", bad("Ready", "Unknown", None))).insights
    assert insight.started is None


@pytest.mark.parametrize(
    "calm",
    [
        node(unschedulable=True),
        node(state="Working"),
        node("n1", DOWN, desired="new", state="Working"),
        node("n1", DOWN, desiredImage="other"),
    ],
    ids=["unschedulable", "its daemon works", "is being updated", "has the image of another pool"],
)
def test_this_is_normal_during_an_update(calm: ClusterNode) -> None:
    assert found(calm, wall=after(6000)).insights == ()


def test_an_unavailable_node_slows_the_update_down() -> None:
    (insight,) = found(node("n1", bad("Ready", "False", 3, message="gone"), unschedulable=True)).insights
    assert (insight.level, insight.impact) == (Level.WARNING, Impact.UPDATE_SPEED)
    assert insight.summary == "Node n1 is not ready | Node is marked unschedulable"
    assert insight.description == (
        'Node has a Ready!=True condition with Reason "Not ready" and message "gone" | Node is marked unschedulable'
    )
    assert (insight.reference, insight.started) == (NODE_DOCS, after(3))
    assert insight.resources == (Reference("", "nodes", "n1"),)


def test_a_degraded_node_stalls_the_update() -> None:
    (insight,) = found(node(state="Degraded", reason="stuck")).insights
    assert (insight.level, insight.impact) == (Level.ERROR, Impact.UPDATE_STALLED)
    assert (insight.summary, insight.description) == ("Node n1 is degraded", "stuck")
    assert (insight.reference, insight.started) == (NODE_DOCS, None)


def test_a_degraded_node_without_a_reason_gives_an_insight_that_is_not_complete() -> None:
    (insight,) = found(node(state="Degraded")).insights
    assert not insight.complete


def test_of_a_node_unavailable_and_degraded_both_insights_carry_the_reason() -> None:
    insights = found(node("n1", DOWN, state="Degraded", reason="stuck")).insights
    assert [(one.summary, one.description) for one in insights] == [
        ("Node n1 is not ready", "stuck"),
        ("Node n1 is degraded", "stuck"),
    ]


def test_a_degraded_node_that_is_being_updated_is_not_reported_as_unavailable() -> None:
    insights = found(node("n1", DOWN, desired="new", state="Degraded", reason="stuck")).insights
    assert [one.summary for one in insights] == ["Node n1 is degraded"]


@pytest.mark.parametrize(
    ("of", "scope", "section"),
    [
        (MASTER, Scope.CONTROL_PLANE, ""),
        (WORKER, Scope.WORKER_POOL, "worker"),
        (pool("infra"), Scope.WORKER_POOL, "infra"),
    ],
)
def test_insights_belong_to_the_section_of_the_pool(of: MachineConfigPool, scope: Scope, section: str) -> None:
    insights = found(node("n1", DOWN, state="Degraded", reason="stuck"), of).insights
    assert {(one.scope, one.pool) for one in insights} == {(scope, section)}


def steps(**conditions: tuple[str, float | None]) -> MachineConfigNode:
    """A MachineConfigNode with these conditions: status, and minutes after START."""
    return MachineConfigNode(
        status=MachineConfigNodeStatus(
            conditions=[
                Condition(type=name, status=status, last_transition_time=None if minutes is None else at(minutes))
                for name, (status, minutes) in conditions.items()
            ]
        )
    )


AT_WORK = node(desired="new", state="Working")


@pytest.mark.parametrize(
    ("one", "progress", "since", "step"),
    [
        (node(), None, None, ""),
        (node(), steps(), None, ""),
        (node(), steps(Updated=("False", 3)), 3, ""),
        (node(), steps(Updated=("True", 3)), None, ""),
        (node(current="new", desired="new"), steps(Updated=("True", 3)), 3, ""),
        (node(current="new", desired="new"), steps(Updated=("True", None)), None, ""),
        (node(current="new", desired="new"), steps(Updated=("True", 3), Resumed=("Unknown", 4)), 3, ""),
        (AT_WORK, steps(UpdatePrepared=("Unknown", 1)), 1, "preparing"),
        (AT_WORK, steps(UpdatePrepared=("True", 1), UpdateExecuted=("Unknown", 2)), 2, "executing"),
        (AT_WORK, steps(Drained=("Unknown", 3), UpdateExecuted=("Unknown", 2)), 3, "draining"),
        (AT_WORK, steps(RebootedNode=("Unknown", 5), UpdatePostActionComplete=("Unknown", 4)), 5, "rebooting"),
        (AT_WORK, steps(Drained=("Unknown", None)), None, "draining"),
        (node(state="Degraded"), steps(NodeDegraded=("True", 7), Updated=("False", 3)), 7, ""),
        (node(state="Degraded"), steps(NodeDegraded=("True", None)), None, ""),
        (node(state="Degraded"), steps(NodeDegraded=("False", 7), Updated=("False", 3)), 3, ""),
        (node(), steps(NodeDegraded=("True", 7), Updated=("False", 3)), 3, ""),
    ],
)
def test_a_machine_config_node_tells_the_step_and_since_when(
    one: ClusterNode, progress: MachineConfigNode | None, since: float | None, step: str
) -> None:
    seen = found(one, progress=progress).node
    assert (seen.since, seen.step) == (None if since is None else after(since), step)
