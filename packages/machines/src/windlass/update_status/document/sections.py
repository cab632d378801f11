"""Gathers the insights of a report by pool and informer; one that the API server would refuse is quarantined."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import structs

from windlass.api.update import (
    MOST_IN_CONTROL_PLANE,
    MOST_IN_POOL,
    ControlPlaneEntry,
    ControlPlaneUnion,
    UpdateStatusStatus,
    WorkerPoolEntry,
    WorkerPoolUnion,
)
from windlass.update_status.constants import CLUSTER_VERSION, MASTER
from windlass.update_status.document import insights
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

SETTLED: Final[dict[tuple[str, str, str], tuple[object, Entry]]] = {}
"""Parts of reports, and the entries that they were last found equal to, by pool, informer and uid.

An entry that writing its part left unchanged is not written again until the entry or the part changes. The cache
compares both, so entries of other objects do no harm.
"""
_MOST_SETTLED: Final = 4096

Before = Mapping[tuple[str, str], Mapping[str, Entry]]
"""The insights that stand, by pool and informer, then by uid."""


def standing(status: UpdateStatusStatus) -> Before:
    found: dict[tuple[str, str], Mapping[str, Entry]] = {}
    if status.control_plane is not None:
        for informer in status.control_plane.informers:
            found[CONTROL_PLANE, informer.name] = {entry.uid: entry for entry in informer.insights}
    for pool in status.worker_pools:
        for source in pool.informers:
            found[pool.name, source.name] = {entry.uid: entry for entry in source.insights}
    return found


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
    master = next((pool for pool in report.pools if pool.name == MASTER), None)

    cpi = Gathering(CONTROL_PLANE, CPI, before, writer, invalid)
    cpi.add_control_plane(report)
    cpi.add_health(of_operators)
    nodes = Gathering(CONTROL_PLANE, NI, before, writer, invalid)
    if master is not None:
        nodes.add_pool(master)
    nodes.add_health(of_masters)
    found = [cpi.section(), nodes.section()]
    for pool in workers:
        gathering = Gathering(pool.name, NI, before, writer, invalid)
        gathering.add_pool(pool)
        gathering.add_health(by_pool[pool.name])
        found.append(gathering.section())
    return found


def _settle(key: tuple[str, str, str], part: object, stood: Entry) -> None:
    if len(SETTLED) >= _MOST_SETTLED and key not in SETTLED:
        SETTLED.clear()
    SETTLED[key] = part, stood


class Gathering:
    """The insights of one informer."""

    def __init__(self, pool: str, informer: str, before: Before, writer: Writer, invalid: list[str]) -> None:
        self._pool, self._informer = pool, informer
        self._before = before.get((pool, informer), {})
        self._writer, self._invalid = writer, invalid
        self._entries: dict[str, Entry] = {}

    def section(self) -> Section:
        most = MOST_IN_POOL if self._pool else MOST_IN_CONTROL_PLANE
        return Section(self._pool, self._informer, tuple(self._entries.values()), most)

    def add_control_plane(self, report: Report) -> None:
        writer, plane = self._writer, report.control_plane
        self._add(
            uid("cv", CLUSTER_VERSION),
            CLUSTER_VERSION,
            "ClusterVersion",
            "cluster_version",
            lambda old: insights.cluster_version(plane, old, writer),
            (plane, writer.now),
        )
        for operator in plane.operators:
            self._add(
                uid("co", operator.name),
                operator.name,
                "ClusterOperator",
                "cluster_operator",
                lambda old, operator=operator: insights.cluster_operator(operator, old, writer),
                operator,
            )

    def add_pool(self, pool: Pool) -> None:
        writer = self._writer
        self._add(
            uid("mcp", pool.name),
            pool.name,
            "MachineConfigPool",
            "machine_config_pool",
            lambda old: insights.machine_config_pool(pool, old, writer),
            (pool.name, pool.paused, pool.summary, pool.expected, pool.expected and writer.now),
        )
        for node in pool.nodes:
            self._add(
                uid("node", node.name),
                node.name,
                "Node",
                "node",
                lambda old, node=node: insights.node_insight(node, pool.name, old, writer),
                node,
            )

    def add_health(self, found: Iterable[Insight]) -> None:
        writer, found = self._writer, list(found)
        for identity, insight in zip(health_uids(found), found, strict=True):
            self._add(
                identity,
                insight.summary,
                "Health",
                "health",
                lambda old, insight=insight: insights.health_insight(insight, old, writer),
                (insight, insight.started == writer.now),
            )

    def add_informer_insights(self, found: Iterable[InformerInsight]) -> None:
        writer = self._writer
        for told in found:
            self._add(
                told.uid,
                told.insight.summary,
                "Health",
                "health",
                lambda old, told=told: insights.informer_insight(told, old, writer),
                (told, told.insight.started == writer.now, told.finish and writer.now),
            )

    def _add(self, identity: str, name: str, kind: Any, member: str, make: Callable[..., Any], part: object) -> None:
        """Add what `make` makes of the same insight as it stands; acquiredAt moves only if it differs from that.

        `name` is what people are told if it is quarantined. `part` holds the inputs of `make`. It includes the
        current time, unless the present entry alone decides whether the time changes anything.
        """
        stood = self._before.get(identity)
        key, why = (self._pool, self._informer, identity), ""
        if stood is not None and SETTLED.get(key) == (part, stood):
            entry, cut = stood, False
        else:
            said = len(self._writer.said)
            fields = {member: make(getattr(stood.insight, member, None) if stood else None)}
            entry, why = self._entry(identity, kind, fields, stood)
            cut = len(self._writer.said) > said
        if entry is stood and not cut:
            _settle(key, part, stood)
        if identity in self._entries:
            why = "there are two of this name"
        if why:
            self._invalid.append(f"{kind} {name[:64]!r}: {why}")
        else:
            self._entries[identity] = entry

    def _entry(self, identity: str, kind: Any, fields: dict[str, Any], stood: Entry | None) -> tuple[Entry, str]:
        """The entry, and why the API server would refuse it. An equal entry that is stored already is returned
        itself."""
        entry: Entry
        if self._pool:
            entry = WorkerPoolEntry(uid=identity, acquired_at="", insight=WorkerPoolUnion(type=kind, **fields))
        else:
            entry = ControlPlaneEntry(uid=identity, acquired_at="", insight=ControlPlaneUnion(type=kind, **fields))
        if stood is not None and stood.insight == entry.insight:
            return stood, ""  # the API server has taken it
        entry = structs.replace(entry, acquired_at=written(self._writer.now))
        return entry, trouble(entry)
