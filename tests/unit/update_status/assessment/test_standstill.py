"""Nodes and pools that make no progress for longer than it takes. Minutes are after START; it is NOW."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from msgspec import structs

from windlass.api.core import Node, Taint
from windlass.api.machineconfiguration import MachineConfigPool, MachineConfigPoolStatus
from windlass.api.meta import PlainCondition
from windlass.api.update_record import NodeTook
from windlass.update_status.assessment import assess
from windlass.update_status.constants import LAYERING_LABEL, NEWEST_IMAGE, UNSCHEDULABLE
from windlass.update_status.history import record_name
from windlass.update_status.record import Record
from windlass.update_status.report import Insight, Report, Scope

from .objects import (
    INSTALLED,
    MASTER,
    PREVIOUS,
    START,
    TARGET,
    UPDATED_BEFORE,
    WORKER,
    after,
    at,
    bad,
    cluster_version,
    item,
    node,
    operator,
    said,
    sources,
)

LATE = 600
NOW = after(LATE)
COMPLETED = 60
"""When the control plane was updated."""
MASTER_NODE = node("m", current="new", desired="new", roles=("master",))
DRAINING: dict[str, Any] = {
    "desired": "new",
    "state": "Working",
    "desiredDrain": "drain-new",
    "lastAppliedDrain": "uncordon-old",
}
REBOOTING: dict[str, Any] = {"desired": "new", "state": "Rebooting"}
WORKING: dict[str, Any] = {"desired": "new", "state": "Working"}


def ago(minutes: float) -> float:
    return LATE - minutes


def took(name: str, *, started: float, drained: float | None = None, completed: float | None = None) -> NodeTook:
    """A node in a record, in minutes before NOW."""
    times = {"started": started, "drained": drained, "completed": completed}
    return NodeTook(
        name=name, pool="worker", **{key: None if one is None else at(ago(one)) for key, one in times.items()}
    )


def record(nodes: Iterable[NodeTook], *, earlier: bool = False) -> Record:
    target, started = (PREVIOUS, at(-2000)) if earlier else (TARGET, at(0))
    return Record(
        name=record_name(target, started),
        target=target,
        started=started,
        state="Completed" if earlier else "Progressing",
        nodes=list(nodes),
    )


def report(
    *nodes: Node,
    records: Sequence[Record] = (),
    pools: Sequence[MachineConfigPool] = (MASTER, WORKER),
    completed: float | None = COMPLETED,
) -> Report:
    state = "Partial" if completed is None else "Completed"
    newest = item(TARGET, state=state, started=0, completed=completed)
    progressing = "True" if completed is None else "False"
    version = cluster_version(
        said("Progressing", progressing), said("Failing", "False"), history=[newest, UPDATED_BEFORE, INSTALLED]
    )
    found = sources(operator("dns"), operator("network"), version=version, pools=pools, nodes=(MASTER_NODE, *nodes))
    return assess(structs.replace(found, records=tuple(records)), now=NOW)


def own(found: Report) -> list[Insight]:
    return [insight for insight in found.insights if insight.remedy]


def not_ready(minutes: float) -> PlainCondition:
    return bad("Ready", "Unknown", ago(minutes))


DOWN = "Node w1 has not become available after its restart"
SLOW = "Node w1 has been updated for longer than nodes take"
HELD = "Node w1 has drained for longer than nodes do"


@pytest.mark.parametrize(
    ("found", "of_record", "summary"),
    [
        # Not ready: since when is in its own condition. Usual work of nodes takes less than 17 minutes in 99 of 100.
        (node("w1", not_ready(16), **REBOOTING), None, None),
        (node("w1", not_ready(17), **REBOOTING), None, DOWN),
        (node("w1", not_ready(17), **WORKING), None, DOWN),
        (node("w1", bad("NetworkUnavailable", "True", ago(40)), **WORKING), None, DOWN),
        # It was not ready before its update began.
        (node("w1", not_ready(300), **REBOOTING), took("w1", started=14), None),
        (node("w1", not_ready(300), **REBOOTING), took("w1", started=18), DOWN),
        # Nothing says since when.
        (node("w1", **WORKING), None, None),
        (node("w1", bad("Ready", "Unknown", None), **REBOOTING), None, None),
        (node("w1", **WORKING), took("w1", started=90, drained=30), None),
        (node("w1", **WORKING), took("w1", started=90, drained=31), SLOW),
        (node("w1", **DRAINING), took("w1", started=60), None),
        (node("w1", **DRAINING), took("w1", started=61), HELD),
        # A degraded node has an insight of its own, and one that waits does nothing.
        (node("w1", not_ready(99), desired="new", state="Degraded", reason="disk full"), took("w1", started=99), None),
        (node("w1", not_ready(99)), None, None),
    ],
)
def test_a_node_stands_still_after_longer_than_its_step_takes(
    found: Node, of_record: NodeTook | None, summary: str | None
) -> None:
    # Another node is under way, so the pool itself makes progress.
    busy = node("busy", **DRAINING)
    seen = report(found, busy, records=[record([of_record])] if of_record else [])
    assert [one.summary for one in own(seen)] == ([summary] if summary else [])
    assert seen.stands_still == bool(summary)


@pytest.mark.parametrize(("minutes", "summary"), [(30, []), (31, [SLOW])])
def test_a_node_with_another_image_than_its_pool_stands_still_too(minutes: float, summary: list[str]) -> None:
    """`oc` does not call it unavailable."""
    said = {LAYERING_LABEL: ""}, {NEWEST_IMAGE: "registry.example.com/os@sha256:new"}
    metadata = structs.replace(WORKER.metadata, labels=said[0], annotations=said[1])
    found = report(
        node("w1", not_ready(minutes), **REBOOTING),
        node("busy", **DRAINING),
        pools=(MASTER, structs.replace(WORKER, metadata=metadata)),
    )
    assert [one.summary for one in own(found)] == summary


def test_the_insight_says_since_when_why_and_what_to_do() -> None:
    (found,) = own(report(node("w1", not_ready(40), unschedulable=True, **REBOOTING)))
    assert found.started == after(ago(40))
    assert found.description == "It is rebooting. Not ready | Node is marked unschedulable."
    assert found.remedy == "See the console of the machine of node w1, and the log of its kubelet."
    assert (found.scope, found.pool) == (Scope.WORKER_POOL, "worker")


def test_the_cordon_dates_a_drain_that_nothing_else_dates() -> None:
    tainted = node("w1", **DRAINING)
    taint = Taint(key=UNSCHEDULABLE, effect="NoSchedule", time_added=at(ago(61)))
    tainted = structs.replace(tainted, spec=structs.replace(tainted.spec, taints=[taint]))
    assert [one.summary for one in own(report(tainted))] == [HELD]


def test_a_pool_whose_nodes_are_known_to_take_long_is_given_longer() -> None:
    slow = [took(f"n{number}", started=3000, drained=2990, completed=2940) for number in range(6)]
    seen = report(node("w1", not_ready(60), **REBOOTING), records=[record(slow, earlier=True)])
    assert own(seen) == []
    assert own(report(node("w1", not_ready(400), **REBOOTING), records=[record(slow, earlier=True)]))


def test_a_node_that_stands_still_leaves_its_pool_without_an_expected_end() -> None:
    def expected(minutes: float) -> object:
        return report(node("w1", not_ready(minutes), **REBOOTING)).pools[1].expected

    assert expected(5) is not None
    assert expected(40) is None


def test_a_node_of_the_control_plane_stands_still_too() -> None:
    first = node("m1", not_ready(40), roles=("master",), **REBOOTING)
    seen = report(first, completed=None)
    assert [(one.summary, one.scope) for one in own(seen)] == [
        ("Node m1 has not become available after its restart", Scope.CONTROL_PLANE)
    ]
    assert seen.control_plane.expected is None


# Pools.


def pool(
    *, updating: float | None = None, paused: bool = False, generation: int = 3, observed: int = 3, build: str = ""
) -> MachineConfigPool:
    """`updating`: minutes before NOW at which its condition became True."""
    conditions = [] if updating is None else [said("Updating", "True", ago(updating))]
    conditions += [said(build, "True", ago(updating or 0))] if build else []
    metadata = structs.replace(WORKER.metadata, generation=generation)
    status = MachineConfigPoolStatus(observed_generation=observed, conditions=conditions)
    return structs.replace(WORKER, metadata=metadata, status=status, spec=structs.replace(WORKER.spec, paused=paused))


WAITS = node("w1")
DONE = node("w2", current="new", desired="new")
STILL = "Pool worker makes no progress"


@pytest.mark.parametrize(
    ("nodes", "found", "of_record", "summary"),
    [
        # Four usual nodes, one after the other, take about 50 minutes.
        ((WAITS,), pool(updating=50), None, None),
        ((WAITS,), pool(updating=51), None, STILL),
        ((WAITS,), pool(), None, STILL),
        ((WAITS,), pool(updating=300, paused=True), None, None),
        # It was unpaused, and the controller has not seen that yet.
        ((WAITS,), pool(updating=300, generation=4), None, None),
        # Something is done, and nothing says when.
        ((WAITS, DONE), pool(updating=300), None, None),
        ((WAITS, DONE), pool(updating=300), took("w2", started=60, drained=55, completed=40), None),
        ((WAITS, DONE), pool(updating=300), took("w2", started=130, drained=120, completed=110), STILL),
        ((WAITS, node("w3", **DRAINING)), pool(updating=300), None, None),
        ((DONE,), pool(updating=300), None, None),
        ((node("w1", current=None),), pool(updating=300), None, None),
        ((WAITS,), pool(updating=59, build="Building"), None, None),
        ((WAITS,), pool(updating=61, build="Building"), None, STILL),
    ],
)
def test_a_pool_stands_still_when_no_node_of_it_is_under_way_for_the_time_of_several(
    nodes: tuple[Node, ...], found: MachineConfigPool, of_record: NodeTook | None, summary: str | None
) -> None:
    seen = report(*nodes, pools=(MASTER, found), records=[record([of_record])] if of_record else [])
    assert [one.summary for one in own(seen)] == ([summary] if summary else [])


def test_a_pool_that_need_not_have_begun_does_not_stand_still() -> None:
    assert own(report(WAITS, pools=(MASTER, pool(updating=300)), completed=None)) == []


def test_a_pool_that_stands_still_names_the_nodes_that_wait_and_those_that_are_degraded() -> None:
    broken = node("w3", desired="new", state="Degraded", reason="disk full")
    seen = report(WAITS, broken, pools=(MASTER, pool(updating=100)))
    (found,) = own(seen)
    assert found.description == "No node of it is being updated. Waiting: w1 and w3. Degraded: w3."
    assert found.started == after(ago(100))


def test_nothing_stands_still_while_nothing_is_updated() -> None:
    assert own(report(DONE)) == []
    assert START < NOW
