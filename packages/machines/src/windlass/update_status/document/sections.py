"""Gathers the insights of a report by pool and informer; one that the API server would refuse is quarantined."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, structs

from windlass.api.update import (
    MOST_IN_CONTROL_PLANE,
    MOST_IN_POOL,
    ControlPlaneEntry,
    ControlPlaneUnion,
    NodeAtRest,
    UpdateStatusStatus,
    WorkerPoolEntry,
    WorkerPoolUnion,
)
from windlass.api.update_insights import NodeInsight
from windlass.update_status.constants import CLUSTER_VERSION, MASTER
from windlass.update_status.document import health_parts, plane_parts, pool_parts, rest
from windlass.update_status.document.limits import Entry, Section
from windlass.update_status.document.uids import health_uids, uid
from windlass.update_status.document.validity import trouble
from windlass.update_status.document.writer import Writer, written
from windlass.update_status.report import InformerInsight, Insight, Pool, Report

CPI: Final = "cpi"
"""The informer of ClusterVersion, operators and alerts."""
NI: Final = "ni"
"""The informer of pools and nodes."""
CONTROL_PLANE: Final = ""
"""In place of the name of a pool."""

_OF_NODES: Final = frozenset({"nodes", "machineconfigpools"})
_MEMBERS: Final = {
    "ClusterVersion": "cluster_version",
    "ClusterOperator": "cluster_operator",
    "MachineConfigPool": "machine_config_pool",
    "Node": "node",
    "Health": "health",
}


class Settled:
    """Parts of reports, and the entries that they were last found equal to, by pool, informer and uid.

    A writer that writes again and again keeps one: an entry that writing its part left unchanged is not written again
    until the entry or the part changes. Both are compared, so entries of other objects do no harm.

    `size`: the bytes of JSON of what was written last.
    """

    def __init__(self, most: int = 4096) -> None:
        self.size = 0
        self._most = most
        self._found: dict[tuple[str, str, str], tuple[object, Entry]] = {}

    def __len__(self) -> int:
        return len(self._found)

    def knows(self, key: tuple[str, str, str], part: object, entry: Entry) -> bool:
        return self._found.get(key) == (part, entry)

    def learn(self, key: tuple[str, str, str], part: object, entry: Entry) -> None:
        if len(self._found) >= self._most and key not in self._found:
            self._found.clear()
        self._found[key] = part, entry


class Before(Struct, frozen=True):
    """The insights that stand, by pool and informer, then by uid; nodes at rest by pool and name; and what earlier
    writes settled."""

    entries: Mapping[tuple[str, str], Mapping[str, Entry]]
    resting: Mapping[str, Mapping[str, NodeAtRest]]
    settled: Settled

    def nodes(self, pool: str) -> dict[str, NodeInsight]:
        """The nodes of a pool that have insights, by their names."""
        found = (entry.insight.node for entry in self.entries.get((pool, NI), {}).values())
        return {node.name: node for node in found if node is not None}


def standing(status: UpdateStatusStatus, settled: Settled) -> Before:
    found: dict[tuple[str, str], Mapping[str, Entry]] = {}
    if status.control_plane is not None:
        for informer in status.control_plane.informers:
            found[CONTROL_PLANE, informer.name] = {entry.uid: entry for entry in informer.insights}
    for pool in status.worker_pools:
        for source in pool.informers:
            found[pool.name, source.name] = {entry.uid: entry for entry in source.insights}
    return Before(found, rest.standing((pool.name, pool.nodes) for pool in status.worker_pools), settled)


def sections(
    report: Report, workers: Sequence[Pool], before: Before, writer: Writer, invalid: list[str]
) -> list[Section]:
    """The insights of the control plane and of `workers`. What is quarantined is appended to `invalid`, in words."""
    known = {pool.name for pool in workers}
    left_out = {pool.name for pool in report.pools} - known - {MASTER}
    by_pool: dict[str, list[Insight]] = {pool.name: [] for pool in workers}
    of_masters, of_operators = list[Insight](), list[Insight]()
    for insight in report.insights:
        if insight.pool in known:
            by_pool[insight.pool].append(insight)
        elif insight.pool in left_out:
            writer.said.append(f"an insight into pool {insight.pool[:63]!r} was left out")
        elif any(one.resource in _OF_NODES for one in insight.resources):
            of_masters.append(insight)
        else:
            of_operators.append(insight)

    operators = Gathering(CONTROL_PLANE, CPI, before, writer, invalid)
    masters = Gathering(CONTROL_PLANE, NI, before, writer, invalid)
    operators.add_control_plane(report)
    operators.add_health(of_operators)
    for master in [pool for pool in report.pools if pool.name == MASTER][:1]:
        masters.add_pool(master)
    masters.add_health(of_masters)
    found = [operators, masters]
    for pool in workers:
        gathering = Gathering(pool.name, NI, before, writer, invalid)
        gathering.add_pool(pool)
        gathering.add_health(by_pool[pool.name])
        found.append(gathering)
    return [each.section() for each in found]


class Gathering:
    """The insights of one informer."""

    def __init__(self, pool: str, informer: str, before: Before, writer: Writer, invalid: list[str]) -> None:
        self._pool, self._informer = pool, informer
        self._before, self._settled = before.entries.get((pool, informer), {}), before.settled
        self._resting = before.resting.get(pool, {})
        self._writer, self._invalid = writer, invalid
        self._entries: dict[str, Entry] = {}

    def section(self) -> Section:
        most = MOST_IN_POOL if self._pool else MOST_IN_CONTROL_PLANE
        return Section(self._pool, self._informer, tuple(self._entries.values()), most)

    def add_control_plane(self, report: Report) -> None:
        plane, now = report.control_plane, self._writer.now
        version = uid("cv", CLUSTER_VERSION)
        self._add("ClusterVersion", version, CLUSTER_VERSION, (plane, now), plane_parts.cluster_version, plane)
        for one in plane.operators:
            self._add("ClusterOperator", uid("co", one.name), one.name, one, plane_parts.cluster_operator, one)

    def add_pool(self, pool: Pool) -> None:
        counted = (
            pool.name,
            pool.paused,
            pool.degraded,
            pool.summary,
            pool.expected,
            pool.expected and self._writer.now,
        )
        self._add("MachineConfigPool", uid("mcp", pool.name), pool.name, counted, pool_parts.machine_config_pool, pool)
        for node in pool.nodes:
            if self._pool and rest.is_at_rest(node):
                continue
            of = node, pool.name, self._resting.get(node.name)
            self._add("Node", uid("node", node.name), node.name, node, pool_parts.node_insight, *of)

    def add_health(self, found: Iterable[Insight]) -> None:
        found = list(found)
        for identity, one in zip(health_uids(found), found, strict=True):
            self._add("Health", identity, one.summary, one, health_parts.health_insight, one)

    def add_informer_insights(self, found: Iterable[InformerInsight]) -> None:
        now = self._writer.now
        for told in found:
            part = (told, told.finish and now)
            self._add("Health", told.uid, told.insight.summary, part, health_parts.informer_insight, told)

    def _add(self, kind: Any, identity: str, name: str, part: object, make: Callable[..., Any], *of: Any) -> None:
        """Add what `make` makes `of` these and of the same insight as it stands; acquiredAt moves only if it differs
        from that.

        `name` is what people are told if it is quarantined. `part` holds the inputs of `make`. It includes the
        current time, unless the present entry alone decides whether the time changes anything.
        """
        stood = self._before.get(identity)
        key, why = (self._pool, self._informer, identity), ""
        if stood is not None and self._settled.knows(key, part, stood):
            entry, cut = stood, False
        else:
            said = len(self._writer.said)
            before = getattr(stood.insight, _MEMBERS[kind], None) if stood else None
            entry, why = self._entry(identity, kind, make(*of, before, self._writer), stood)
            cut = len(self._writer.said) > said
        if entry is stood and not cut:
            self._settled.learn(key, part, stood)
        if identity in self._entries:
            why = "there are two of this name"
        if why:
            self._invalid.append(f"{kind} {name[:64]!r}: {why}")
        else:
            self._entries[identity] = entry

    def _entry(self, identity: str, kind: Any, insight: Any, stood: Entry | None) -> tuple[Entry, str]:
        """The entry, and why the API server would refuse it. An equal entry that is stored already is returned
        itself."""
        entry: Entry
        member = {_MEMBERS[kind]: insight}
        if self._pool:
            entry = WorkerPoolEntry(uid=identity, acquired_at="", insight=WorkerPoolUnion(type=kind, **member))
        else:
            entry = ControlPlaneEntry(uid=identity, acquired_at="", insight=ControlPlaneUnion(type=kind, **member))
        if stood is not None and stood.insight == entry.insight:
            return stood, ""  # the API server has taken it
        entry = structs.replace(entry, acquired_at=written(self._writer.now))
        return entry, trouble(entry)
