"""What is read of a cluster for whoever looks, where no controller keeps an UpdateStatus."""

import asyncio
import json
from typing import Any

import pytest
from msgspec import structs

from tests.unit.update_status.view.recorded_page import reading, those
from windlass.kube.client import Client
from windlass.kube.client.retry import RetryPolicy
from windlass.kube.config import ClusterConfig
from windlass.update_status.record import Record
from windlass.update_status.sources import Unknown
from windlass.update_status.view.own_reading import document_of, forbidden, own_reading
from windlass.web.board import Board
from windlass.web.view import STALE, TROUBLES

NAME = "4.15.0-ec2-unavailable-mco-20m"
NO_NODES = 'nodes is forbidden: User "bob" cannot list resource "nodes" in API group "" at the cluster scope'
NO_CONFIG = (
    'machineconfigs.machineconfiguration.openshift.io "rendered-{}" is forbidden: User "bob" cannot get resource '
    '"machineconfigs" in API group "machineconfiguration.openshift.io" at the cluster scope'
)


def test_the_document_says_when_it_was_read_and_why_it_is_no_object() -> None:
    document = document_of(reading(NAME), "there is no UpdateStatus cluster")
    assert document["read"] == {"at": "2023-11-24T15:48:28Z"}
    [said] = document[TROUBLES]
    assert said.startswith("Read from the cluster itself, because there is no UpdateStatus cluster. The history")
    assert document["update"]["headline"]["text"].startswith("Updating to 4.15.0-ec.2")


def test_what_may_not_be_read_is_named_with_what_it_hides() -> None:
    found = reading(NAME)
    sources = structs.replace(
        found.sources, pools=Unknown("gone"), nodes=Unknown(NO_NODES), gaps=(f"MachineConfig a: {NO_CONFIG}",)
    )
    document = document_of(structs.replace(found, sources=sources), "")
    assert document[TROUBLES] == [
        "With your rights these cannot be read: nodes, machineconfigs. What they would tell is missing."
    ]
    assert those(document, "node") == {}


def test_a_kind_is_named_once() -> None:
    assert forbidden([NO_CONFIG.format("a"), NO_CONFIG.format("b"), NO_NODES, "not among the files"]) == [
        "machineconfigs",
        "nodes",
    ]


def test_the_record_of_a_controller_that_died_is_gone_on_with() -> None:
    found = reading(NAME)
    before = Record(name="a", target="4.14.0", state="Completed", started="2023-01-01T00:00:00Z")
    document = document_of(structs.replace(found, sources=structs.replace(found.sources, records=(before,))), "x")
    assert [record["target"] for record in document["history"]] == ["4.15.0-ec.2", "4.14.0"]
    assert document["record"]["state"] == "Progressing"


async def test_a_cluster_that_does_not_answer_is_told_and_asked_again() -> None:
    personal, board = own_reading(lambda: "", every=0.01), Board()
    async with Client(ClusterConfig("http://127.0.0.1:1"), retry=RetryPolicy(attempts=1)) as client:
        running = asyncio.ensure_future(personal.source(client, board))
        async with asyncio.timeout(20):
            await board.newer_than(board.stamp)
        running.cancel()
    shown: dict[str, Any] = json.loads(board.since(""))["parts"]
    assert shown[TROUBLES] == [shown[STALE]]
    assert shown[STALE].startswith("the cluster cannot be read: ")


@pytest.mark.parametrize("name", ["not-upgrading", "4.16.0-single-node"])
def test_each_recorded_cluster_has_a_document(name: str) -> None:
    assert document_of(reading(name), "x")["update"]["headline"]["text"]
