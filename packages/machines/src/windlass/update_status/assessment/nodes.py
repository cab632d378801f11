"""Assesses a node: its phase by the annotations of the Machine Config Operator, and what needs attention.

A node is managed once its Machine Config Daemon has annotated it with its configuration, as the Machine Config Operator
counts. A MachineConfigNode, where it is served, knows when a step began; annotations do not. Of a drain, the taint that
comes with the cordon knows it too.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from windlass.api import core
from windlass.api.machineconfiguration import GROUP, MachineConfigNode, MachineConfigPool
from windlass.update_status.assessment.availability import (
    DEGRADED_STATES,
    Unavailability,
    not_ready_since,
    unavailability,
)
from windlass.update_status.constants import (
    CURRENT_CONFIG,
    DESIRED_CONFIG,
    DESIRED_DRAIN,
    LAST_APPLIED_DRAIN,
    MASTER,
    OS_LABEL,
    REASON,
    STATE,
    UNSCHEDULABLE,
    WINDOWS,
)
from windlass.update_status.report import Impact, Insight, Level, Node, Phase, Reference, Scope
from windlass.update_status.times import ZERO, Moment, known_moment

_DOCS: Final = "https://docs.openshift.com/container-platform/latest"
NODE_DOCS: Final = (
    f"{_DOCS}/post_installation_configuration/machine-configuration-tasks.html"
    "#understanding-the-machine-config-operator"
)
PAUSED_DOCS: Final = (
    f"{_DOCS}/support/troubleshooting/troubleshooting-operator-issues.html"
    "#troubleshooting-disabling-autoreboot-mco_troubleshooting-operator-issues"
)

STEPS: Final = {
    "UpdatePrepared": "preparing",
    "UpdateExecuted": "executing",
    "Cordoned": "cordoning",
    "Drained": "draining",
    "AppliedFilesAndOS": "applying files and OS image",
    "AppliedFiles": "applying files",
    "AppliedOSImage": "applying the OS image",
    "ImagePulledFromRegistry": "pulling the OS image",
    "UpdatePostActionComplete": "finishing",
    "RebootedNode": "rebooting",
    "Resumed": "resuming",
    "UpdateComplete": "completing",
    "Uncordoned": "uncordoning",
}
"""The steps of a MachineConfigNode in their order; a condition that is Unknown is under way.

UpdateExecuted and UpdatePostActionComplete are under way as long as their parts are, and stand before them.
"""


class Update(Struct, frozen=True, kw_only=True):
    """What all nodes are judged by.

    target      the version of the newest history item, None without a history
    began       when that item began; ZERO: unknown
    multi_arch  a migration to several architectures is in progress: all nodes get new configurations of one version
    versions    the releases of MachineConfigs
    progress    MachineConfigNodes by name
    """

    target: str | None
    began: Moment = ZERO
    multi_arch: bool
    versions: Mapping[str, str]
    progress: Mapping[str, MachineConfigNode]
    wall: Moment


class NodeFound(Struct, frozen=True):
    """A node, and the insights into it."""

    node: Node
    insights: tuple[Insight, ...] = ()


def assess_node(node: core.Node, pool: MachineConfigPool, update: Update) -> NodeFound:
    said = node.metadata.annotations
    windows = node.metadata.labels.get(OS_LABEL) == WINDOWS
    phase, updating = _phase(said, pool, update)
    why = unavailability(node, pool)
    degraded = bool(said.get(DESIRED_CONFIG)) and said.get(STATE) in DEGRADED_STATES
    progress = update.progress.get(node.metadata.name)
    since, step = _step(progress, phase, degraded=degraded)
    if since is None and phase is Phase.DRAINING:
        since = _cordoned(node, update.began)
    elif since is None and updating and why is None:
        since = not_ready_since(node)  # of a node with another image than its pool, nothing else tells
    found = Node(
        name=node.metadata.name,
        phase=phase,
        managed=bool(said.get(CURRENT_CONFIG)) and not windows,
        windows=windows,
        updating=updating,
        version=update.versions.get(said.get(CURRENT_CONFIG, ""), ""),
        unavailable=why is not None,
        why_unavailable=why.short if why else "",
        unavailable_since=why.since if why else None,
        degraded=degraded,
        why_degraded=said.get(REASON, "") if degraded else "",
        degraded_since=_degraded_since(progress) if degraded else None,
        since=since,
        step=step,
    )
    return NodeFound(found, _insights(found, why, pool.metadata.name, update.wall))


def paused_pool(pool: MachineConfigPool) -> Insight:
    """Nodes of the pool wait until somebody unpauses it."""
    name = pool.metadata.name
    return Insight(
        level=Level.WARNING,
        impact=Impact.UPDATE_STALLED,
        summary=f"Outdated nodes in a paused pool '{name}' will not be updated",
        description="Pool is paused, which stops all changes to the nodes in the pool, including updates. The nodes "
        "will not be updated until the pool is unpaused by the administrator.",
        reference=PAUSED_DOCS,
        started=None,
        resources=(Reference(GROUP, "machineconfigpools", name),),
        scope=Scope.WORKER_POOL,
        pool="" if name == MASTER else name,
    )


def _phase(said: Mapping[str, str], pool: MachineConfigPool, update: Update) -> tuple[Phase, bool]:
    """The phase, and whether the node is being updated."""
    current, desired = said.get(CURRENT_CONFIG, ""), said.get(DESIRED_CONFIG, "")
    version, next_version = update.versions.get(current, ""), update.versions.get(desired, "")
    arrived, on_pool = current == desired, desired == pool.spec.configuration.name
    # In a migration to several architectures, the old and the new configuration are of the same version.
    settled = not update.multi_arch or DESIRED_CONFIG not in said or (arrived and on_pool)
    if version and version == update.target and settled:
        return Phase.UPDATED, False
    if version and next_version and next_version == update.target and not arrived and on_pool:
        return _phase_of_update(said), True
    return (Phase.PAUSED if pool.spec.paused else Phase.PENDING), False


def _phase_of_update(said: Mapping[str, str]) -> Phase:
    desired, applied, state = said.get(DESIRED_DRAIN, ""), said.get(LAST_APPLIED_DRAIN, ""), said.get(STATE, "")
    if desired and applied:
        asked_to_drain = desired != applied and desired.partition("-")[0] == "drain"
        # Done while being updated: the daemon has not begun yet.
        if asked_to_drain or state == "Done":
            return Phase.DRAINING
    return {"Rebooting": Phase.REBOOTING, "Done": Phase.UPDATED}.get(state, Phase.UPDATING)


def _step(found: MachineConfigNode | None, phase: Phase, *, degraded: bool) -> tuple[Moment | None, str]:
    """Since when the node is in its state, and the step that it is at, as far as a MachineConfigNode tells."""
    if found is None:
        return None, ""
    conditions = {one.type: one for one in found.status.conditions}
    if degraded and (bad := conditions.get("NodeDegraded")) and bad.status == "True":
        return known_moment(bad.last_transition_time), ""
    unknown = {name for name, one in conditions.items() if one.status == "Unknown"}
    under_way = [name for name in STEPS if name in unknown] if unknown else []
    if phase is Phase.UPDATED or not under_way:
        updated = conditions.get("Updated")
        settled = updated is not None and updated.status == ("True" if phase is Phase.UPDATED else "False")
        return (known_moment(updated.last_transition_time) if updated and settled else None), ""
    return known_moment(conditions[under_way[-1]].last_transition_time), STEPS[under_way[-1]]


def _cordoned(node: core.Node, began: Moment) -> Moment | None:
    """When the node was cordoned, if that was during the update: it may have been for another reason before."""
    times = [known_moment(taint.time_added) for taint in node.spec.taints if taint.key == UNSCHEDULABLE]
    return next((time for time in times if time is not None and time >= began), None)


def _degraded_since(found: MachineConfigNode | None) -> Moment | None:
    said = (one for one in found.status.conditions if one.type == "NodeDegraded") if found else ()
    return next((known_moment(one.last_transition_time) for one in said if one.status == "True"), None)


def _insights(node: Node, why: Unavailability | None, pool: str, wall: Moment) -> tuple[Insight, ...]:
    found = []
    scope = Scope.CONTROL_PLANE if pool == MASTER else Scope.WORKER_POOL
    place = "" if pool == MASTER else pool
    resources = (Reference("", "nodes", node.name),)
    if why and node.out_of_service and why.is_serious(wall):
        found.append(
            Insight(
                level=Level.WARNING,
                impact=Impact.UPDATE_SPEED,
                summary=why.title,
                description=node.why_degraded if node.degraded else why.text,
                reference=NODE_DOCS,
                started=why.since,
                resources=resources,
                scope=scope,
                pool=place,
            )
        )
    if node.degraded:
        found.append(
            Insight(
                level=Level.ERROR,
                impact=Impact.UPDATE_STALLED,
                summary=f"Node {node.name} is degraded",
                description=node.why_degraded,
                reference=NODE_DOCS,
                started=None,
                resources=resources,
                scope=scope,
                pool=place,
            )
        )
    return tuple(found)
