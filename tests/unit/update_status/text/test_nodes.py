"""The text of pools and nodes."""

import pytest
from msgspec import structs

from windlass.update_status.report import Node, Phase, Summary
from windlass.update_status.text.nodes import (
    control_plane_nodes,
    node_estimate,
    node_message,
    pool_nodes,
    pool_status,
    worker_pools,
)

from .reports import lines, node, pool


def test_nodes_of_the_control_plane() -> None:
    master = pool("master", node("m-1"), node("m-2", Phase.UPDATED), node("m-0", Phase.DRAINING))
    assert control_plane_nodes(master, every_node=False) == lines("""
        Control Plane Nodes
        NAME   ASSESSMENT    PHASE      VERSION   EST    MESSAGE
        m-0    Progressing   Draining   4.16.0    +10m   $
        m-1    Outdated      Pending    4.16.0    ?      $
        m-2    Completed     Updated    4.16.1    -      $
    """)


def test_a_control_plane_whose_nodes_are_all_updated_is_one_line() -> None:
    master = pool("master", node("m-0", Phase.UPDATED), node("m-1", Phase.UPDATED))
    assert control_plane_nodes(master, every_node=True) == "All control plane nodes successfully updated to 4.16.1\n"


def test_its_version_is_that_of_the_first_node_of_the_table() -> None:
    broken = structs.replace(node("m-1", Phase.UPDATED, degraded="x"), version="4.16.1-rc.0")
    assert "updated to 4.16.1-rc.0\n" in control_plane_nodes(
        pool("master", node("m-0", Phase.UPDATED), broken), every_node=False
    )


def test_without_nodes_there_is_no_text() -> None:
    assert control_plane_nodes(pool("master"), every_node=True) == ""
    assert worker_pools([pool("worker"), pool("infra")]) == ""
    assert pool_nodes(pool("worker"), every_node=True) == ""


def test_pools_of_workers_are_listed_also_if_they_are_empty() -> None:
    worker = pool(
        "worker", *(node(f"w-{number}", Phase.UPDATED if number < 22 else Phase.PENDING) for number in range(59))
    )
    assert worker_pools([worker, pool("edge"), pool("infra", node("i", Phase.UPDATED))]) == lines("""
        = Worker Upgrade =

        WORKER POOL   ASSESSMENT    COMPLETION    STATUS
        worker        Progressing   37% (22/59)   59 Available, 0 Progressing, 0 Draining
        edge          Empty                       0 Total
        infra         Completed     100% (1/1)    1 Available, 0 Progressing, 0 Draining
    """)


@pytest.mark.parametrize(
    ("summary", "text"),
    [
        (Summary(total=3, available=2, progressing=1), "2 Available, 1 Progressing, 0 Draining"),
        (Summary(total=3, draining=1, excluded=2), "0 Available, 0 Progressing, 1 Draining, 2 Excluded"),
        (Summary(total=3, degraded=2), "0 Available, 0 Progressing, 0 Draining, 2 Degraded"),
        (Summary(total=3, excluded=1, degraded=2), "0 Available, 0 Progressing, 0 Draining, 1 Excluded, 2 Degraded"),
    ],
)
def test_the_status_of_a_pool_names_excluded_and_degraded_nodes_if_there_are_any(summary: Summary, text: str) -> None:
    assert pool_status(summary) == text


def test_nodes_are_in_the_order_of_their_trouble() -> None:
    worker = pool(
        "worker",
        node("w-9", Phase.UPDATED),
        node("w-8", Phase.PENDING),
        node("w-7", Phase.PAUSED),
        node("w-6", Phase.REBOOTING),
        node("w-5", Phase.UPDATING),
        node("w-4", Phase.DRAINING),
        node("w-3", Phase.UPDATED, unavailable="Not ready"),
        node("w-2", Phase.PENDING, unavailable="Not ready | Node is marked unschedulable"),
        node("ä-1", Phase.UPDATED, degraded="y"),
        node("w-1", Phase.UPDATED, degraded="x", unavailable="Not ready"),
        node("w-0", Phase.DRAINING, degraded=""),
    )
    assert pool_nodes(worker, every_node=True) == lines("""
        Worker Pool Nodes: worker
        NAME   ASSESSMENT    PHASE       VERSION   EST    MESSAGE
        w-0    Degraded      Draining    4.16.0    ?      $
        w-1    Degraded      Updated     4.16.1    -      x
        ä-1    Degraded      Updated     4.16.1    -      y
        w-2    Unavailable   Pending     4.16.0    ?      Not ready | Node is marked unschedulable
        w-3    Unavailable   Updated     4.16.1    -      Not ready
        w-4    Progressing   Draining    4.16.0    +10m   $
        w-5    Progressing   Updating    4.16.0    +5m    $
        w-6    Progressing   Rebooting   4.16.0    +5m    $
        w-7    Excluded      Paused      4.16.0    -      $
        w-8    Outdated      Pending     4.16.0    ?      $
        w-9    Completed     Updated     4.16.1    -      $
    """)


def test_a_node_that_is_being_updated_may_be_unavailable() -> None:
    text = pool_nodes(pool("worker", node("w", Phase.DRAINING, unavailable="Not ready")), every_node=True)
    assert "w      Progressing   Draining   4.16.0    +10m   \n" in text


def test_a_node_of_unknown_version() -> None:
    text = pool_nodes(pool("worker", structs.replace(node("w"), version="")), every_node=True)
    assert "w      Outdated     Pending   ?         ?     \n" in text


def test_a_node_whose_daemon_has_not_begun_is_not_updated_yet() -> None:
    begun = Node(name="w", phase=Phase.UPDATED, updating=True)
    assert node_estimate(begun) == "-"
    assert node_estimate(structs.replace(begun, degraded=True)) == "?"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("worker-1", "<node> and <node>-a"),
        ("worker1", "worker1 and worker1-a"),
        ("wörker1", "<node> and <node>-a"),
    ],
)
def test_a_long_name_is_not_repeated_in_the_message(name: str, message: str) -> None:
    assert node_message(node(name, degraded=f"{name} and {name}-a")) == message


def test_a_message_of_several_lines_splits_the_table() -> None:
    worker = pool("worker", node("worker-0", Phase.DRAINING, degraded="one\ntwo: worker-0"), node("w-1"))
    assert pool_nodes(worker, every_node=False) == lines("""
        Worker Pool Nodes: worker
        NAME       ASSESSMENT   PHASE      VERSION   EST   MESSAGE
        worker-0   Degraded     Draining   4.16.0    ?     one
        two: <node>
        w-1   Outdated   Pending   4.16.0   ?   $
    """)


MANY = pool(
    "worker",
    *(node(f"d-{number}", Phase.PENDING, degraded="x") for number in range(3)),
    *(node(f"p-{number:02}", Phase.DRAINING, unavailable="Not ready") for number in range(9)),
    node("s-0", Phase.PAUSED),
    node("o-0", Phase.PENDING),
    node("u-0", Phase.UPDATED),
)


def test_of_many_nodes_the_first_ten_are_shown_and_the_others_counted() -> None:
    assert pool_nodes(MANY, every_node=False) == lines("""
        Worker Pool Nodes: worker
        NAME   ASSESSMENT    PHASE      VERSION   EST    MESSAGE
        d-0    Degraded      Pending    4.16.0    ?      x
        d-1    Degraded      Pending    4.16.0    ?      x
        d-2    Degraded      Pending    4.16.0    ?      x
        p-00   Progressing   Draining   4.16.0    +10m   $
        p-01   Progressing   Draining   4.16.0    +10m   $
        p-02   Progressing   Draining   4.16.0    +10m   $
        p-03   Progressing   Draining   4.16.0    +10m   $
        p-04   Progressing   Draining   4.16.0    +10m   $
        p-05   Progressing   Draining   4.16.0    +10m   $
        p-06   Progressing   Draining   4.16.0    +10m   $
        ...
    """) + (
        "Omitted additional 5 Total, 1 Completed, 3 Available, 2 Progressing, 4 Outdated, 2 Draining, 1 Excluded, "
        "and 0 Degraded nodes.\nPass along --details=nodes to see all information.\n"
    )


def test_with_every_node_none_is_omitted() -> None:
    text = pool_nodes(MANY, every_node=True)
    assert text.count("\n") == 2 + 15
    assert "Omitted" not in text


def test_nodes_in_trouble_are_shown_however_many_they_are() -> None:
    bad = [node(f"d-{number:02}", degraded="x") for number in range(7)]
    bad += [node(f"u-{number:02}", unavailable="Not ready") for number in range(7)]
    text = pool_nodes(pool("worker", node("fine"), *bad), every_node=False)
    assert all(f"{one.name} " in text for one in bad)
    assert "Omitted additional 1 Total, 0 Completed, 1 Available, 0 Progressing, 1 Outdated," in text


def test_ten_nodes_are_not_too_many() -> None:
    assert "..." not in pool_nodes(pool("worker", *(node(f"w-{number}") for number in range(10))), every_node=False)
