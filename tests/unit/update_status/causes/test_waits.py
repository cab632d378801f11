"""For which nodes operators wait, and what pools that are paused keep waiting."""

from typing import Any

import pytest
from msgspec import structs

from windlass.update_status.causes import explain
from windlass.update_status.report import (
    CauseKind,
    Health,
    Insight,
    Level,
    Node,
    Operator,
    Phase,
    Reference,
    Report,
    State,
)
from windlass.update_status.sources import Sources, Unknown, Workload
from windlass.update_status.times import MINUTE, moment

from ..assessment import objects
from ..text import reports
from .workload import NOW, budget, draining, pod

NAME = "m1.example.org"
NOT_READY = f'The master nodes not ready: node "{NAME}" not ready since 2024-02-27 11:30:00 +0000 UTC because of x'
SICK = Node(
    name=NAME, phase=Phase.PENDING, unavailable=True, why_unavailable="Not ready", unavailable_since=NOW - 20 * MINUTE
)


def ill(name: str, message: str, health: Health = Health.DEGRADED) -> Operator:
    return reports.operator(name, health=health, why=("R", message))


def explained(
    *operators: Operator, nodes: tuple[Node, ...] = (), workload: Workload | None = None, insights: Any = ()
) -> Report:
    plane = reports.control_plane(*(operators or (reports.PENDING,)))
    report = reports.report(plane, reports.pool("master", *nodes), insights=insights)
    sources = objects.sources()
    return explain(report, structs.replace(sources, workload=workload or Workload()), now=NOW)


def operators_of(report: Report) -> list[tuple[CauseKind, list[str]]]:
    return [
        (cause.kind, [one.name for one in cause.affected if one.resource == "clusteroperators"])
        for cause in report.causes
    ]


FIVE = tuple(ill(name, NOT_READY) for name in ("etcd", "kube-apiserver", "kube-scheduler", "dns", "network"))


def test_a_node_and_the_five_operators_that_wait_for_it_are_one_cause() -> None:
    (cause,) = explained(*FIVE, nodes=(SICK,)).causes
    assert cause.summary == (
        f"Node {NAME} is unavailable (Not ready), and operators etcd, kube-apiserver, kube-scheduler and 2 more wait "
        "for it"
    )
    assert (cause.kind, cause.started) == (CauseKind.NODE, NOW - 20 * MINUTE)
    assert cause.about == (Reference("", "nodes", NAME),)
    assert [one.name for one in cause.affected] == [operator.name for operator in FIVE]


@pytest.mark.parametrize(
    ("node", "operator", "is_cause"),
    [
        (SICK, ill("etcd", NOT_READY), True),
        (SICK, ill("etcd", f"({NAME})", Health.UNAVAILABLE), True),
        (SICK, ill("etcd", f"not {NAME}."), True),
        (SICK, ill("etcd", f"{NAME}.net"), False),
        (SICK, ill("etcd", f"x-{NAME}"), False),
        (SICK, ill("etcd", f"{NAME}-x"), False),
        (SICK, ill("etcd", "m1-example-org"), False),
        (SICK, reports.operator("etcd", State.PROGRESSING, message=f"waits for {NAME}"), True),
        (SICK, reports.operator("etcd", State.PENDING, message=f"waits for {NAME}"), False),
        (SICK, reports.operator("etcd", message=f"waited for {NAME}"), False),
        (SICK, ill("etcd", "something else"), False),
        (SICK, ill("etcd", NOT_READY, Health.HEALTHY), False),
        (structs.replace(SICK, unavailable_since=NOW - 5 * MINUTE), ill("etcd", NOT_READY), False),
        (structs.replace(SICK, unavailable_since=None), ill("etcd", NOT_READY), False),
        (structs.replace(SICK, unavailable=False), ill("etcd", NOT_READY), False),
        (structs.replace(SICK, unavailable=False, degraded=True), ill("etcd", NOT_READY), True),
    ],
)
def test_a_node_in_trouble_that_an_operator_names_is_a_cause(node: Node, operator: Operator, is_cause: bool) -> None:
    found = operators_of(explained(operator, nodes=(node,)))
    assert found == ([(CauseKind.NODE, ["etcd"])] if is_cause else [])


@pytest.mark.parametrize(
    ("text", "since"),
    [
        (NOT_READY, moment("2024-02-27T11:30:00Z")),
        (f'node "{NAME}" not ready', None),
        (f'node "{NAME}" not ready since 2024-02-30 11:30:00 +0000 UTC', None),
    ],
)
def test_a_node_that_no_pool_has_is_a_cause_too(text: str, since: int | None) -> None:
    (cause,) = explained(ill("etcd", text), ill("dns", text)).causes
    assert cause.summary == f"Node {NAME} is not ready, and operators etcd and dns wait for it"
    assert cause.started == since
    assert f"Operator etcd says: {text}" in cause.description


def test_operators_wait_for_what_holds_the_drain_of_their_node() -> None:
    node = draining(NAME, degraded=True, why_degraded="failed to drain")
    held = Workload(nodes=(NAME,), pods=(pod("shop-0", NAME),), budgets=(budget(),))
    assert operators_of(
        explained(ill("machine-config", f"Node {NAME} is reporting"), nodes=(node,), workload=held)
    ) == [(CauseKind.BUDGET, ["machine-config"])]


@pytest.mark.parametrize(
    ("insight", "level"),
    [
        ((), Level.WARNING),
        (reports.insight("degraded", Level.ERROR, resources=(Reference("", "nodes", NAME),)), Level.ERROR),
        (reports.insight("info", Level.INFO, resources=(Reference("", "nodes", NAME),)), Level.WARNING),
        (reports.insight("another", Level.ERROR, resources=(Reference("", "nodes", "m2"),)), Level.WARNING),
        (
            structs.replace(
                reports.insight("alert", Level.CRITICAL),
                follows=Reference("config.openshift.io", "clusteroperators", "etcd"),
            ),
            Level.CRITICAL,
        ),
    ],
)
def test_a_cause_is_as_bad_as_its_symptoms(insight: Insight | tuple[()], level: Level) -> None:
    insights = (insight,) if isinstance(insight, Insight) else ()
    assert [cause.level for cause in explained(*FIVE, nodes=(SICK,), insights=insights).causes] == [level]


PAUSED = Node(name="w-0", phase=Phase.PAUSED)
OF_POOL = reports.insight("Outdated nodes", resources=(Reference("machineconfiguration.openshift.io", "machineconfigpools", "worker"),))  # fmt: skip # noqa: E501


def paused(name: str, *nodes: Node, machine_config: Operator | None = None) -> Report:
    plane = reports.control_plane(machine_config or reports.operator("machine-config"))
    report = reports.report(plane, reports.pool(name, *nodes, paused=True), insights=(OF_POOL,))
    # An update of which only a paused pool is left.
    return explain(report, objects.sources(), now=NOW)


def test_a_pause_is_told_neutrally_with_what_waits() -> None:
    begun = draining("w-1", since=None)
    (cause,) = paused("worker", PAUSED, begun, structs.replace(PAUSED, name="w-2", degraded=True)).causes
    assert cause.summary == "Pool worker is paused, and 2 of its nodes wait"
    assert cause.description == (
        "Its nodes keep their version until it is unpaused: w-0 and w-2. What has begun is finished: w-1."
    )
    assert (cause.kind, cause.level, cause.started) == (CauseKind.PAUSE, Level.INFO, None)
    assert cause.about == OF_POOL.resources
    # The trouble of w-2 is not a symptom of the pause.
    assert cause.affected == (Reference("", "nodes", "w-0"),)


@pytest.mark.parametrize(
    ("pool", "operator", "waits"),
    [
        ("master", reports.operator("machine-config", State.PROGRESSING), True),
        ("master", reports.operator("machine-config"), False),
        ("worker", reports.operator("machine-config", State.PROGRESSING), False),
    ],
)
def test_the_control_plane_waits_for_its_own_pool(pool: str, operator: Operator, waits: bool) -> None:
    (cause,) = paused(pool, PAUSED, machine_config=operator).causes
    assert ("the control plane, waits for this pool" in cause.description) is waits
    assert (len(cause.affected) == 2) is waits


def test_the_trouble_of_an_operator_is_no_symptom_of_a_pause() -> None:
    broken = reports.operator("machine-config", State.PROGRESSING, health=Health.DEGRADED)
    (cause,) = paused("master", PAUSED, machine_config=broken).causes
    assert cause.affected == (Reference("", "nodes", "w-0"),)


def test_a_paused_pool_whose_nodes_are_updated_is_not_told() -> None:
    assert paused("worker", Node(name="w-0", phase=Phase.UPDATED)).causes == ()


def test_what_could_not_be_read_is_said() -> None:
    found = explained(nodes=(draining(),), workload=Workload(nodes=("n1",), pods=Unknown("pods is forbidden")))
    assert found.gaps == ("what holds the drain of n1: pods is forbidden",)


def test_nothing_is_explained_while_nothing_is_updated() -> None:
    idle = reports.report(reports.control_plane(*FIVE, updating="False"))
    sources: Sources = objects.sources()
    assert explain(idle, sources, now=NOW) == idle
