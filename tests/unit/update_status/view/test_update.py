"""The document of the update: what the report says, in parts."""

import asyncio
from collections import Counter

import pytest
from msgspec import structs

from tests.unit.update_status.recorded import CASES
from tests.unit.update_status.view.recorded_page import reading, those
from windlass.api.update_record import Took
from windlass.update_status.as_tree import tree
from windlass.update_status.assessment import assess
from windlass.update_status.causes.symptoms import cause_of
from windlass.update_status.history import followed
from windlass.update_status.record import Record
from windlass.update_status.report import Reference
from windlass.update_status.view.parts import parts
from windlass.update_status.view.update import RULE, TITLE, recorded_view
from windlass.web.board import Board

WITHOUT_ERROR = tuple(case for case in CASES if "error" not in case)


@pytest.mark.parametrize("name", WITHOUT_ERROR)
def test_all_that_the_report_says_is_in_the_parts(name: str) -> None:
    read = reading(name)
    report = assess(read.sources, now=read.now, wall=read.wall)
    said = tree(report, now=read.now)
    document = parts(report, followed([], report, {}, now=read.now), now=read.now)

    assert those(document, "operator").keys() == {one["name"] for one in said["controlPlane"]["operators"]}
    assert those(document, "pool").keys() == {one["name"] for one in said["pools"]}
    nodes = {node["name"]: (pool["name"], node) for pool in said["pools"] for node in pool["nodes"]}
    assert those(document, "node").keys() == nodes.keys()
    for node, (pool, whole) in nodes.items():
        part = document[f"node/{node}"]
        assert part["pool"] == pool
        left_out = {key for key in whole if key not in part}
        assert all(whole[key] in (None, "", False) for key in left_out)
    shown = Counter(str(about) for one in those(document, "insight").values() for about in one.get("resources", ()))
    assert shown == Counter(str(about) for one in said["insights"] for about in one["resources"])
    assert {one["level"] for one in those(document, "insight").values()} == {one["level"] for one in said["insights"]}
    assert document["update"]["updating"] == report.updating
    assert document["update"]["headline"] == said["headline"]


def test_what_is_reported_because_of_a_cause_names_it() -> None:
    read = reading("4.14.1-degraded")
    report = assess(read.sources, now=read.now, wall=read.wall)
    document = parts(report, [], now=read.now)
    (node,) = (key for key, part in document.items() if key.startswith("cause/") and "is not ready" in part["summary"])
    under = [part for part in document.values() if isinstance(part, dict) and part.get("under") == node]
    symptoms = [insight for insight in report.insights if cause_of(insight, report.causes) is not None]
    assert {about["name"] for part in under for about in part["resources"]} == {
        about.name for insight in symptoms for about in insight.resources
    }
    assert len(symptoms) > len(under) > 1


def test_an_alert_stands_under_the_trouble_that_it_follows() -> None:
    read = reading("4.14.1-degraded")
    report = assess(read.sources, now=read.now, wall=read.wall)
    operator = Reference("config.openshift.io", "clusteroperators", "etcd")
    trouble = structs.replace(report.insights[0], summary="etcd is down", resources=(operator,), follows=None)
    alert = structs.replace(trouble, summary="an alert of etcd", resources=(), follows=operator)
    document = parts(structs.replace(report, causes=(), insights=(alert, trouble)), [], now=read.now)
    under = {part["summary"]: part.get("under") for part in those(document, "insight").values()}
    (key,) = (key for key, part in document.items() if key.startswith("insight/") and part["summary"] == "etcd is down")
    assert under == {"an alert of etcd": key, "etcd is down": None}


@pytest.mark.parametrize("name", WITHOUT_ERROR)
def test_time_alone_changes_little(name: str) -> None:
    """Open pages must not be woken each second: ages are computed there."""
    read = reading(name)
    report = assess(read.sources, now=read.now, wall=read.wall)
    second = 10**9
    before, after = (parts(report, [], now=read.now + late) for late in (0, second))
    assert {key.partition("/")[0] for key in before if before[key] != after[key]} <= {"update", "pool"}


def test_two_insights_with_the_same_text_are_two() -> None:
    read = reading("4.14.1-degraded")
    report = assess(read.sources, now=read.now, wall=read.wall)
    twice = structs.replace(report, insights=(*report.insights, *report.insights))
    document = parts(twice, [], now=read.now)
    resources = [about for part in those(document, "insight").values() for about in part.get("resources", ())]
    assert len(resources) == 2 * sum(len(insight.resources) for insight in report.insights)
    alone = those(parts(report, [], now=read.now), "insight")
    assert alone.keys() <= those(document, "insight").keys()


async def test_files_show_one_moment_for_ever() -> None:
    read = reading("4.15.0-ec2-unavailable-mco-20m")
    view, board = recorded_view(read), Board()
    assert (view.title, view.rule) == (TITLE, RULE)
    showing = asyncio.ensure_future(view.source(board))
    await asyncio.wait_for(board.newer_than(board.stamp), 5)
    showing.cancel()
    assert b'"clock":{"now":"2023-11-24T15:48:28Z"}' in board.since("")


def test_a_refused_request_is_in_the_history_and_the_timeline_is_of_the_update_before() -> None:
    began = Record(
        name="a",
        target="4.16.1",
        state="Completed",
        started="2026-01-01T00:00:00Z",
        operators=[Took(name="etcd", started="2026-01-01T00:00:00Z")],
    )
    refused = structs.replace(began, name="b", state="Refused", started="2026-01-02T00:00:00Z", operators=[])
    read = reading(WITHOUT_ERROR[0])
    document = parts(assess(read.sources, now=read.now), [began, refused], now=read.now)
    assert [one["state"] for one in document["history"]] == ["Refused", "Completed"]
    assert document["record"]["name"] == "a"
    assert "took/operator/etcd" in document


def test_equal_troubles_of_many_nodes_are_one_part_that_stays_while_nodes_come_and_go() -> None:
    read = reading("4.16.0-ec2-control-plane-updated-pdb-prohibits-draining")
    report = assess(read.sources, now=read.now, wall=read.wall)
    degraded = [insight for insight in report.insights if insight.summary.endswith("is degraded")]
    assert len(degraded) == 7
    found = those(parts(report, [], now=read.now), "insight")
    (key,) = (key for key, part in found.items() if part["summary"].endswith("4 more are degraded"))
    assert [about["name"] for about in found[key]["resources"]] == [one.resources[0].name for one in degraded]
    assert found[key]["reason"] == (
        "failed to drain node: <node> after 1 hour. Please see machine-config-controller logs for more information"
    )
    for left in (3, 1):
        fewer = [insight for insight in report.insights if insight not in degraded[left:]]
        after = those(parts(structs.replace(report, insights=tuple(fewer)), [], now=read.now), "insight")
        assert len(after[key]["resources"]) == left


def test_an_update_that_fails_is_urgent_and_one_that_only_takes_long_is_not() -> None:
    read = reading("4.14.1-degraded")
    report = assess(read.sources, now=read.now, wall=read.wall)
    found = those(parts(report, [], now=read.now), "insight").values()
    assert [part["reason"] for part in found if part.get("urgent")] == [
        "Cluster operators etcd, kube-apiserver are degraded"
    ]
