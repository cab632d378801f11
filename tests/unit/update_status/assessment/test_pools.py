"""The pool of each node, and the numbers of a pool."""

from typing import Any

import pytest
from msgspec import structs

from windlass.api.core import Node as ClusterNode
from windlass.api.machineconfiguration import (
    MachineConfigPool,
    MachineConfigPoolSpec,
)
from windlass.api.meta import LabelSelector, LabelSelectorRequirement
from windlass.kube.label_selectors import selects
from windlass.update_status.assessment import assess
from windlass.update_status.assessment.control_plane import Problem
from windlass.update_status.assessment.nodes import PAUSED_DOCS
from windlass.update_status.assessment.pools import PoolsFound, assess_pools, at_a_time, summarize
from windlass.update_status.report import Impact, Level, Node, Phase, Reference, Scope, Summary
from windlass.update_status.sources import Known, Sources, Unknown
from windlass.update_status.text import Details, render

from .objects import MASTER, RELEASES, START, TARGET, WORKER, cluster_version, item, node, operator, pool, said, sources

INFRA, GPU = pool("infra"), pool("gpu")
ALL = pool("all", selector=LabelSelector())


def members(pools: tuple[MachineConfigPool, ...], *nodes: ClusterNode) -> dict[str, list[str]]:
    """The names of the nodes of each pool; of "", those of no pool."""
    found = assess_pools(sources(pools=pools, nodes=nodes), START)
    assert found.gaps == ()
    of_pools = {one.name: [each.name for each in one.nodes] for one in found.pools}
    return {name: nodes for name, nodes in {**of_pools, "": [*found.unassigned]}.items() if nodes}


@pytest.mark.parametrize(
    ("roles", "place"),
    [
        (["master"], "master"),
        (["worker"], "worker"),
        (["infra"], "infra"),
        (["worker", "infra"], "infra"),
        (["master", "worker"], "master"),
        (["master", "infra"], "master"),
        (["gpu", "infra"], "gpu"),
        ([], ""),
        (["edge"], ""),
    ],
)
@pytest.mark.parametrize("pools", [(MASTER, WORKER, GPU, INFRA), (GPU, INFRA, WORKER, MASTER)])
def test_a_node_belongs_to_master_then_to_a_custom_pool_then_to_worker(
    roles: list[str], place: str, pools: tuple[MachineConfigPool, ...]
) -> None:
    assert members(pools, node("n1", roles=roles)) == {place: ["n1"]}


def test_of_two_pools_of_one_name_in_a_file_the_last_says_which_nodes_both_have() -> None:
    twice = (pool("x", selector=LabelSelector()), pool("x", selector=GPU.spec.node_selector))
    found = assess_pools(sources(pools=twice, nodes=(node("n1", roles=["infra"]), node("n2", roles=["gpu"]))), START)
    assert [[each.name for each in one.nodes] for one in found.pools] == [["n2"], ["n2"]]


def test_pools_and_nodes_keep_the_order_of_their_lists() -> None:
    nodes = [node(name, roles=[role]) for name, role in (("z", "worker"), ("m", "master"), ("a", "worker"))]
    found = assess_pools(sources(pools=(WORKER, INFRA, MASTER), nodes=nodes), START).pools
    assert [(one.name, [each.name for each in one.nodes]) for one in found] == [
        ("worker", ["z", "a"]),
        ("infra", []),
        ("master", ["m"]),
    ]


@pytest.mark.parametrize("count", [1, 3], ids=["single node", "compact"])
def test_nodes_that_are_masters_and_workers_are_masters(count: int) -> None:
    nodes = [node(f"n{number}", roles=["master", "worker"]) for number in range(count)]
    assert members((MASTER, WORKER), *nodes) == {"master": [one.metadata.name for one in nodes]}


def test_a_pool_without_a_selector_has_no_nodes_and_one_with_an_empty_selector_has_all() -> None:
    nobody = pool("nobody")
    nobody = type(nobody)(metadata=nobody.metadata)
    assert nobody.spec.node_selector is None
    assert members((nobody, ALL, MASTER, WORKER), node("n1"), node("n2", roles=["master"])) == {
        "all": ["n1"],
        "master": ["n2"],
    }


@pytest.mark.parametrize(
    ("pools", "roles", "gaps"),
    [
        ((MASTER, WORKER), "worker", []),
        ((MASTER,), "master", []),
        ((MASTER, INFRA), "infra", []),
        ((MASTER,), "worker", ["nodes of workers: there is no MachineConfigPool worker"]),
        ((WORKER,), "worker", ["nodes of the control plane: there is no MachineConfigPool master"]),
        ((WORKER,), "master", ["nodes of the control plane: there is no MachineConfigPool master"]),
        (
            (),
            "worker",
            [
                "nodes of the control plane: there is no MachineConfigPool master",
                "nodes of workers: there is no MachineConfigPool worker",
            ],
        ),
    ],
)
def test_pools_that_are_missing_are_gaps(pools: tuple[MachineConfigPool, ...], roles: str, gaps: list[str]) -> None:
    assert [*assess_pools(sources(pools=pools, nodes=[node(roles=[roles])]), START).gaps] == gaps


@pytest.mark.parametrize("pools", [(), (MASTER,), (WORKER,)])
def test_without_nodes_no_pool_is_missing(pools: tuple[MachineConfigPool, ...]) -> None:
    assert assess_pools(sources(pools=pools), START).gaps == ()


def unread(*, pools: Known[Any] = (MASTER, WORKER), nodes: Known[Any] = ()) -> PoolsFound:
    read = Sources(cluster_version=cluster_version(), operators=(operator("dns"),), pools=pools, nodes=nodes)
    return assess_pools(read, START)


def test_pools_that_could_not_be_read_are_a_gap() -> None:
    assert unread(pools=Unknown("not found"), nodes=(node(),)) == PoolsFound(gaps=("pools and nodes: not found",))


def test_nodes_that_could_not_be_read_are_a_gap() -> None:
    found = unread(nodes=Unknown("nodes is forbidden"))
    assert found.gaps == ("nodes: nodes is forbidden",)
    assert [(one.name, one.summary.total) for one in found.pools] == [("master", 0), ("worker", 0)]


def needs(operator: str, *values: str, key: str = "zone") -> LabelSelector:
    one = LabelSelectorRequirement(key=key, operator=operator, values=list(values))
    return LabelSelector(match_expressions=[one])


@pytest.mark.parametrize(
    ("selector", "labels", "selected"),
    [
        (None, {"zone": "a"}, False),
        (LabelSelector(), {}, True),
        (LabelSelector(match_labels={"zone": "a"}), {"zone": "a", "x": ""}, True),
        (LabelSelector(match_labels={"zone": "a"}), {"zone": "b"}, False),
        (LabelSelector(match_labels={"zone": ""}), {"zone": ""}, True),
        (LabelSelector(match_labels={"zone": ""}), {}, False),
        (LabelSelector(match_labels={"zone": "a", "x": "y"}), {"zone": "a"}, False),
        (needs("In", "a", "b"), {"zone": "b"}, True),
        (needs("In", "a", "b"), {"zone": "c"}, False),
        (needs("In", ""), {}, False),
        (needs("NotIn", "a", "b"), {"zone": "b"}, False),
        (needs("NotIn", "a", "b"), {"zone": "c"}, True),
        (needs("NotIn", "a"), {}, True),
        (needs("Exists"), {"zone": ""}, True),
        (needs("Exists"), {}, False),
        (needs("DoesNotExist"), {}, True),
        (needs("DoesNotExist"), {"zone": ""}, False),
        (
            LabelSelector(match_labels={"x": "y"}, match_expressions=needs("Exists").match_expressions),
            {"zone": "a"},
            False,
        ),
    ],
)
def test_selectors_are_those_of_kubernetes(
    selector: LabelSelector | None, labels: dict[str, str], selected: bool
) -> None:
    predicate = selects(selector)
    assert predicate is not None
    assert predicate(labels) is selected


@pytest.mark.parametrize(
    "selector",
    [
        needs("In"),
        needs("NotIn"),
        needs("Exists", "a"),
        needs("DoesNotExist", "a"),
        needs("Gt", "1"),
        needs(""),
        needs("Exists", key=""),
        needs("In", "a b"),
        LabelSelector(match_labels={"-": "a"}),
        LabelSelector(match_labels={"zone": "a/b"}),
    ],
)
def test_there_is_no_report_with_a_selector_that_kubernetes_refuses(selector: LabelSelector) -> None:
    wrong = pool("infra", selector=selector)
    with pytest.raises(Problem, match=r"^failed to get label selector from the pool: infra$"):
        assess_pools(sources(pools=(MASTER, WORKER, wrong)), START)


def one(phase: Phase, *, updating: bool = False, unavailable: bool = False, degraded: bool = False) -> Node:
    return Node(name="n", phase=phase, updating=updating, unavailable=unavailable, degraded=degraded)


UPDATED, PENDING, PAUSED = one(Phase.UPDATED), one(Phase.PENDING), one(Phase.PAUSED)
DRAINING, REBOOTING = one(Phase.DRAINING, updating=True), one(Phase.REBOOTING, updating=True)
STUCK = one(Phase.DRAINING, updating=True, unavailable=True, degraded=True)
STUCK_AND_PENDING = one(Phase.PENDING, degraded=True)
STUCK_AND_UPDATED = one(Phase.UPDATED, degraded=True)


@pytest.mark.parametrize(
    ("nodes", "assessment"),
    [
        ([], "Completed"),
        ([UPDATED, UPDATED], "Completed"),
        ([UPDATED, STUCK_AND_UPDATED], "Completed"),
        ([PENDING, PENDING], "Pending"),
        ([PENDING, STUCK_AND_PENDING], "Pending"),
        ([UPDATED, STUCK_AND_PENDING], "Degraded"),
        ([PENDING, STUCK, PAUSED], "Degraded"),
        ([PAUSED, PAUSED], "Excluded"),
        ([UPDATED, PAUSED], "Excluded"),
        ([DRAINING, PAUSED], "Excluded"),
        ([PENDING, UPDATED], "Progressing"),
        ([PENDING, DRAINING], "Progressing"),
    ],
)
def test_the_assessment_of_a_pool(nodes: list[Node], assessment: str) -> None:
    assert summarize(nodes).assessment == assessment


def test_a_node_counts_in_several_numbers() -> None:
    unavailable = one(Phase.PENDING, unavailable=True)
    nodes = [UPDATED, PENDING, unavailable, PAUSED, DRAINING, REBOOTING, one(Phase.UPDATING, updating=True), STUCK]
    assert summarize(nodes) == Summary(
        total=8, available=6, progressing=3, outdated=7, draining=2, excluded=1, degraded=1, pending=2
    )
    assert summarize(nodes).updated == 1


def test_a_paused_pool_with_nodes_that_wait_stalls_the_update() -> None:
    paused = pool("infra", paused=True)
    nodes = [node("a", roles=["infra"]), node("b", roles=["infra"])]
    (insight,) = assess_pools(sources(pools=(MASTER, WORKER, paused), nodes=nodes), START).insights
    assert (insight.level, insight.impact, insight.scope) == (Level.WARNING, Impact.UPDATE_STALLED, Scope.WORKER_POOL)
    assert insight.summary == "Outdated nodes in a paused pool 'infra' will not be updated"
    assert insight.description == (
        "Pool is paused, which stops all changes to the nodes in the pool, including updates. The nodes will not be "
        "updated until the pool is unpaused by the administrator."
    )
    assert (insight.reference, insight.started, insight.pool) == (PAUSED_DOCS, None, "infra")
    assert insight.resources == (Reference("machineconfiguration.openshift.io", "machineconfigpools", "infra"),)


def test_the_insight_into_a_paused_master_pool_has_the_scope_of_workers() -> None:
    paused = pool("master", paused=True)
    (insight,) = assess_pools(sources(pools=(paused, WORKER), nodes=[node(roles=["master"])]), START).insights
    assert (insight.scope, insight.pool) == (Scope.WORKER_POOL, "")


@pytest.mark.parametrize("nodes", [[], [node(current="new", desired="new")], [node(desired="new", state="Working")]])
def test_a_paused_pool_whose_nodes_do_not_wait_is_no_insight(nodes: list[ClusterNode]) -> None:
    paused = pool("worker", paused=True)
    assert assess_pools(sources(pools=(MASTER, paused), nodes=nodes), START).insights == ()


def test_insights_come_by_pool_and_node_and_then_of_the_pool() -> None:
    paused = pool("worker", paused=True)
    nodes = [
        node(name, roles=[role], state="Degraded") for name, role in (("w", "worker"), ("m", "master"), ("v", "worker"))
    ]
    found = assess_pools(sources(pools=(paused, MASTER), nodes=nodes), START).insights
    assert [one.resources[0].name for one in found] == ["w", "v", "worker", "m"]


MIGRATED = [
    item(TARGET, state="Partial", started=0, image="multi"),
    item(TARGET, started=-60, completed=0, image="single"),
]


@pytest.mark.parametrize(("progressing", "phase"), [("True", Phase.PENDING), ("False", Phase.UPDATED)])
def test_nodes_are_judged_by_a_migration_to_several_architectures_as_long_as_it_is_in_progress(
    progressing: str, phase: Phase
) -> None:
    version = cluster_version(said("Progressing", progressing), history=MIGRATED)
    read = sources(
        version=version, pools=(MASTER, pool("worker", config="newer")), nodes=[node(current="new", desired="new")]
    )
    assert [each.phase for one in assess_pools(read, START).pools for each in one.nodes] == [phase]


def test_nodes_are_compared_with_the_history_not_with_the_desired_version() -> None:
    read = sources(version=cluster_version(desired="4.17.0"), nodes=[node(current="new", desired="new")])
    assert RELEASES["new"] == TARGET
    assert [each.phase for one in assess_pools(read, START).pools for each in one.nodes] == [Phase.UPDATED]


@pytest.mark.parametrize(
    ("most", "nodes", "expected"),
    [
        (None, 10, 1),
        (3, 10, 3),
        (0, 10, 1),
        (-2, 10, 1),
        ("10%", 19, 1),
        ("10%", 20, 2),
        ("200%", 3, 6),
        ("0%", 100, 1),
        ("3", 10, 1),
        ("many", 10, 1),
    ],
)
def test_so_many_nodes_at_a_time(most: int | str | None, nodes: int, expected: int) -> None:
    pool = MachineConfigPool(spec=MachineConfigPoolSpec(max_unavailable=most))
    assert at_a_time(pool, nodes) == expected


AT_REST = cluster_version(said("Progressing", "False"), history=[item(TARGET, started=0, completed=60)])
DONE = node("worker-0", current="new", desired="new")


def just_joined(name: str = "worker-new") -> ClusterNode:
    """Its kubelet has registered it; no Machine Config Daemon has run on it yet."""
    return node(name, current=None, desired=None, state=None)


@pytest.mark.parametrize("paused", [False, True])
def test_a_worker_that_nobody_manages_yet_is_not_outdated(paused: bool) -> None:
    found = sources(version=AT_REST, pools=(MASTER, pool("worker", paused=paused)), nodes=(DONE, just_joined()))
    report = assess(found, now=START)
    _, workers = report.pools
    assert [each.managed for each in workers.nodes] == [True, False]
    assert (workers.summary.left, workers.summary.managed, workers.summary.assessment) == (0, 1, "Completed")
    assert not report.updating
    assert not report.causes


def test_the_text_says_of_such_a_worker_what_oc_says() -> None:
    report = assess(sources(version=AT_REST, nodes=(DONE, just_joined())), now=START)
    text = render(report, now=START, details=Details.NONE)
    assert "worker        Progressing   50% (1/2)    1 Available, 0 Progressing, 0 Draining" in text.splitlines()
    assert "Machine Config Daemon is processing the node" in text


def test_a_worker_whose_machine_config_is_not_known_counts_as_outdated() -> None:
    """It is managed, and a cluster whose MachineConfigs cannot be read must not look as if it were updated."""
    gone = node("worker-1", current="pruned", desired="pruned")
    assert assess(sources(version=AT_REST, nodes=(DONE, gone)), now=START).updating


@pytest.mark.parametrize("annotated", [True, False])
def test_a_node_of_windows_is_managed_by_nobody_and_in_no_pool(*, annotated: bool) -> None:
    found = node("win-0", current="old" if annotated else None)
    labels = {**found.metadata.labels, "kubernetes.io/os": "windows"}
    windows = structs.replace(found, metadata=structs.replace(found.metadata, labels=labels))
    done = node("w", current="new", desired="new")
    seen = assess(sources(nodes=(windows, done), version=AT_REST), now=START)
    workers = next(pool for pool in seen.pools if pool.name == "worker")
    assert [(one.windows, one.managed) for one in workers.nodes] == [(True, False), (False, True)]
    assert not seen.updating
    assert seen.windows == ("win-0",)
    assert workers.without_windows.summary == summarize(workers.nodes[1:])
