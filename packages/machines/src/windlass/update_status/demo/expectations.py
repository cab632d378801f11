"""The expectations of the story's steps: each compares what Windlass says with what the cluster says.

Pure functions: each takes the scene and the step's beginning, and returns either what happened or what is missing.
"""

from typing import Final, TypeAlias

from windlass.demo import story
from windlass.demo.story import Moment, Observed, met, missing
from windlass.update_status.demo.scene import LAYOUT, Scene, operator_of, phases_of
from windlass.update_status.history import COMPLETED
from windlass.update_status.report import Health, Phase, Report, State

Expectation: TypeAlias = story.Expectation[Scene]

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


def kinds_are_served(scene: Scene, _: Moment[Scene]) -> Observed:
    if why := scene.unserved:
        return missing(why)
    return met(f"etcd, kube-apiserver {scene.version} and kube-controller-manager run, with the kinds of OpenShift")


def cluster_rests(scene: Scene, _: Moment[Scene]) -> Observed:
    if len(scene.operators) != OPERATORS:
        return missing(f"there are {len(scene.operators)} ClusterOperators, not {OPERATORS}")
    sizes = {name: len(scene.nodes_of(name)) for name in scene.pools}
    if sizes != SIZES:
        return missing(f"the pools have these numbers of Nodes: {sizes}")
    if not scene.progressing.startswith("Cluster version is "):
        return missing(f"ClusterVersion says: {scene.progressing or '(nothing)'}")
    return met(f"{scene.progressing}: {OPERATORS} operators, 3 masters, 6 workers in the pools worker and infra")


def windlass_reports_rest(scene: Scene, _: Moment[Scene]) -> Observed:
    if why := scene.idle:
        return missing(why)
    if scene.report is None:
        return missing("the UpdateStatus has not been written")
    if scene.report.updating:
        return missing("the UpdateStatus says that the cluster is updating")
    return met(f"Windlass leads as {scene.leader}, and the UpdateStatus says that the cluster is not updating")


def operators_update(*updated: str, working: str) -> Expectation:
    """The operators `updated` are at the target, `working` works on it, the others wait."""

    def look(scene: Scene, _: Moment[Scene]) -> Observed:
        report = scene.report
        if report is None or not report.updating:
            return missing("the UpdateStatus does not say that the cluster is updating")
        if problem := _operators(scene, report, {*updated}):
            return missing(problem)
        found = operator_of(report, working)
        if found is None or found.state is not State.PROGRESSING:
            return missing(f"the UpdateStatus has {working} as {found.state if found else 'absent'}, not Progressing")
        return met(f"{', '.join(updated)} updated, {working} works on {TARGET}; the ClusterOperators say the same")

    return look


def operator_is_degraded(scene: Scene, _: Moment[Scene]) -> Observed:
    if not _has(scene, SICK, "Degraded"):
        return missing(f"ClusterOperator {SICK} is not Degraded")
    report = scene.report
    found = operator_of(report, SICK) if report else None
    if report is None or found is None or found.health is not Health.DEGRADED:
        return missing(f"the UpdateStatus does not have {SICK} as degraded")
    if UNWELL not in _summaries(report):
        return missing("the UpdateStatus does not say that the update is failing")
    return met(f"{SICK} is Degraded; {UNWELL}")


def operators_are_done(scene: Scene, _: Moment[Scene]) -> Observed:
    """All but the one that updates the Nodes, and nothing needs attention."""
    report = scene.report
    if _has(scene, SICK, "Degraded") or report is None:
        return missing(f"ClusterOperator {SICK} is Degraded")
    if problem := _operators(scene, report, scene.operators.keys() - {LAST}):
        return missing(problem)
    if found := _summaries(report):
        return missing(f"the UpdateStatus still says: {found[0]}")
    return met(f"{SICK} has recovered; all operators but {LAST} are at {TARGET}, and nothing needs attention")


def pool_stands_still(scene: Scene, _: Moment[Scene]) -> Observed:
    """The paused pool waits, while a Node of each other pool is being updated."""
    report = scene.report
    found = scene.pools.get(PAUSED_POOL)
    if found is None or not found.object.spec.paused:
        return missing(f"pool {PAUSED_POOL} is not paused")
    if report is None or {*phases_of(report, PAUSED_POOL).values()} != {Phase.PAUSED}:
        return missing(f"the UpdateStatus does not have all Nodes of {PAUSED_POOL} as Paused")
    if PAUSED not in _summaries(report):
        return missing(f"the UpdateStatus does not say that pool {PAUSED_POOL} is paused")
    phase = phases_of(report, "infra").get(STUCK)
    if phase is not Phase.DRAINING:
        return missing(f"the UpdateStatus has {STUCK} as {phase}, not Draining")
    return met(f"all {SIZES[PAUSED_POOL]} Nodes of {PAUSED_POOL} are Paused; masters and infra begin")


def drain_hangs(scene: Scene, _: Moment[Scene]) -> Observed:
    """The drain has failed, and meanwhile the masters and the control plane are done."""
    report = scene.report
    if report is None or not any(FAILED_DRAIN in one.description for one in report.insights):
        return missing(f"the UpdateStatus does not say that the drain of {STUCK} failed")
    if not scene.nodes[STUCK].object.spec.unschedulable:
        return missing(f"{STUCK} is not cordoned")
    if problem := _operators(scene, report, {*scene.operators}) or _nodes(scene, report, "master"):
        return missing(problem)
    if report.control_plane.completed is None:
        return missing("the UpdateStatus does not say that the control plane is updated")
    return met(f"control plane updated; {STUCK} is Degraded: {FAILED_DRAIN}")


def drain_goes_on(scene: Scene, _: Moment[Scene]) -> Observed:
    report = scene.report
    if report is None:
        return missing("there is no UpdateStatus")
    if problem := _nodes(scene, report, "infra"):
        return missing(problem)
    if (found := _summaries(report)) != [PAUSED]:
        return missing(f"the UpdateStatus says: {'; '.join(found)}")
    return met("both Nodes of infra are updated; only the paused pool is left")


def everything_is_updated(scene: Scene, _: Moment[Scene]) -> Observed:
    report, record = scene.report, scene.record
    if report is None:
        return missing("there is no UpdateStatus")
    for pool in SIZES:
        if problem := _nodes(scene, report, pool):
            return missing(problem)
    if report.updating:
        return missing("the UpdateStatus says that the cluster is updating")
    if record is None or record.state != COMPLETED:
        return missing("there is no record of a completed update")
    unnoticed = scene.operators.keys() - {one.name for one in record.operators}
    unnoticed |= scene.nodes.keys() - {one.name for one in record.nodes}
    if unnoticed:
        return missing(f"the record does not have {', '.join(sorted(unnoticed))}")
    still = [one.summary for one in record.troubles if one.resolved is None]
    if still or len(record.troubles) < 3:
        return missing(f"the record has {len(record.troubles)} troubles, of which {len(still)} are open")
    return met(
        f"all at {TARGET}; the record has {len(record.operators)} operators, {len(record.nodes)} Nodes "
        f"and {len(record.troubles)} troubles, all resolved"
    )


def _operators(scene: Scene, report: Report, wanted: set[str]) -> str:
    """How the updated operators differ from `wanted`, by the cluster and by Windlass; empty if they do not."""
    said = {one.name for one in report.control_plane.operators if one.state is State.UPDATED}
    for source, found in (("the ClusterOperators", scene.operators_at(TARGET)), ("the UpdateStatus", said)):
        if found != wanted:
            return f"{source} have updated: {_names(found)}; expected: {_names(wanted)}"
    return ""


def _nodes(scene: Scene, report: Report, pool: str) -> str:
    """The Nodes of the pool that are not updated, by the cluster or by Windlass; empty if all are."""
    said = {name for name, phase in phases_of(report, pool).items() if phase is Phase.UPDATED}
    for source, found in (("annotations", scene.updated_nodes(pool)), ("the UpdateStatus", said)):
        if left := scene.nodes_of(pool).keys() - found:
            return f"by {source}, these Nodes are not updated: {_names(left)}"
    return ""


def _has(scene: Scene, operator: str, condition: str) -> bool:
    found = scene.operators.get(operator)
    conditions = found.object.status.conditions if found else []
    return any((one.type, one.status) == (condition, "True") for one in conditions)


def _summaries(report: Report) -> list[str]:
    return [one.summary for one in report.insights]


def _names(found: set[str]) -> str:
    return ", ".join(sorted(found)) or "none"
