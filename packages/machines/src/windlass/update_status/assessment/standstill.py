"""Finds what is under way and makes no progress for longer than it takes: nodes, and whole pools.

| what | known since | stands still after, at least |
|---|---|---|
| a node that drains | MachineConfigNode, record, cordon | 1 hour: so long the Machine Config Operator tries |
| a node that works or restarts, and is not available | its conditions | 15 minutes |
| a node that works or restarts, and is available | MachineConfigNode, record | 30 minutes |
| a pool with nodes that wait, none of them under way | `_last_progress` | 30 minutes; 1 hour if its image is built |

Longer than that where nodes of the pool are known to take longer: a node for as long as only one of a hundred takes,
a pool for as long as four nodes. What is paused, degraded, or not known since when, does not stand still.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from windlass.api.machineconfiguration import GROUP, MachineConfigPool
from windlass.update_status.assessment.builds import Build, Stage
from windlass.update_status.causes.names import listed
from windlass.update_status.conditions import find
from windlass.update_status.constants import CONTROL_PLANE_POOLS, MASTER
from windlass.update_status.expectation.law import Law
from windlass.update_status.expectation.past import Nodes, Past
from windlass.update_status.report import ControlPlane, Impact, Insight, Level, Node, Phase, Pool, Reference, Scope
from windlass.update_status.times import HOUR, MINUTE, SECOND, Duration, Moment, known_moment

DRAIN: Final[Duration] = HOUR
DOWN: Final[Duration] = 15 * MINUTE
WORK: Final[Duration] = 30 * MINUTE
POOL: Final[Duration] = 30 * MINUTE
POOL_BUILDING: Final[Duration] = HOUR

RARE: Final = 0.01
"""The share of nodes that take longer than a node may."""
NODES: Final = 4
"""A pool may take as long as so many of its nodes, one after the other."""

_UNDER_WAY: Final = frozenset({Phase.DRAINING, Phase.UPDATING, Phase.REBOOTING})
_MACHINE: Final = "See the console of the machine of node {0}, and the log of its kubelet."
_DRAIN: Final = "See the causes of the report, and the log of machine-config-controller."
_DAEMON: Final = "See the log of machine-config-daemon on node {0}."
_POOL: Final = "See the log of machine-config-controller, and the nodes of the pool that are degraded or unavailable."


class Known(Struct, frozen=True, kw_only=True):
    """What progress is judged by. `objects` and `builds`: by the name of the pool."""

    plane: ControlPlane
    past: Past
    objects: Mapping[str, MachineConfigPool]
    builds: Mapping[str, Build]
    now: Moment


def standstills(pool: Pool, known: Known) -> Iterator[Insight]:
    """The nodes of the pool that stand still, or the pool itself."""
    under_way = [node for node in pool.nodes if node.phase in _UNDER_WAY and node.managed and not node.degraded]
    for node in under_way:
        yield from _of_node(node, pool, known)
    if not under_way:
        yield from _of_pool(pool, known)


def _of_node(node: Node, pool: Pool, known: Known) -> Iterator[Insight]:
    spent = known.past.under_way.get(node.name)
    began = node.since if spent is None else spent.started
    if node.phase is Phase.DRAINING:
        if began is not None and _is_late(began, DRAIN, pool, known, drains=True):
            yield _of(node, pool, "has drained for longer than nodes do", _DRAIN, began)
        return
    # A node may have been unavailable before its update began.
    if node.unavailable and node.unavailable_since is not None:
        down = max(node.unavailable_since, known.plane.started, known.plane.started if began is None else began)
        if _is_late(down, DOWN, pool, known):
            text = "has not become available after its restart"
            yield _of(node, pool, text, _MACHINE, down, why=node.why_unavailable)
            return
    since = node.since if spent is None else spent.drained or node.since
    if since is not None and _is_late(since, WORK, pool, known):
        yield _of(node, pool, "has been updated for longer than nodes take", _DAEMON, since)


def _is_late(since: Moment, least: Duration, pool: Pool, known: Known, *, drains: bool = False) -> bool:
    if known.now - since <= least:
        return False
    # Only now, since it reads all records.
    of_nodes = known.past.nodes(pool.name)
    law: Law = of_nodes.drain if drains else of_nodes.work
    return known.now - since > law.longest(RARE) * SECOND


def _of_pool(pool: Pool, known: Known) -> Iterator[Insight]:
    waiting = [node for node in pool.nodes if node.managed and not node.updated]
    if not waiting or pool.paused or any(node.phase is Phase.PAUSED for node in waiting):
        return
    building = pool.name in known.builds and known.builds[pool.name].stage is not Stage.FAILED
    least = POOL_BUILDING if building else POOL
    last = _last_progress(pool, known)
    if last is None or known.now - last <= least:
        return
    of_nodes: Nodes = known.past.nodes(pool.name)
    if known.now - last <= NODES * (of_nodes.drain.mean + of_nodes.work.mean) * SECOND:
        return
    degraded = [node.name for node in waiting if node.degraded]
    held = f" Degraded: {listed(degraded)}." if degraded else ""
    yield _insight(
        pool.name,
        Reference(GROUP, "machineconfigpools", pool.name),
        summary=f"Pool {pool.name} makes no progress",
        description=f"No node of it is being updated. Waiting: {listed([node.name for node in waiting])}.{held}",
        remedy=_POOL,
        since=last,
    )


def _last_progress(pool: Pool, known: Known) -> Moment | None:
    """When something last happened to the pool; None: that is not known, or the pool need not have begun.

    A pool begins when the control plane is updated, or earlier. Then it is what records and MachineConfigNodes tell of
    its nodes, and the pool's own condition Updating, which changes also when it is unpaused.
    """
    found = known.objects.get(pool.name)
    if found is None or known.plane.completed is None or _is_unseen(found):
        return None
    current = known.past.current
    texts = [
        text
        for one in (current.nodes if current else ())
        if one.pool == pool.name
        for text in (one.started, one.drained, one.completed)
    ]
    times = [known_moment(text) for text in texts]
    times += [node.since for node in pool.nodes if node.updated]
    if pool.summary.updated and not any(times):
        return None  # some nodes are done, and nothing says when
    updating = find(found.status.conditions, "Updating")
    build = known.builds.get(pool.name)
    times += [
        known.plane.completed,
        known_moment(updating.last_transition_time) if updating else None,
        build.since if build else None,
    ]
    return max((time for time in times if time is not None), default=None)


def _is_unseen(pool: MachineConfigPool) -> bool:
    """Whether the Machine Config Controller has not seen the last change of the pool, as when it is unpaused."""
    return 0 < pool.status.observed_generation < pool.metadata.generation


def _of(node: Node, pool: Pool, what: str, remedy: str, since: Moment, why: str = "") -> Insight:
    said = [f"It is {node.phase.value.lower()}", *([f"at the step: {node.step}"] if node.step else [])]
    return _insight(
        pool.name,
        Reference("", "nodes", node.name),
        summary=f"Node {node.name} {what}",
        description=f"{', '.join(said)}." + (f" {why}." if why else ""),
        remedy=remedy.format(node.name),
        since=since,
    )


def _insight(pool: str, about: Reference, *, summary: str, description: str, remedy: str, since: Moment) -> Insight:
    return Insight(
        level=Level.ERROR,
        impact=Impact.UPDATE_STALLED,
        summary=summary,
        description=description,
        remedy=remedy,
        reference="",
        started=since,
        resources=(about,),
        scope=Scope.CONTROL_PLANE if pool in CONTROL_PLANE_POOLS else Scope.WORKER_POOL,
        pool="" if pool == MASTER else pool,
    )
