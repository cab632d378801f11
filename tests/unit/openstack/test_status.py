"""Conditions: all there at the first visit, `Ready` from its parts, and one write that carries them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.api.capo_server import OpenStackServer
from windlass.api.meta import Condition
from windlass.kube.conditions import condition, find, status_of
from windlass.kube.control.seen import Present
from windlass.openstack.status import (
    AUTHENTICATED,
    DELETING,
    INSTANCE,
    INSTANCE_PARTS,
    INSTANCE_READY,
    NOT_DELETING,
    NOT_PAUSED,
    PAUSED,
    READY,
    Reason,
    first_visit,
    ready,
    unvisited,
    write,
)

NOW = datetime(2026, 11, 23, 2, 0, tzinfo=UTC)

GOOD = condition(AUTHENTICATED, True, "Ready")
ACTIVE = condition(INSTANCE_READY, True, "Ready")
BUILDING = condition(INSTANCE_READY, None, "InstanceNotReady", "Instance is building")
REFUSED = condition(INSTANCE_READY, False, "InvalidConfiguration", "the flavor is too small")
LOCKED_OUT = condition(AUTHENTICATED, False, "OpenStackAuthenticationFailed", "wrong password")
UNSEEN = condition(AUTHENTICATED, None, "NotYetObserved", "Waiting for Secret shop/cloud")


def server(conditions: list[Any] | None = None, **status: Any) -> Present[OpenStackServer]:
    tree = {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1",
        "kind": "OpenStackServer",
        "metadata": {"name": "a", "namespace": "shop", "uid": "u", "resourceVersion": "7", "generation": 3},
        "status": {**status, **({"conditions": conditions} if conditions is not None else {})},
    }
    raw = msgspec.json.encode(tree)
    return Present(msgspec.json.decode(raw, type=OpenStackServer, strict=False), raw)


@pytest.mark.parametrize(
    ("parts", "status", "reason", "message"),
    [
        pytest.param([GOOD, ACTIVE], "True", "Ready", "", id="all True"),
        pytest.param([GOOD, BUILDING], "Unknown", "InstanceNotReady", "Instance is building", id="one Unknown"),
        pytest.param([GOOD, REFUSED], "False", "InvalidConfiguration", "the flavor is too small", id="one False"),
        pytest.param(
            [LOCKED_OUT, BUILDING],
            "False",
            "MultipleIssues",
            "* OpenStackAuthenticationSucceeded: wrong password\n* InstanceReady: Instance is building",
            id="False beats Unknown, both are listed",
        ),
        pytest.param([GOOD], "Unknown", "NotYetObserved", "", id="one missing"),
        pytest.param(
            [UNSEEN, condition(INSTANCE_READY, None, "NotYetObserved", "Waiting for Secret shop/cloud")],
            "Unknown",
            "NotYetObserved",
            "Waiting for Secret shop/cloud",
            id="nothing observed yet",
        ),
        pytest.param(
            [UNSEEN, REFUSED],
            "False",
            "InvalidConfiguration",
            "the flavor is too small",
            id="a part that was not observed is no cause beside one that was",
        ),
        pytest.param(
            [GOOD, ACTIVE, condition(PAUSED, True, "Paused")], "True", "Ready", "", id="Paused does not count"
        ),
        pytest.param(
            [GOOD, ACTIVE, condition(DELETING, True, "DeletingServer", "Deleting server a")],
            "False",
            "DeletingServer",
            "Deleting server a",
            id="deletion comes first",
        ),
    ],
)
def test_ready_is_the_sum_of_its_parts(parts: list[Condition], status: str, reason: str, message: str) -> None:
    summary = ready(parts, INSTANCE_PARTS)
    assert (summary.status, summary.reason, summary.message) == (status, reason, message)


statuses = st.sampled_from(["True", "False", "Unknown"])


@given(one=statuses, other=statuses, paused=statuses)
def test_ready_is_false_unknown_and_true_in_this_order(one: str, other: str, paused: str) -> None:
    parts = [Condition(type=t, status=s, reason="R") for t, s in ((AUTHENTICATED, one), (INSTANCE_READY, other))]
    summary = ready([*parts, Condition(type=PAUSED, status=paused, reason="R")], INSTANCE_PARTS)
    assert summary.status == min((one, other), key=["False", "Unknown", "True"].index)
    assert summary.reason


def test_the_first_visit_writes_every_condition_as_unknown_with_what_is_awaited() -> None:
    found = server()
    assert unvisited(found, INSTANCE)
    merge = write(found, first_visit(INSTANCE, awaited="Waiting for Cluster shop/c"), parts=INSTANCE_PARTS, now=NOW)
    written = merge.patch["status"]["conditions"]
    assert [each["type"] for each in written] == list(INSTANCE)
    assert {(each["status"], each["reason"], each["message"]) for each in written} == {
        ("Unknown", "NotYetObserved", "Waiting for Cluster shop/c")
    }
    assert all(each["observedGeneration"] == 3 and each["lastTransitionTime"] for each in written)
    assert not unvisited(server(written), INSTANCE)


def test_writing_the_same_again_changes_nothing() -> None:
    told = (GOOD, ACTIVE, NOT_PAUSED, NOT_DELETING)
    once = write(server(), told, parts=INSTANCE_PARTS, now=NOW).patch["status"]["conditions"]
    again = write(server(once), told, parts=INSTANCE_PARTS, now=NOW + timedelta(hours=1))
    assert not again.needed
    assert status_of(once, READY) == "True"


def test_the_time_moves_with_the_status_and_not_with_the_message() -> None:
    once = write(server(), (GOOD, REFUSED), parts=INSTANCE_PARTS, now=NOW).patch["status"]["conditions"]
    other = condition(INSTANCE_READY, False, "QuotaExceeded", "10 of 10")
    later = write(server(once), (other,), parts=INSTANCE_PARTS, now=NOW + timedelta(minutes=5))
    found = find(later.patch["status"]["conditions"], INSTANCE_READY)
    assert found is not None
    assert (found["reason"], found["lastTransitionTime"]) == ("QuotaExceeded", "2026-11-23T02:00:00Z")


def test_conditions_that_an_older_provider_left_without_a_reason_are_replaced_or_dropped() -> None:
    old = [
        {"type": "InstanceReady", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
        {"type": "Ours", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
        {"type": "Theirs", "status": "True", "reason": "Good", "lastTransitionTime": "2026-01-01T00:00:00Z"},
    ]
    assert unvisited(server(old), [INSTANCE_READY])
    conditions = write(server(old), (GOOD, ACTIVE), parts=INSTANCE_PARTS, now=NOW).patch["status"]["conditions"]
    assert {each["type"] for each in conditions} == {READY, AUTHENTICATED, INSTANCE_READY, "Theirs"}
    assert all(each["reason"] for each in conditions)


def test_fields_go_out_with_the_conditions_and_none_removes_one() -> None:
    merge = write(
        server(instanceState="BUILD", ready=False),
        (GOOD,),
        parts=INSTANCE_PARTS,
        now=NOW,
        fields={"instanceState": None, "ready": True},
    )
    assert merge.part == "status"
    assert (merge.patch["status"]["instanceState"], merge.patch["status"]["ready"]) == (None, True)


def test_a_message_is_no_longer_than_kubernetes_accepts() -> None:
    told = condition(INSTANCE_READY, False, Reason.OPENSTACK_ERROR, "word " * 20_000)
    conditions = write(server(), (told,), parts=INSTANCE_PARTS, now=NOW).patch["status"]["conditions"]
    assert all(len(each["message"]) <= 32_768 for each in conditions)
