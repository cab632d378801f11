"""The algebra of conditions: examples, and its laws as properties over Structs and trees alike."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.api.meta import Condition, SeverityCondition, tree
from windlass.kube.conditions import UNKNOWN, condition, find, is_true, put, status_of

EARLY = datetime(2026, 1, 1, tzinfo=UTC)
LATE = datetime(2026, 6, 1, tzinfo=UTC)
EARLY_TEXT, LATE_TEXT = "2026-01-01T00:00:00Z", "2026-06-01T00:00:00Z"

READY = Condition(type="Ready", status="True", reason="Up", message="", last_transition_time=EARLY_TEXT)


def test_a_new_condition_is_put_at_the_end_and_stamped() -> None:
    after = put([READY], condition("Synced", True, "Done"), now=LATE)
    assert [each.type for each in after] == ["Ready", "Synced"]
    assert after[1].last_transition_time == LATE_TEXT


def test_the_time_moves_with_the_status() -> None:
    after = put([READY], condition("Ready", False, "Down"), now=LATE)
    assert after == [Condition(type="Ready", status="False", reason="Down", last_transition_time=LATE_TEXT)]


def test_the_time_stays_when_only_words_change() -> None:
    (after,) = put([READY], condition("Ready", True, "StillUp", "for a while"), now=LATE)
    assert (after.reason, after.last_transition_time) == ("StillUp", EARLY_TEXT)


def test_a_condition_in_which_nothing_changed_is_returned_as_it_is() -> None:
    assert put([READY], condition("Ready", True, "Up"), now=LATE)[0] is READY


def test_a_reason_is_required() -> None:
    with pytest.raises(ValueError, match="condition Ready has no reason"):
        condition("Ready", True, "")
    with pytest.raises(ValueError, match="condition Ready has no reason"):
        put([READY], Condition(type="Ready", status="True"), now=LATE)


def test_trees_stay_trees_and_structs_of_another_api_stay_theirs() -> None:
    trees = put([tree(READY)], condition("Ready", False, "Down", "m"), now=LATE)
    assert trees == [
        {"type": "Ready", "status": "False", "reason": "Down", "message": "m", "lastTransitionTime": LATE_TEXT}
    ]
    old = SeverityCondition(type="Ready", status="False", severity="Error", reason="Down")
    (other,) = put([old], condition("Ready", True, "Up"), now=LATE)
    assert other == SeverityCondition(type="Ready", status="True", reason="Up", last_transition_time=LATE_TEXT)


def test_missing_conditions_are_unknown() -> None:
    conditions = [READY, Condition(type="Odd", status="maybe")]
    assert is_true(conditions, "Ready")
    assert status_of(conditions, "Odd") == UNKNOWN
    assert status_of(conditions, "Missing") == UNKNOWN


TYPES = st.sampled_from(["Ready", "Synced", "Paused"])
CONDITIONS = st.builds(
    condition, TYPES, st.sampled_from([True, False, None]), st.sampled_from(["A", "B"]), st.sampled_from(["", "m"])
)


@given(news=st.lists(CONDITIONS, max_size=12), as_trees=st.booleans())
def test_a_list_has_one_condition_of_a_type_and_the_last_word_counts(news: list[Condition], as_trees: bool) -> None:
    start: list[Any] = [tree(READY)] if as_trees else [READY]
    after = put_all(start, *news, now=LATE)
    types = [kind(each) for each in after]
    assert len(types) == len(set(types))
    last = {"Ready": READY, **{each.type: each for each in news}}
    for each in after:
        assert is_true([each], kind(each)) == (last[kind(each)].status == "True")
        assert isinstance(each, dict) == as_trees


@given(news=st.lists(CONDITIONS, max_size=12))
def test_putting_twice_is_putting_once(news: list[Condition]) -> None:
    once = put_all([READY], *news, now=EARLY)
    last = list({each.type: each for each in news}.values())
    assert put_all(once, *last, now=LATE) == once


@given(before=CONDITIONS, after=CONDITIONS)
def test_the_time_moves_exactly_when_the_status_does(before: Condition, after: Condition) -> None:
    old: list[Condition] = put([], before, now=EARLY)
    new = find(put(old, after, now=LATE), after.type)
    assert new is not None
    stays = before.type == after.type and before.status == after.status
    assert new.last_transition_time == (EARLY_TEXT if stays else LATE_TEXT)


def put_all(conditions: Iterable[Any], *news: Condition, now: datetime) -> list[Any]:
    return reduce(lambda so_far, new: put(so_far, new, now=now), news, [*conditions])


def kind(one: Condition | Mapping[str, Any]) -> str:
    return one.type if isinstance(one, Condition) else one["type"]
