"""Renders pools and their nodes."""

from collections.abc import Sequence
from typing import Final

from windlass.update_status.report import Assessment, Node, Phase, Pool, Summary
from windlass.update_status.text.table import table

SHOWN = 10
"""So many nodes of a pool are always shown; of the others only those in trouble."""

SHORTEST_REPLACED = 8
"""A node's name with at least so many bytes is `<node>` in its message; a shorter one may be part of a word."""

_ASSESSMENTS: Final = {assessment: place for place, assessment in enumerate(Assessment)}
_PHASES: Final = {phase: place for place, phase in enumerate(Phase)}

_ESTIMATES: Final = {
    Phase.DRAINING: "+10m",
    Phase.UPDATING: "+5m",
    Phase.REBOOTING: "+5m",
    Phase.PAUSED: "-",
    Phase.PENDING: "?",
    Phase.UPDATED: "-",
}


def control_plane_nodes(pool: Pool, *, every_node: bool) -> str:
    """The nodes of the control plane, "" if there are none."""
    if not pool.nodes:
        return ""
    if not pool.summary.outdated:
        version = node_version(in_order(pool.nodes)[0])
        return f"All control plane nodes successfully updated to {version}\n"
    return "Control Plane Nodes\n" + _nodes(pool.nodes, every_node=every_node)


def worker_pools(pools: Sequence[Pool]) -> str:
    """All pools of workers; "" if none of them has a node."""
    if not any(pool.nodes for pool in pools):
        return ""
    rows = [_pool(pool) for pool in pools]
    return "= Worker Upgrade =\n\n" + table(("WORKER POOL", "ASSESSMENT", "COMPLETION", "STATUS"), *rows)


def pool_nodes(pool: Pool, *, every_node: bool) -> str:
    """The nodes of a pool of workers, "" if there are none."""
    return f"Worker Pool Nodes: {pool.name}\n{_nodes(pool.nodes, every_node=every_node)}" if pool.nodes else ""


def in_order(nodes: Sequence[Node]) -> list[Node]:
    """Nodes in trouble first, updated nodes last."""
    return sorted(nodes, key=lambda node: (_ASSESSMENTS[node.assessment], _PHASES[node.phase], node.name))


def node_version(node: Node) -> str:
    return node.version or "?"


def node_estimate(node: Node) -> str:
    """How long the node will still take; `?` if nothing tells, `-` if it is updated or not going to be."""
    if node.degraded or node.out_of_service:
        return "-" if node.updated else "?"
    return _ESTIMATES[node.phase]


def node_message(node: Node) -> str:
    if len(node.name.encode()) < SHORTEST_REPLACED:
        return node.message
    return node.message.replace(node.name, "<node>")


def pool_completion(summary: Summary) -> str:
    return f"{summary.updated / summary.total * 100:.0f}% ({summary.updated}/{summary.total})"


def pool_status(summary: Summary) -> str:
    text = f"{summary.available} Available, {summary.progressing} Progressing, {summary.draining} Draining"
    if summary.excluded:
        text += f", {summary.excluded} Excluded"
    return f"{text}, {summary.degraded} Degraded" if summary.degraded else text


def _pool(pool: Pool) -> tuple[str, ...]:
    summary = pool.summary
    if not summary.total:
        return pool.name, "Empty", "", "0 Total"
    return pool.name, summary.assessment_by_oc, pool_completion(summary), pool_status(summary)


def _nodes(nodes: Sequence[Node], *, every_node: bool) -> str:
    rows, omitted = [], []
    for place, node in enumerate(in_order(nodes)):
        if every_node or place < SHOWN or node.degraded or node.out_of_service:
            rows.append(_node(node))
        else:
            omitted.append(node)
    return table(("NAME", "ASSESSMENT", "PHASE", "VERSION", "EST", "MESSAGE"), *rows) + _summary(omitted)


def _node(node: Node) -> tuple[str, ...]:
    return node.name, node.assessment, node.phase, node_version(node), node_estimate(node), node_message(node)


def _summary(nodes: Sequence[Node]) -> str:
    """What the nodes do that are not shown. None of them is degraded."""
    if not nodes:
        return ""
    updated, available = sum(node.updated for node in nodes), sum(not node.unavailable for node in nodes)
    progressing = sum(node.assessment is Assessment.PROGRESSING for node in nodes)
    draining, excluded = (sum(node.phase is phase for node in nodes) for phase in (Phase.DRAINING, Phase.PAUSED))
    return (
        f"...\nOmitted additional {len(nodes)} Total, {updated} Completed, {available} Available, {progressing} "
        f"Progressing, {len(nodes) - updated} Outdated, {draining} Draining, {excluded} Excluded, and 0 Degraded "
        "nodes.\nPass along --details=nodes to see all information.\n"
    )
