"""Finds the pool of each node, and assesses the nodes of each pool."""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct, field, structs

from windlass.api import core
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.kube.label_selectors import Selects, selects
from windlass.update_status.assessment.builds import Build, build_of
from windlass.update_status.assessment.control_plane import Problem, is_multi_arch
from windlass.update_status.assessment.nodes import NodeFound, Update, assess_node, paused_pool
from windlass.update_status.assessment.pool_troubles import in_several_pools, is_degraded, troubles_of_pool
from windlass.update_status.conditions import find
from windlass.update_status.constants import CONTROL_PLANE_POOLS, MASTER, OS_LABEL, WINDOWS, WORKER
from windlass.update_status.report import Insight, Node, Phase, Pool, Summary
from windlass.update_status.sources import Sources, Unknown
from windlass.update_status.times import ZERO, Moment, moment


class PoolsFound(Struct, frozen=True, kw_only=True):
    """The pools with their nodes, the insights into both, the nodes of no pool, and what is not known.

    troubles   insights that `oc` does not have
    builds     the builds of OS images that pools wait for, by the names of the pools
    at_a_time  how many nodes of a pool may be updated at the same time
    """

    pools: tuple[Pool, ...] = ()
    insights: tuple[Insight, ...] = ()
    troubles: tuple[Insight, ...] = ()
    builds: Mapping[str, Build] = field(default_factory=dict)
    unassigned: tuple[str, ...] = ()
    at_a_time: Mapping[str, int] = field(default_factory=dict)
    gaps: tuple[str, ...] = ()


def assess_pools(sources: Sources, wall: Moment) -> PoolsFound:
    """All pools. Raises Problem for a selector that Kubernetes would refuse."""
    if isinstance(sources.pools, Unknown):
        return PoolsFound(gaps=(f"pools and nodes: {sources.pools.reason}",))
    nodes, gaps = sources.nodes, list[str]()
    if isinstance(nodes, Unknown):
        gaps.append(f"nodes: {nodes.reason}")
        nodes = ()
    members, unassigned, several = _members(sources.pools, nodes, gaps)
    update = _update(sources, wall)
    pools: list[Pool] = []
    insights: list[Insight] = []
    troubles: list[Insight] = []
    builds: dict[str, Build] = {}
    for pool in sources.pools:
        found = [assess_node(node, pool, update) for node in members[pool.metadata.name]]
        if (build := build_of(pool, sources.builds)) is not None:
            builds[pool.metadata.name] = build
        pools.append(_pool(pool, found, build))
        insights += (insight for node in found for insight in node.insights)
        troubles += troubles_of_pool(pool, pools[-1].nodes, build)
        troubles += (in_several_pools(node, several[node.name]) for node in pools[-1].nodes if node.name in several)
        if any(node.node.phase is Phase.PAUSED for node in found):
            insights.append(paused_pool(pool))
    return PoolsFound(
        pools=tuple(pools),
        insights=tuple(insights),
        troubles=tuple(troubles),
        builds=builds,
        unassigned=tuple(unassigned),
        at_a_time={pool.metadata.name: at_a_time(pool, len(members[pool.metadata.name])) for pool in sources.pools},
        gaps=tuple(gaps),
    )


def at_a_time(pool: MachineConfigPool, nodes: int) -> int:
    """How many of `nodes` may be updated at the same time: as the Machine Config Operator reads maxUnavailable."""
    most = pool.spec.max_unavailable
    if isinstance(most, str):
        share = re.fullmatch(r"([0-9]{1,9})%", most)
        most = nodes * int(share[1]) // 100 if share else None
    return max(1, most or 1)


def summarize(nodes: Sequence[Node]) -> Summary:
    """The numbers of a pool's nodes."""
    phases = [node.phase for node in nodes]
    degraded = [node.phase for node in nodes if node.degraded]
    under_way = (Phase.DRAINING, Phase.UPDATING, Phase.REBOOTING)
    return Summary(
        total=len(nodes),
        available=len([node for node in nodes if not node.unavailable]),
        progressing=sum(phases.count(phase) - degraded.count(phase) for phase in under_way),
        outdated=len(nodes) - phases.count(Phase.UPDATED),
        draining=phases.count(Phase.DRAINING),
        excluded=phases.count(Phase.PAUSED),
        degraded=len(degraded),
        pending=phases.count(Phase.PENDING),
        unmanaged=sum(not node.managed for node in nodes),
    )


def _members(
    pools: Sequence[MachineConfigPool], nodes: Sequence[core.Node], gaps: list[str]
) -> tuple[dict[str, list[core.Node]], list[str], dict[str, list[str]]]:
    """The nodes of each pool, the names of those that have none, and the custom pools of nodes that are in several."""
    ordered = _by_precedence(pools)
    names = [name for name, _ in ordered]
    if nodes and MASTER not in names:
        gaps.append("nodes of the control plane: there is no MachineConfigPool master")
    members: dict[str, list[core.Node]] = {name: [] for name in names}
    unassigned: list[str] = []
    several: dict[str, list[str]] = {}
    custom = [(name, selected) for name, selected in ordered if name != WORKER and name not in CONTROL_PLANE_POOLS]
    for node in nodes:
        labels = node.metadata.labels
        name = next((name for name, selected in ordered if selected(labels)), None)
        if len(custom) > 1 and labels.get(OS_LABEL) != WINDOWS:
            found = [name for name, selected in custom if selected(labels)]
            if len(found) > 1:
                several[node.metadata.name] = found
        if name is not None:
            members[name].append(node)
        else:
            unassigned.append(node.metadata.name)
    if unassigned and WORKER not in names:
        gaps.append("nodes of workers: there is no MachineConfigPool worker")
    return members, unassigned, several


def _by_precedence(pools: Sequence[MachineConfigPool]) -> list[tuple[str, Selects]]:
    """A node belongs to master if that selects it, then to a custom pool, then to worker."""
    found = dict[str, Selects]()
    for pool in pools:
        selected = selects(pool.spec.node_selector)
        if selected is None:
            raise Problem(f"failed to get label selector from the pool: {pool.metadata.name}")
        # Files may have two pools of one name: the selector of the last counts for both.
        found[pool.metadata.name] = selected
    rank = {MASTER: 0, WORKER: 2}
    return sorted(found.items(), key=lambda one: rank.get(one[0], 1))


def _update(sources: Sources, wall: Moment) -> Update:
    status = sources.cluster_version.status
    progressing = find(status.conditions, "Progressing")
    return Update(
        target=status.history[0].version if status.history else None,
        began=moment(status.history[0].started_time) if status.history else ZERO,
        multi_arch=is_multi_arch(status.history) and progressing is not None and progressing.status == "True",
        versions=sources.versions,
        progress=sources.progress,
        wall=wall,
    )


def _pool(pool: MachineConfigPool, found: Sequence[NodeFound], build: Build | None) -> Pool:
    nodes = tuple(one.node for one in found)
    if build is not None:
        nodes = tuple(
            structs.replace(node, step=build.stage.value) if node.phase is Phase.PENDING and node.managed else node
            for node in nodes
        )
    summary = summarize(nodes)
    degraded = is_degraded(pool) or summary.assessment == "Degraded"
    return Pool(name=pool.metadata.name, paused=pool.spec.paused, degraded=degraded, summary=summary, nodes=nodes)
