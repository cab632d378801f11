"""Objects that a controller of an earlier version stored are read, and written again without loss.

`tests/data/update_status_stored` has them as an API server returned them, of a played update.
"""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.unit.update_status.document.parts import unobserved
from windlass.api.update import UpdateStatus, UpdateStatusStatus
from windlass.api.update_informer import UpdateInformer, is_enabled
from windlass.api.update_record import UpdateRecord
from windlass.kube import decoding
from windlass.update_status.document import health_insights, read, write
from windlass.update_status.document.validity import trouble
from windlass.update_status.record import record_of, tree_of
from windlass.update_status.times import moment

STORED = Path(__file__).parents[3] / "data" / "update_status_stored"
NAMES = ("under-way", "ended", "begun-again")
LATER = moment("2026-11-29T13:00:00Z")


def stored(name: str) -> Any:
    return json.loads((STORED / f"{name}.json").read_text(encoding="utf-8"))


def status(name: str) -> UpdateStatusStatus:
    return decoding.decode(msgspec.json.encode(stored(name)["status"]), UpdateStatus).status


@pytest.mark.parametrize("name", NAMES)
def test_a_report_is_read_and_written_as_objects_are_now(name: str) -> None:
    before = status(name)
    report = read(before, now=LATER)
    after = write(report, now=LATER, previous=before)
    assert trouble(after) == ""
    assert unobserved(read(after, now=LATER)) == unobserved(report)
    text = msgspec.json.encode(after).decode()
    for former in ("startSource", "poolsBefore", '"paused"', '"completion"', "lastProgressAt", "estimatedToComplete"):
        assert former not in text


def test_what_the_object_remembers_stays() -> None:
    before = status("under-way")
    after = write(read(before, now=LATER), now=LATER, previous=before)
    ((uid, insight),) = health_insights(after).items()
    assert insight.started_at is None
    assert insight.first_seen_at == health_insights(before)[uid].started_at
    assert [one.first_seen_at for one in after.causes] == [one.started_at for one in before.causes]
    assert before.control_plane
    assert after.control_plane
    assert after.control_plane.conditions == before.control_plane.conditions
    assert [one.conditions for one in after.worker_pools] == [one.conditions for one in before.worker_pools]
    assert since(after) == since(before)


def since(found: UpdateStatusStatus) -> dict[str, int | None]:
    """When each node entered its phase, as people are told."""
    nodes = [node for pool in read(found, now=LATER).pools for node in pool.nodes]
    return {node.name: node.first_seen if node.since is None else node.since for node in nodes}


def test_a_start_that_was_reported_is_one_and_another_is_not() -> None:
    (pause,) = read(status("under-way"), now=LATER).insights
    (entry,) = health_insights(status("under-way")).values()
    assert (pause.started, pause.first_seen) == (None, moment(entry.started_at or ""))
    (refusal,) = read(status("ended"), now=LATER).insights
    assert (refusal.started, refusal.first_seen) == (moment("2026-11-29T12:00:00Z"), None)


def test_a_pool_that_was_paused_is() -> None:
    report = read(status("under-way"), now=LATER)
    assert {pool.name: pool.paused for pool in report.pools} == {"infra": True, "master": False, "worker": False}


def test_progress_and_estimate_follow_from_the_operators() -> None:
    plane = read(status("under-way"), now=LATER).control_plane
    informers = stored("under-way")["status"]["status"]["controlPlane"]["informers"]
    insights = [entry["insight"] for informer in informers for entry in informer["insights"]]
    (version,) = [one["clusterVersion"] for one in insights if "clusterVersion" in one]
    assert plane.last_progress == moment(version["lastProgressAt"])


@pytest.mark.parametrize("name", NAMES)
def test_a_record_is_read_as_one_of_now(name: str) -> None:
    for tree in stored(name)["records"]:
        record = record_of(decoding.decode(msgspec.json.encode(tree), UpdateRecord))
        again = record_of(decoding.decode(msgspec.json.encode(tree_of(record)), UpdateRecord))
        assert again == record
        assert (record.target, record.state, record.started) == (tree["target"], tree["state"], tree["started"])
        kept = msgspec.to_builtins(record)
        for field in ("operators", "pools", "nodes", "troubles"):
            assert kept.get(field, []) == tree.get(field, [])


def test_an_informer_that_was_enabled_is_asked_on() -> None:
    specs = [msgspec.convert(tree, UpdateInformer) for tree in stored("ended")["informers"]]
    assert {one.metadata.name: is_enabled(one.spec) for one in specs} == {"network": False, "storage": True}


@pytest.mark.parametrize(
    ("spec", "enabled"),
    [
        ({}, False),
        ({"enabled": True}, True),
        ({"state": "Enabled"}, True),
        ({"state": "Disabled", "enabled": True}, False),
        ({"state": "Enabled", "enabled": False}, True),
    ],
)
def test_the_state_of_an_informer_counts_and_enabled_only_without_it(spec: dict[str, Any], enabled: bool) -> None:
    service = {"service": {"namespace": "storage", "name": "disks"}}
    tree = {"metadata": {"name": "disks"}, "spec": {"clientConfig": service, **spec}}
    assert is_enabled(msgspec.convert(tree, UpdateInformer).spec) is enabled
