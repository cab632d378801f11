"""The whole text: which sections there are, and what is between them."""

import pytest

from windlass.update_status.report import Phase, State
from windlass.update_status.text import Details, render

from .reports import NOW, UPDATED, control_plane, insight, lines, node, operator, pool, report

FOUND = report(
    control_plane(operator("dns", State.PROGRESSING, message="1 of 3"), versions=None),
    pool("worker", *(node(f"w-{number:02}") for number in range(11))),
    pool("master", node("m-0")),
    pool("edge"),
    insights=(insight("Something is wrong"),),
)


def test_a_report_has_its_sections_in_order_whatever_the_order_of_pools() -> None:
    found = report(
        control_plane(UPDATED, operator("dns", State.PROGRESSING), versions=None),
        pool("worker", node("w-0", Phase.UPDATED)),
        pool("master", node("m-0")),
        pool("edge"),
        pool("infra", node("i-0")),
    )
    assert render(found, now=NOW, details=Details.NONE) == lines("""
        = Control Plane =
        Assessment:      Progressing
        Target Version:  unknown (from unknown)
        Updating:        dns
        Completion:      50% (1 operators updated, 1 updating, 0 waiting)
        Duration:        now (Est. Time Remaining: 1h12m)
        Operator Health: 2 Healthy

        Control Plane Nodes
        NAME   ASSESSMENT   PHASE     VERSION   EST   MESSAGE
        m-0    Outdated     Pending   4.16.0    ?     $

        = Worker Upgrade =

        WORKER POOL   ASSESSMENT   COMPLETION   STATUS
        worker        Completed    100% (1/1)   1 Available, 0 Progressing, 0 Draining
        edge          Empty                     0 Total
        infra         Pending      0% (0/1)     1 Available, 0 Progressing, 0 Draining

        Worker Pool Nodes: worker
        NAME   ASSESSMENT   PHASE     VERSION   EST   MESSAGE
        w-0    Completed    Updated   4.16.1    -     $

        Worker Pool Nodes: infra
        NAME   ASSESSMENT   PHASE     VERSION   EST   MESSAGE
        i-0    Outdated     Pending   4.16.0    ?     $

        = Update Health =
        SINCE   LEVEL   IMPACT   MESSAGE
        14m     Info    None     Update is proceeding well
    """)


@pytest.mark.parametrize("details", Details)
def test_a_terminal_obeys_nothing_that_the_cluster_says(details: Details) -> None:
    hostile = "\x1b]52;c;aGk=\x07\x1b[2J\r\x9b31m\u202e"
    found = report(
        control_plane(operator(hostile, State.PROGRESSING, message=hostile, why=(hostile, hostile)), versions=None),
        pool(hostile, node(hostile)),
        insights=(insight(hostile),),
    )
    text = render(found, now=NOW, details=details)
    assert r"\x1b[2J\r\x9b31m\u202e" in text
    assert all(line.isprintable() for line in text.split("\n"))


def test_of_two_pools_named_master_in_a_file_the_last_is_shown() -> None:
    found = report(control_plane(UPDATED), pool("master", node("m-0")), pool("master", node("m-1")))
    text = render(found, now=NOW, details=Details.NONE)
    assert "m-1" in text
    assert "m-0" not in text


def test_without_nodes_there_are_two_sections() -> None:
    text = render(report(control_plane(UPDATED), pool("master"), pool("worker")), now=NOW, details=Details.ALL)
    assert text == lines("""
        = Control Plane =
        Update to 4.16.1 successfully completed at 2024-02-27T12:14:00Z (duration: 14m)

        = Update Health =
        SINCE   LEVEL   IMPACT   MESSAGE
        14m     Info    None     Update is proceeding well
    """)


def test_each_detail_is_of_one_section_and_all_of_all() -> None:
    marks = {
        Details.OPERATORS: "Updating Cluster Operators\n",
        Details.NODES: "w-10 ",
        Details.HEALTH: "Message: Something is wrong\n",
    }
    for details in Details:
        text = render(FOUND, now=NOW, details=details)
        expected = {own for own in marks if details in (own, Details.ALL)}
        assert {own for own, mark in marks.items() if mark in text} == expected


def test_operators_stand_below_the_control_plane() -> None:
    text = render(FOUND, now=NOW, details=Details.OPERATORS)
    assert (
        lines("""
        Operator Health: 1 Healthy

        Updating Cluster Operators
        NAME   SINCE   REASON   MESSAGE
        dns    14m     -        1 of 3

        Control Plane Nodes
    """)
        in text
    )


def test_why_alerts_are_missing_comes_first() -> None:
    text = render(report(alerts="Unable to fetch alerts"), now=NOW, details=Details.NONE)
    assert text.startswith("Unable to fetch alerts\n= Control Plane =\n")


def test_a_cluster_that_is_not_updating() -> None:
    done = report(
        control_plane(UPDATED, updating="False"),
        pool("master", node("m-0")),
        pool("worker", node("w-0", Phase.UPDATED)),
        pool("edge"),
        insights=(insight("Something is wrong"),),
        alerts="Unable to fetch alerts",
    )
    for details in Details:
        assert render(done, now=NOW, details=details) == "The cluster is not updating.\n"


def test_an_outdated_worker_keeps_the_report_alive() -> None:
    text = render(
        report(control_plane(UPDATED, updating="False"), pool("worker", node("w-0"))), now=NOW, details=Details.NONE
    )
    assert text.startswith("= Control Plane =\nUpdate to 4.16.1 successfully completed")
