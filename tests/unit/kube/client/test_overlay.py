"""Own writes over the stream: one rule, one test."""

from typing import Any

import pytest

from windlass.kube.client.overlay import Overlay, is_gone, ordinal
from windlass.kube.object import NamespacedName, Object
from windlass.testing.scripted import Widget

KEY: NamespacedName = ("default", "a")


def widget(version: int | str, *, uid: str = "A", **metadata: Any) -> Object[Widget]:
    identity = {"name": "a", "namespace": "default", "uid": uid, "resourceVersion": str(version)}
    return Object.of(Widget, {"metadata": {**identity, **metadata}})


@pytest.fixture
def overlay() -> Overlay[Widget]:
    return Overlay()


def test_an_answer_newer_than_the_stream_is_shown(overlay: Overlay[Widget]) -> None:
    streamed, answer = widget(10), widget(12)
    assert overlay.wrote(answer, streamed=streamed, position=11)
    assert overlay.view(KEY, streamed) is answer


def test_an_answer_that_the_stream_has_passed_is_ignored(overlay: Overlay[Widget]) -> None:
    assert not overlay.wrote(widget(12), streamed=None, position=12)
    assert overlay.view(KEY, None) is None


def test_of_two_answers_the_newer_is_shown_whichever_comes_first(overlay: Overlay[Widget]) -> None:
    newer = widget(13)
    overlay.wrote(newer, streamed=None, position=11)
    overlay.wrote(widget(12), streamed=None, position=11)
    assert overlay.view(KEY, None) is newer


def test_an_entry_goes_when_the_stream_passes_its_version_by_whichever_object(overlay: Overlay[Widget]) -> None:
    overlay.wrote(widget(12), streamed=None, position=11)
    echo = widget(12)
    assert overlay.passed(11, {KEY: echo}.get) == []
    assert overlay.passed(12, {KEY: echo}.get) == [KEY]
    assert overlay.view(KEY, echo) is echo


def test_a_deleted_object_is_hidden_until_the_stream_tells_of_its_deletion(overlay: Overlay[Widget]) -> None:
    streamed = widget(10)
    overlay.removed(KEY, "A", 10, streamed=streamed, position=15)
    assert overlay.view(KEY, streamed) is None
    later = widget(16)  # changed by somebody just before we deleted it
    assert overlay.passed(16, {KEY: later}.get) == []
    assert overlay.view(KEY, later) is None
    assert overlay.settle(KEY, None, 17)
    assert len(overlay) == 0


def test_a_late_answer_does_not_bring_a_deleted_object_back(overlay: Overlay[Widget]) -> None:
    streamed = widget(10)
    overlay.removed(KEY, "A", 10, streamed=streamed, position=10)
    assert not overlay.wrote(widget(12), streamed=streamed, position=10)
    assert overlay.view(KEY, streamed) is None


def test_an_object_recreated_under_the_name_wins_over_the_tombstone(overlay: Overlay[Widget]) -> None:
    streamed, recreated = widget(10), widget(14, uid="B")
    overlay.removed(KEY, "A", 10, streamed=streamed, position=10)
    overlay.wrote(recreated, streamed=streamed, position=10)
    assert overlay.view(KEY, streamed) is recreated


def test_a_recreated_object_in_the_stream_wins_over_the_tombstone(overlay: Overlay[Widget]) -> None:
    overlay.removed(KEY, "A", 10, streamed=widget(10), position=10)
    recreated = widget(14, uid="B")
    assert overlay.view(KEY, recreated) is recreated
    assert overlay.settle(KEY, recreated, 14)


def test_a_successor_that_was_deleted_too_does_not_uncover_its_predecessor(overlay: Overlay[Widget]) -> None:
    streamed = widget(10)
    overlay.removed(KEY, "A", 10, streamed=streamed, position=10)
    overlay.wrote(widget(14, uid="B"), streamed=streamed, position=10)
    overlay.removed(KEY, "B", 14, streamed=streamed, position=10)
    assert overlay.view(KEY, streamed) is None
    assert overlay.view(KEY, widget(14, uid="B")) is None


def test_word_of_an_old_deletion_does_not_hide_a_newer_object(overlay: Overlay[Widget]) -> None:
    recreated = widget(14, uid="B")
    overlay.wrote(recreated, streamed=None, position=10)
    assert not overlay.removed(KEY, "A", 10, streamed=None, position=10)
    assert overlay.view(KEY, None) is recreated


def test_a_deletion_that_the_stream_has_shown_leaves_no_tombstone(overlay: Overlay[Widget]) -> None:
    overlay.removed(KEY, "A", 10, streamed=None, position=12)
    assert len(overlay) == 0


def test_a_created_and_deleted_object_stays_hidden_when_the_stream_tells_its_story(overlay: Overlay[Widget]) -> None:
    overlay.wrote(widget(12), streamed=None, position=10)
    overlay.removed(KEY, "A", 12, streamed=None, position=10)
    assert overlay.view(KEY, widget(12)) is None
    overlay.passed(12, {KEY: widget(12)}.get)
    assert overlay.view(KEY, widget(12)) is None
    overlay.settle(KEY, None, 13)
    assert len(overlay) == 0


def test_a_tombstone_goes_when_a_stream_past_its_version_never_showed_the_object(overlay: Overlay[Widget]) -> None:
    overlay.wrote(widget(12), streamed=None, position=10)
    overlay.removed(KEY, "A", 12, streamed=None, position=10)
    assert overlay.passed(20, lambda key: None) == [KEY]


def test_taking_the_last_finalizer_off_a_deleted_object_removes_it(overlay: Overlay[Widget]) -> None:
    deleting: dict[str, Any] = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0}
    streamed = widget(12, finalizers=["ours"], **deleting)
    answer = widget(12, **deleting)  # the server answers with the version before
    assert overlay.wrote(answer, streamed=streamed, position=15)
    assert overlay.view(KEY, streamed) is None
    assert overlay.settle(KEY, None, 16)
    assert not overlay.wrote(answer, streamed=None, position=16)
    assert len(overlay) == 0


def test_a_deleted_object_that_something_holds_is_still_there() -> None:
    deleting: dict[str, Any] = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    assert is_gone(widget(1, deletionGracePeriodSeconds=0, **deleting))
    assert not is_gone(widget(1, deletionGracePeriodSeconds=0, finalizers=["theirs"], **deleting))
    assert not is_gone(widget(1, deletionGracePeriodSeconds=30, **deleting)), "a Pod that has time to end"
    assert not is_gone(widget(1, **deleting)), "a Namespace: its finalizers are in spec"
    assert not is_gone(widget(1))


def test_opaque_versions_are_never_laid_over(overlay: Overlay[Widget]) -> None:
    assert ordinal("abc") is ordinal("") is ordinal("²") is None
    assert not overlay.wrote(widget("abc"), streamed=None, position=None)
    assert len(overlay) == 0


def test_a_tombstone_is_lifted_by_an_answer_to_a_later_question_that_shows_the_object(
    overlay: Overlay[Widget],
) -> None:
    streamed = widget(10)
    overlay.removed(KEY, "A", 10, streamed=streamed, position=10)
    assert overlay.lift(KEY, overlay.tombstones()[KEY], streamed)
    assert overlay.view(KEY, streamed) is streamed


@pytest.mark.parametrize(
    "shown",
    [
        pytest.param(None, id="not-there"),
        pytest.param(widget(12, uid="B"), id="another"),
        pytest.param(widget(12, deletionTimestamp="2026-01-01T00:00:00Z", deletionGracePeriodSeconds=0), id="gone"),
    ],
)
def test_a_tombstone_is_not_lifted_by_anything_else(overlay: Overlay[Widget], shown: Object[Widget] | None) -> None:
    streamed = widget(10)
    overlay.removed(KEY, "A", 10, streamed=streamed, position=10)
    assert not overlay.lift(KEY, overlay.tombstone(KEY), shown)
    assert overlay.view(KEY, streamed) is None


def test_an_answer_to_an_earlier_question_does_not_lift_a_tombstone(overlay: Overlay[Widget]) -> None:
    streamed = widget(10)
    before = overlay.tombstone(KEY)
    overlay.removed(KEY, "A", 10, streamed=streamed, position=10)
    assert not overlay.lift(KEY, before, streamed)
    earlier = overlay.tombstone(KEY)
    overlay.removed(KEY, "A", 11, streamed=streamed, position=10)
    assert not overlay.lift(KEY, earlier, streamed)
