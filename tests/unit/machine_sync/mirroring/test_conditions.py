"""Conditions of the authoritative object merged into those of its mirror."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from windlass.machine_sync.mirroring.conditions import merged, merged_provider, merged_v1beta1

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
STAMP = "2026-05-01T12:00:00Z"
EARLIER = "2026-01-01T00:00:00Z"

Condition = dict[str, Any]
Merge = Callable[[Any, list[Condition]], list[Condition]]


def v1beta2(observed: Any, converted: list[Condition]) -> list[Condition]:
    return merged(observed, converted, now=NOW, generation=3)


def v1beta1(observed: Any, converted: list[Condition]) -> list[Condition]:
    return merged_v1beta1(observed, converted, now=NOW)


def provider(observed: Any, converted: list[Condition]) -> list[Condition]:
    return merged_provider(observed, converted, now=NOW)


ALL = pytest.mark.parametrize("merge", [v1beta2, v1beta1, provider])


def one(condition: str = "Ready", status: str = "True", **more: Any) -> Condition:
    return {"type": condition, "status": status, **more}


@ALL
@pytest.mark.parametrize("observed", [None, [], "garbage", [None, {}, {"type": 1}]])
def test_a_new_condition_begins_now(merge: Merge, observed: Any) -> None:
    (made,) = merge(observed, [one(reason="R")])
    assert made["lastTransitionTime"] == STAMP
    assert (made["type"], made["status"], made["reason"]) == ("Ready", "True", "R")


@ALL
def test_what_is_there_already_is_the_very_list(merge: Merge) -> None:
    observed = merge(None, [one(reason="R"), one("Available", "False", reason="A")])
    observed = [{**condition, "lastTransitionTime": EARLIER} for condition in reversed(observed)]
    assert merge(observed, [one(reason="R"), one("Available", "False", reason="A")]) is observed


@ALL
def test_conditions_that_conversion_does_not_make_stay_as_they_are(merge: Merge) -> None:
    paused = one("Paused", lastTransitionTime=EARLIER, reason="Paused", observedGeneration=1)
    assert paused in merge([paused], [one()])


@ALL
def test_a_change_of_the_status_moves_the_time(merge: Merge) -> None:
    (made,) = merge([one(status="False", lastTransitionTime=EARLIER)], [one()])
    assert made["lastTransitionTime"] == STAMP


@pytest.mark.parametrize(
    ("merge", "field", "since"),
    [
        (v1beta2, "reason", EARLIER),
        (v1beta2, "message", EARLIER),
        (v1beta1, "reason", STAMP),
        (v1beta1, "message", STAMP),
        (v1beta1, "severity", STAMP),
        (provider, "reason", STAMP),
        (provider, "message", STAMP),
        (provider, "severity", EARLIER),
    ],
)
def test_what_else_moves_it(merge: Merge, field: str, since: str) -> None:
    (made,) = merge([one(lastTransitionTime=EARLIER, **{field: "old"})], [one(**{field: "new"})])
    assert made[field] == "new"
    assert made["lastTransitionTime"] == since


@ALL
@pytest.mark.parametrize("field", ["reason", "message", "severity"])
def test_what_is_no_longer_said_goes(merge: Merge, field: str) -> None:
    (made,) = merge([one(status="False", lastTransitionTime=EARLIER, **{field: "old"})], [one()])
    assert field not in made


def test_conditions_of_v1beta2_say_which_generation_they_are_of() -> None:
    (made,) = v1beta2([one(lastTransitionTime=EARLIER, observedGeneration=2)], [one()])
    assert made == one(lastTransitionTime=EARLIER, observedGeneration=3)


def test_conditions_of_v1beta2_have_an_order() -> None:
    given = ["Deleting", "Paused", "Zebra", "NodeReady", "Another", "Ready", "Available"]
    made = v1beta2(None, [one(name) for name in given])
    assert [condition["type"] for condition in made] == [
        "Available",
        "Ready",
        "NodeReady",
        "Another",
        "Zebra",
        "Paused",
        "Deleting",
    ]


def test_the_older_ones_begin_with_ready() -> None:
    made = v1beta1(None, [one("B"), one("A"), one("Ready")])
    assert [condition["type"] for condition in made] == ["Ready", "A", "B"]


def test_those_of_provider_statuses_stay_in_the_order_in_which_they_came() -> None:
    made = provider([one("B", lastTransitionTime=EARLIER)], [one("C"), one("B", "False"), one("A")])
    assert [condition["type"] for condition in made] == ["B", "C", "A"]
