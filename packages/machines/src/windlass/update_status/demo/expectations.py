"""The expectations of the story's steps: each compares what Windlass says with what the cluster says.

Pure functions of a scene and of the step's beginning: each says what happened, or raises Missing with what is missing.
"""

from collections.abc import Iterable
from typing import Final, TypeAlias

from windlass.api.config import ClusterOperator, ClusterVersion
from windlass.api.core import Node
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.demo import story
from windlass.demo.story import Missing, need
from windlass.update_status.constants import CLUSTER_VERSION
from windlass.update_status.demo.scene import LAYOUT, Scene, operator_of, phases_of
from windlass.update_status.history import COMPLETED
from windlass.update_status.report import Health, Phase, Report, State

Expectation: TypeAlias = story.Expectation[Scene]
Moment: TypeAlias = story.Moment[Scene]

TARGET: Final = "4.16.1"
SIZES: Final = {pool.name: pool.nodes for pool in LAYOUT.pools}
OPERATORS: Final = len(LAYOUT.operators)

PAUSED_POOL: Final = "worker"
SICK: Final = "network"
STUCK: Final = "infra-0"
LAST: Final = "machine-config"
"""The operator that updates the Nodes."""

UNWELL: Final = "Cluster Version version is failing to proceed with the update (ClusterOperatorDegraded)"
PAUSED: Final = f"Outdated nodes in a paused pool '{PAUSED_POOL}' will not be updated"
FAILED_DRAIN: Final = f"failed to drain node: {STUCK} after 1 hour"


def kinds_are_served(scene: Scene, _: Moment) -> str:
    scene.needs_kinds()
    return f"etcd, kube-apiserver {scene.version} and kube-controller-manager run, with the kinds of OpenShift"


def cluster_rests(scene: Scene, _: Moment) -> str:
    count = len(scene.of(ClusterOperator))
    need(count == OPERATORS, f"there are {count} ClusterOperators, not {OPERATORS}")
    sizes = {name: len(scene.nodes_of(name)) for name in scene.of(MachineConfigPool)}
    need(sizes == SIZES, f"the pools have these numbers of Nodes: {sizes}")
    said = scene.condition(ClusterVersion, CLUSTER_VERSION, "Progressing").get("message", "(nothing)")
    need(said.startswith("Cluster version is "), f"ClusterVersion says: {said}")
    return f"{said}: {OPERATORS} operators, 3 masters, 6 workers in the pools worker and infra"


def windlass_reports_rest(scene: Scene, _: Moment) -> str:
    leader = scene.needs_windlass()
    scene.needs_report(updating=False)
    return f"Windlass leads as {leader}, and the UpdateStatus says that the cluster is not updating"


def operators_update(*updated: str, working: str) -> Expectation:
    """The operators `updated` are at the target, `working` works on it, the others wait."""

    def look(scene: Scene, _: Moment) -> str:
        report = scene.needs_report()
        _need_updated_operators(scene, report, {*updated})
        found = operator_of(report, working)
        need(found and found.state is State.PROGRESSING, f"the UpdateStatus does not have {working} as Progressing")
        return f"{', '.join(updated)} updated, {working} works on {TARGET}; the ClusterOperators say the same"

    return look


def operator_is_degraded(scene: Scene, _: Moment) -> str:
    scene.needs_condition(ClusterOperator, SICK, "Degraded")
    report = scene.needs_report()
    found = operator_of(report, SICK)
    need(found and found.health is Health.DEGRADED, f"the UpdateStatus does not have {SICK} as degraded")
    _need_summary(report, UNWELL)
    return f"{SICK} is Degraded; {UNWELL}"


def operators_are_done(scene: Scene, _: Moment) -> str:
    """All but the one that updates the Nodes, and nothing needs attention."""
    scene.needs_condition(ClusterOperator, SICK, "Degraded", "False")
    report = scene.needs_report()
    _need_updated_operators(scene, report, scene.of(ClusterOperator).keys() - {LAST})
    need(not report.insights, f"the UpdateStatus still says: {_summaries(report)}")
    return f"{SICK} has recovered; all operators but {LAST} are at {TARGET}, and nothing needs attention"


def pool_stands_still(scene: Scene, _: Moment) -> str:
    """The paused pool waits, while a Node of each other pool is being updated."""
    need(scene.needs(MachineConfigPool, PAUSED_POOL).object.spec.paused, f"pool {PAUSED_POOL} is not paused")
    report = scene.needs_report()
    phases = {*phases_of(report, PAUSED_POOL).values()}
    need(phases == {Phase.PAUSED}, f"the UpdateStatus has Nodes of {PAUSED_POOL} as {_names(phases)}, not as Paused")
    _need_summary(report, PAUSED)
    phase = phases_of(report, "infra").get(STUCK)
    need(phase is Phase.DRAINING, f"the UpdateStatus has {STUCK} as {phase}, not Draining")
    return f"all {SIZES[PAUSED_POOL]} Nodes of {PAUSED_POOL} are Paused; masters and infra begin"


def drain_hangs(scene: Scene, _: Moment) -> str:
    """The drain has failed, and meanwhile the masters and the control plane are done."""
    report = scene.needs_report()
    failed = any(FAILED_DRAIN in one.description for one in report.insights)
    need(failed, f"the UpdateStatus does not say that the drain of {STUCK} failed")
    need(scene.needs(Node, STUCK).object.spec.unschedulable, f"{STUCK} is not cordoned")
    _need_updated_operators(scene, report, {*scene.of(ClusterOperator)})
    _need_updated_nodes(scene, report, "master")
    need(report.control_plane.completed, "the UpdateStatus does not say that the control plane is updated")
    return f"control plane updated; {STUCK} is Degraded: {FAILED_DRAIN}"


def drain_goes_on(scene: Scene, _: Moment) -> str:
    report = scene.needs_report()
    _need_updated_nodes(scene, report, "infra")
    need(_summaries(report) == PAUSED, f"the UpdateStatus says: {_summaries(report)}")
    return "both Nodes of infra are updated; only the paused pool is left"


def everything_is_updated(scene: Scene, _: Moment) -> str:
    report = scene.needs_report(updating=False)
    for pool in SIZES:
        _need_updated_nodes(scene, report, pool)
    record = scene.record
    if record is None or record.state != COMPLETED:
        raise Missing("there is no record of a completed update")
    unnoticed = scene.of(ClusterOperator).keys() - {one.name for one in record.operators}
    unnoticed |= scene.of(Node).keys() - {one.name for one in record.nodes}
    need(not unnoticed, f"the record does not have {_names(unnoticed)}")
    still = [one.summary for one in record.troubles if one.resolved is None]
    count = len(record.troubles)
    need(count >= 3 and not still, f"the record has {count} troubles, of which {len(still)} are open")
    return (
        f"all at {TARGET}; the record has {len(record.operators)} operators, {len(record.nodes)} Nodes "
        f"and {count} troubles, all resolved"
    )


def _need_updated_operators(scene: Scene, report: Report, wanted: set[str]) -> None:
    """The operators that are updated are `wanted`, by the cluster and by Windlass."""
    said = {one.name for one in report.control_plane.operators if one.state is State.UPDATED}
    for source, found in (("the ClusterOperators", scene.operators_at(TARGET)), ("the UpdateStatus", said)):
        need(found == wanted, f"{source} have updated: {_names(found)}; expected: {_names(wanted)}")


def _need_updated_nodes(scene: Scene, report: Report, pool: str) -> None:
    """All Nodes of the pool are updated, by the cluster and by Windlass."""
    said = {name for name, phase in phases_of(report, pool).items() if phase is Phase.UPDATED}
    for source, found in (("annotations", scene.updated_nodes(pool)), ("the UpdateStatus", said)):
        left = scene.nodes_of(pool).keys() - found
        need(not left, f"by {source}, these Nodes are not updated: {_names(left)}")


def _need_summary(report: Report, summary: str) -> None:
    found = any(one.summary == summary for one in report.insights)
    need(found, f"the UpdateStatus does not say: {summary}; it says: {_summaries(report)}")


def _summaries(report: Report) -> str:
    return "; ".join(one.summary for one in report.insights)


def _names(found: Iterable[str]) -> str:
    return ", ".join(sorted(found)) or "none"
