"""Labels and annotations of a mirror: ours follow the authority, those of others stay."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.api.meta import OwnerReference
from windlass.machine_sync.constants import MIRRORED_ANNOTATIONS_ANNOTATION, MIRRORED_LABELS_ANNOTATION
from windlass.machine_sync.mirroring.metadata import compared, mirrored

Labels = dict[str, str]


def of(observed: dict[str, Any], *, labels: Labels | None = None, annotations: Labels | None = None) -> dict[str, Any]:
    return mirrored(observed, labels=labels or {}, annotations=annotations or {}, owners=[])


def after(*authority: Labels, begin: Labels | None = None) -> Labels:
    """The labels of a mirror that began with `begin`, once its authority has had each of these in turn."""
    observed: dict[str, Any] = {"labels": begin or {}}
    for labels in authority:
        observed = of(observed, labels=labels)
    found: Labels = observed.get("labels", {})
    return found


@pytest.mark.parametrize(
    ("begin", "authority", "end"),
    [
        ({}, [{"a": "1"}], {"a": "1"}),
        ({"a": "0"}, [{"a": "1"}], {"a": "1"}),
        ({}, [{"a": "1"}, {"a": "2"}], {"a": "2"}),
        ({}, [{"a": "1"}, {}], {}),
        ({"b": "x"}, [{"a": "1"}, {}], {"b": "x"}),
        ({"a": "0"}, [{}], {"a": "0"}),
        ({"a": "0"}, [{"a": "1"}, {}], {}),
        ({}, [{"a": "1", "b": "2"}, {"b": "2"}, {"b": "3", "c": ""}], {"b": "3", "c": ""}),
        ({}, [{"a": "1"}, {}, {"a": "1"}], {"a": "1"}),
    ],
    ids=[
        "new",
        "taken-over",
        "changed",
        "dropped",
        "others-stay",
        "never-ours",
        "taken-over-and-dropped",
        "several",
        "back-again",
    ],
)
def test_labels_follow_the_authority(begin: Labels, authority: list[Labels], end: Labels) -> None:
    assert after(*authority, begin=begin) == end


def test_annotations_follow_too_and_what_is_remembered_stands_beside_them() -> None:
    first = of({"annotations": {"mine": "x"}}, labels={"b": "2", "a": "1"}, annotations={"k": "v", "j": ""})
    assert first["annotations"] == {
        "mine": "x",
        "k": "v",
        "j": "",
        MIRRORED_LABELS_ANNOTATION: "a=1,b=2",
        MIRRORED_ANNOTATIONS_ANNOTATION: "j,k",
    }
    assert of(first)["annotations"] == {"mine": "x"}


def test_marks_are_not_remembered_and_stay_until_they_are_taken_off() -> None:
    marked = mirrored({}, labels={}, annotations={}, owners=[], marks={"paused": ""})
    assert marked == {"annotations": {"paused": ""}}
    assert of(marked) == marked


def test_owners_are_replaced_whole() -> None:
    owner = OwnerReference(api_version="v1", kind="Pod", name="p", uid="u")
    observed = {"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "n"}]}
    made = mirrored(observed, labels={}, annotations={}, owners=[owner])
    assert [reference["kind"] for reference in made["ownerReferences"]] == ["Pod"]
    assert mirrored(observed, labels={}, annotations={}, owners=[]) == {}


def test_only_what_a_mirror_takes_over_is_compared() -> None:
    metadata = {"name": "n", "labels": {"a": "1"}, "annotations": {}, "finalizers": ["f"], "ownerReferences": []}
    assert compared(metadata) == {"labels": {"a": "1"}}


KEYS = st.sampled_from(["a", "b", "c", "example.com/d"])
VALUES = st.sampled_from(["", "1", "2", "x-y_z.0"])
LABELS = st.dictionaries(KEYS, VALUES)


@given(LABELS, st.lists(LABELS, min_size=1, max_size=4))
def test_the_end_is_what_the_authority_has_and_what_others_put_there(begin: Labels, authority: list[Labels]) -> None:
    end = after(*authority, begin=begin)
    ever = {key for labels in authority for key in labels}
    assert end == {**{key: value for key, value in begin.items() if key not in ever}, **authority[-1]}


@given(LABELS, LABELS, LABELS)
def test_twice_is_once(begin: Labels, labels: Labels, annotations: Labels) -> None:
    once = of({"labels": begin, "annotations": begin}, labels=labels, annotations=annotations)
    assert of(once, labels=labels, annotations=annotations) == once
