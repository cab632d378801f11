"""Reports made by hand: one operator and one node that wait, and a node that is degraded."""

from typing import Any

from msgspec import structs

from windlass.update_status.assessment.pools import summarize
from windlass.update_status.report import (
    Cause,
    CauseKind,
    ControlPlane,
    Estimate,
    Health,
    Impact,
    Insight,
    Level,
    Node,
    Operator,
    Phase,
    Pool,
    Reference,
    Report,
    Scope,
    State,
    Versions,
)
from windlass.update_status.times import HOUR, MINUTE, ZERO, moment

NOW = moment("2026-01-02T12:00:00Z")
STARTED = NOW - 20 * MINUTE


def operator(name: str = "etcd", **changes: Any) -> Operator:
    plain = Operator(
        name=name, state=State.PENDING, health=Health.HEALTHY, since=STARTED, message="it waits", health_since=ZERO
    )
    return structs.replace(plain, **changes)


def node(**changes: Any) -> Node:
    return structs.replace(Node(name="n1.example.org", phase=Phase.PENDING, version="4.14.1"), **changes)


def degraded_node(**changes: Any) -> Insight:
    plain = Insight(
        level=Level.ERROR,
        impact=Impact.UPDATE_STALLED,
        summary="Node n1.example.org is degraded",
        description="disk full",
        reference="https://docs/nodes",
        started=None,
        resources=(Reference("", "nodes", "n1.example.org"),),
        scope=Scope.WORKER_POOL,
        pool="worker",
    )
    return structs.replace(plain, **changes)


def report(*insights: Insight, of: Node | None = None, operators: tuple[Operator, ...] = ()) -> Report:
    members = (of or node(),)
    return Report(
        control_plane=ControlPlane(
            updating="True",
            since=STARTED,
            versions=Versions(target="4.15.0", previous="4.14.1"),
            started=STARTED,
            baseline=HOUR,
            operators=operators or (operator(),),
        ),
        pools=(Pool(name="worker", summary=summarize(members), nodes=members),),
        insights=insights,
    )


def unobserved(report: Report) -> Report:
    """Without when things were first seen, which only an object remembers."""
    pools = tuple(
        structs.replace(pool, nodes=tuple(structs.replace(node, first_seen=None) for node in pool.nodes))
        for pool in report.pools
    )
    insights = tuple(structs.replace(insight, first_seen=None) for insight in report.insights)
    causes = tuple(structs.replace(cause, first_seen=None) for cause in report.causes)
    return structs.replace(report, pools=pools, insights=insights, causes=causes)


def cause(**changes: Any) -> Cause:
    plain = Cause(
        kind=CauseKind.BUDGET,
        level=Level.WARNING,
        summary="PodDisruptionBudget shop/shop allows no eviction of Pod shop/shop-0 from node n1.example.org",
        description="1 of 1 Pods is healthy, and 1 has to be.",
        remedy="run more Pods",
        started=None,
        about=(Reference("policy", "poddisruptionbudgets", "shop", "shop"), Reference("", "pods", "shop-0", "shop")),
        affected=(Reference("", "nodes", "n1.example.org"),),
    )
    return structs.replace(plain, **changes)


def estimate(minutes: float = 20, **changes: Any) -> Estimate:
    """An end that is so far from NOW."""
    middle = NOW + int(minutes * MINUTE)
    plain = Estimate(
        earliest=middle - 5 * MINUTE, middle=middle, latest=middle + 10 * MINUTE, basis="4 nodes of this update"
    )
    return structs.replace(plain, **changes)
