"""Pools and nodes as insights, and back. `before` is the same insight as it stands."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, Literal, get_args

from msgspec import Struct

from windlass.api.machineconfiguration import GROUP as MACHINE_CONFIGURATION
from windlass.api.update import NodeAtRest
from windlass.api.update_insights import (
    MOST_NODE_MESSAGE,
    MachineConfigPoolInsight,
    NodeCondition,
    NodeCount,
    NodeCountType,
    NodeInsight,
    PoolCondition,
    PoolRef,
    ResourceRef,
    ScopeType,
    Status,
)
from windlass.update_status.constants import CONTROL_PLANE_POOLS
from windlass.update_status.document.plane_parts import condition_of, estimate_of, expected_end, is_version
from windlass.update_status.document.rest import in_order
from windlass.update_status.document.writer import Writer, fitting, written, written_if_known
from windlass.update_status.report import Node, Phase, Pool, Summary
from windlass.update_status.times import known_moment, moment

NodeReason = Literal[
    "Draining", "Updating", "Rebooting", "Paused", "Pending", "Completed", "CannotDetermine", "Windows"
]
_COUNTS: Final[tuple[NodeCountType, ...]] = get_args(NodeCountType)


@lru_cache(maxsize=64)
def pool_ref(name: str) -> ResourceRef:
    return ResourceRef(group=MACHINE_CONFIGURATION, resource="machineconfigpools", name=name)


@lru_cache(maxsize=64)
def _pool_of(name: str) -> PoolRef:
    """The same in an insight."""
    return PoolRef(group="machineconfiguration.openshift.io", resource="machineconfigpools", name=name)


def scope_of_pool(name: str) -> ScopeType:
    return "ControlPlane" if name in CONTROL_PLANE_POOLS else "WorkerPool"


# Pools.


def pool_condition(summary: Summary, before: tuple[PoolCondition, ...], writer: Writer) -> PoolCondition:
    status: Status = "False"
    reason: Literal["Progressing", "Pending", "Updated", "Excluded"]
    if not summary.left:
        reason = "Updated"
    elif summary.progressing:
        status, reason = "True", "Progressing"
    elif summary.pending == summary.total:
        reason = "Pending"
    elif summary.excluded:
        reason = "Excluded"
    else:
        status, reason = "True", "Progressing"
    return PoolCondition(
        type="Updating",
        status=status,
        reason=reason,
        message="",
        last_transition_time=writer.changed(before, "Updating", status),
    )


def machine_config_pool(
    pool: Pool, before: MachineConfigPoolInsight | None, writer: Writer
) -> MachineConfigPoolInsight:
    summary, counted = pool.summary, pool.without_windows.summary
    return MachineConfigPoolInsight(
        conditions=(pool_condition(summary, before.conditions if before else (), writer),),
        name=pool.name,
        resource=_pool_of(pool.name),
        scope_type=scope_of_pool(pool.name),
        assessment=pool.assessment,
        completion_percent=round(counted.updated / counted.managed * 100) if counted.managed else 100,
        rollout_state="Paused" if pool.paused else "Unpaused",
        expected_end=expected_end(pool.expected, before.expected_end if before else None, writer),
        summaries=tuple(NodeCount(type=kind, count=getattr(summary, kind.lower())) for kind in _COUNTS),
        unmanaged=summary.unmanaged,
    )


def pool_of(
    name: str,
    found: MachineConfigPoolInsight | None,
    nodes: Iterable[NodeInsight],
    resting: Iterable[NodeAtRest] = (),
) -> Pool:
    # An object of an earlier version says it by `paused`.
    paused = found is not None and (found.rollout_state == "Paused" or found.paused)
    return Pool(
        name=name,
        paused=paused,
        degraded=found is not None and found.assessment == "Degraded",
        expected=estimate_of(found.expected_end) if found else None,
        summary=_summary(found) if found else Summary(),
        nodes=in_order((_node(node, paused=paused) for node in nodes), resting),
    )


def _summary(found: MachineConfigPoolInsight) -> Summary:
    return Summary(unmanaged=found.unmanaged, **{one.type.lower(): one.count for one in found.summaries})


# Nodes.


class _PhaseText(Struct, frozen=True):
    reason: NodeReason
    message: str
    seconds: int | None


_PHASES: Final = {
    Phase.DRAINING: _PhaseText("Draining", "The node is draining", 600),
    Phase.UPDATING: _PhaseText("Updating", "The node is updating", 300),
    Phase.REBOOTING: _PhaseText("Rebooting", "The node is rebooting", 300),
    Phase.PAUSED: _PhaseText("Paused", "The update of the node is paused", 0),
    Phase.PENDING: _PhaseText("Pending", "The update of the node is pending", None),
    Phase.UPDATED: _PhaseText("Completed", "The node is updated", 0),
}
_UNMANAGED: Final = _PhaseText("CannotDetermine", "No Machine Config Daemon has annotated the node yet", None)
_WINDOWS: Final = _PhaseText("Windows", "The node runs Windows, and belongs to no MachineConfigPool", None)
_PHASE_OF: Final[dict[str, Phase]] = {text.reason: phase for phase, text in _PHASES.items()}


def node_insight(
    node: Node, pool: str, resting: NodeAtRest | None, before: NodeInsight | None, writer: Writer
) -> NodeInsight:
    """`resting`: the node as it stands, if it was at rest until now."""
    guessed = not node.managed and node.phase in (Phase.PAUSED, Phase.PENDING)
    phase = (_WINDOWS if node.windows else _UNMANAGED) if guessed else _PHASES[node.phase]
    name = f"Node {node.name}"
    stood = before.conditions if before else ()
    updating: Status = "True" if node.updating else "False" if node.managed else "Unknown"
    available: Status = "False" if node.unavailable else "True"
    degraded: Status = "True" if node.degraded else "False"
    return NodeInsight(
        conditions=(
            NodeCondition(
                type="Updating",
                status=updating,
                reason=phase.reason,
                message=_WINDOWS.message if node.windows else phase.message,
                last_transition_time=writer.changed(stood, "Updating", updating),
            ),
            NodeCondition(
                type="Available",
                status=available,
                reason="Unavailable" if node.unavailable else "AsExpected",
                message=writer.message(node.why_unavailable, name) if node.unavailable else "The node is available",
                last_transition_time=writer.changed(stood, "Available", available, node.unavailable_since),
            ),
            NodeCondition(
                type="Degraded",
                status=degraded,
                reason="Degraded" if node.degraded else "AsExpected",
                message=writer.message(node.why_degraded, name) if node.degraded else "The node is not degraded",
                last_transition_time=writer.changed(stood, "Degraded", degraded, node.degraded_since),
            ),
        ),
        name=node.name,
        resource=ResourceRef(resource="nodes", name=node.name),
        pool_resource=_pool_of(pool),
        scope_type=scope_of_pool(pool),
        version=_version(node, writer),
        estimated_seconds_to_complete=_seconds(node) if node.managed else None,
        # The conditions have the whole text, so that nothing is lost.
        message=fitting(node.message, MOST_NODE_MESSAGE),
        step=node.step,
        step_started_at=written_if_known(node.since),
        unavailable_since=written_if_known(node.unavailable_since),
        degraded_since=written_if_known(node.degraded_since),
        observed_since=_observed_since(phase.reason, resting, before) or written(writer.now),
    )


def _observed_since(reason: NodeReason, resting: NodeAtRest | None, before: NodeInsight | None) -> str | None:
    """Since when it is seen in its phase, if it was in that before."""
    if before is not None:
        return before.observed_since if condition_of(before.conditions, "Updating").reason == reason else None
    if resting is not None and {"Updated": "Completed"}.get(resting.state, resting.state) == reason:
        return resting.step_started_at or resting.observed_since
    return None


def _version(node: Node, writer: Writer) -> str | None:
    if node.version and not is_version(node.version):
        writer.said.append(f"the version of Node {node.name} was left out: {node.version[:64]!r} is not a version")
        return None
    return node.version or None


def _seconds(node: Node) -> int | None:
    if node.degraded or node.out_of_service:
        return 0 if node.updated else None
    return _PHASES[node.phase].seconds


def drains(found: NodeInsight) -> bool:
    return condition_of(found.conditions, "Updating").reason == _PHASES[Phase.DRAINING].reason


def _node(found: NodeInsight, *, paused: bool) -> Node:
    updating, available, degraded = (
        condition_of(found.conditions, kind) for kind in ("Updating", "Available", "Degraded")
    )
    # The text of oc has the phase of a Windows node too, if it has the annotations of a Machine Config Daemon.
    windows = updating.message == _WINDOWS.message
    managed = not windows and updating.reason != _UNMANAGED.reason
    unavailable, is_degraded = available.status == "False", degraded.status == "True"
    return Node(
        name=found.name,
        phase=_PHASE_OF.get(updating.reason, Phase.PAUSED if paused and not managed else Phase.PENDING),
        managed=managed,
        windows=windows,
        since=known_moment(found.step_started_at),
        first_seen=moment(found.observed_since),
        step=found.step,
        updating=updating.status == "True",
        version=found.version or "",
        unavailable=unavailable,
        unavailable_since=known_moment(found.unavailable_since),
        why_unavailable=available.message if unavailable else "",
        degraded=is_degraded,
        degraded_since=known_moment(found.degraded_since),
        why_degraded=degraded.message if is_degraded else "",
    )
