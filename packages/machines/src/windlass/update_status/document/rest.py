"""Nodes at rest: those of which there is nothing to tell but their version, and whether it is the wanted one.

Most nodes are at rest at any moment. As insights, with three conditions each, they were nine tenths of the object, and
each change of one node is a write of all of it.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Final

import msgspec

from windlass.api.update import NodeAtRest, RestState
from windlass.api.update_insights import NodeInsight
from windlass.update_status.document.plane_parts import is_version
from windlass.update_status.document.validity import trouble
from windlass.update_status.document.writer import Writer, written, written_if_known
from windlass.update_status.report import Node, Phase, Pool
from windlass.update_status.times import known_moment

MOST_BYTES: Final = 448 * 1024
"""Of all nodes at rest together: half of what there is room for."""

_STATES: Final[dict[Phase, RestState]] = {
    Phase.PENDING: "Pending",
    Phase.PAUSED: "Paused",
    Phase.UPDATED: "Updated",
}
_PHASES: Final = {state: phase for phase, state in _STATES.items()}
_REASONS: Final = {"Completed": "Updated"}
"""Reasons of the condition Updating that are called otherwise here."""


def is_at_rest(node: Node) -> bool:
    """Whether it needs no insight of its own."""
    away = node.unavailable or node.degraded or node.unavailable_since or node.degraded_since
    known = node.managed and not node.windows and (not node.version or is_version(node.version))
    return known and not away and not node.updating and node.phase in _STATES


def at_rest(
    pools: Sequence[Pool],
    before: Mapping[str, Mapping[str, NodeAtRest]],
    insights: Mapping[str, Mapping[str, NodeInsight]],
    writer: Writer,
    invalid: list[str],
) -> dict[str, tuple[NodeAtRest, ...]]:
    """The nodes at rest of each pool. `before` are those that stand, and `insights` the nodes that were not at rest.

    What the API server would refuse is appended to `invalid`, in words.
    """
    found: dict[str, list[NodeAtRest]] = {pool.name: [] for pool in pools}
    for pool in pools:
        stood, told = before.get(pool.name, {}), insights.get(pool.name, {})
        for node in filter(is_at_rest, pool.nodes):
            one = _written(node, stood.get(node.name), told.get(node.name), writer)
            if one is not stood.get(node.name) and (why := trouble(one)):
                invalid.append(f"Node {node.name[:64]!r}: {why}")
            else:
                found[pool.name].append(one)
    return {name: tuple(nodes) for name, nodes in _within_bytes(found, writer).items()}


def _written(node: Node, before: NodeAtRest | None, insight: NodeInsight | None, writer: Writer) -> NodeAtRest:
    state, since = _STATES[node.phase], written_if_known(node.since)
    seen = None if since else _seen(state, before, insight) or written(writer.now)
    one = NodeAtRest(
        name=node.name,
        state=state,
        version=node.version or None,
        step=node.step,
        step_started_at=since,
        observed_since=seen,
    )
    return before if before == one and before is not None else one


def _seen(state: RestState, before: NodeAtRest | None, insight: NodeInsight | None) -> str | None:
    if before is not None:
        return (before.observed_since or before.step_started_at) if before.state == state else None
    if insight is None:
        return None
    reason = next((one.reason for one in insight.conditions if one.type == "Updating"), "")
    return insight.observed_since if _REASONS.get(reason, reason) == state else None


def _within_bytes(found: dict[str, list[NodeAtRest]], writer: Writer) -> dict[str, list[NodeAtRest]]:
    """Updated nodes are left out first, and of each state the last ones of the last pool."""
    total = len(msgspec.json.encode([*found.values()]))
    if total <= MOST_BYTES:
        return found
    kept = {name: list(nodes) for name, nodes in found.items()}
    for updated in (True, False):
        for nodes in reversed([*kept.values()]):
            for place in range(len(nodes) - 1, -1, -1):
                if total > MOST_BYTES and (nodes[place].state == "Updated") is updated:
                    total -= len(msgspec.json.encode(nodes.pop(place))) + 1
    for name, nodes in kept.items():
        if left_out := len(found[name]) - len(nodes):
            writer.said.append(f"{left_out} nodes at rest of pool {name} were left out")
    return kept


def standing(pools: Iterable[tuple[str, Sequence[NodeAtRest]]]) -> dict[str, dict[str, NodeAtRest]]:
    """The nodes at rest of each pool by their names."""
    return {name: {node.name: node for node in nodes} for name, nodes in pools}


def in_order(insights: Iterable[Node], resting: Iterable[NodeAtRest]) -> tuple[Node, ...]:
    """All nodes of a pool, by their names, as the API server lists them."""
    return tuple(sorted(chain(insights, map(_node, resting)), key=lambda node: node.name))


def _node(found: NodeAtRest) -> Node:
    return Node(
        name=found.name,
        phase=_PHASES[found.state],
        since=known_moment(found.step_started_at),
        first_seen=known_moment(found.observed_since),
        step=found.step,
        version=found.version or "",
    )
