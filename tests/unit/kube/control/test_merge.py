"""Merge patches, checked against the definition of RFC 7386."""

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from windlass.kube.control.merge import FieldChange, changes, merge_patch, same

SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab", max_size=2)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), TREES, max_size=3)


def patched(tree: Any, patch: Any) -> Any:
    """RFC 7386, section 2."""
    if not isinstance(patch, dict):
        return patch
    result = copy.deepcopy(tree) if isinstance(tree, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = patched(result.get(key), value)
    return result


@given(OBJECTS, OBJECTS)
def test_the_patch_makes_the_desired_tree_of_the_observed_one(
    observed: dict[str, Any], desired: dict[str, Any]
) -> None:
    assert same(patched(observed, merge_patch(observed, desired)), desired)


@given(OBJECTS, OBJECTS)
def test_the_patch_is_empty_exactly_if_the_trees_are_the_same(
    observed: dict[str, Any], desired: dict[str, Any]
) -> None:
    assert (not merge_patch(observed, desired)) == same(observed, desired)


@given(OBJECTS, OBJECTS)
def test_changes_are_listed_exactly_if_there_is_a_patch(observed: dict[str, Any], desired: dict[str, Any]) -> None:
    assert bool(list(changes(observed, desired))) == bool(merge_patch(observed, desired))


def test_lists_are_replaced_whole() -> None:
    assert merge_patch({"a": [1, 2]}, {"a": [1]}) == {"a": [1]}


def test_a_null_more_in_a_list_is_a_change() -> None:
    assert [*map(str, changes({"a": []}, {"a": [None]}))] == ["~ a: [] -> [None]"]
    assert [*map(str, changes({"a": [1]}, {"a": [2, None]}))] == ["~ a[0]: 1 -> 2"]


def test_true_is_not_one() -> None:
    assert merge_patch({"a": 1}, {"a": True}) == {"a": True}


def test_a_change_reads_like_a_diff() -> None:
    before = {"spec": {"flavor": "small", "image": "i"}, "tags": ["a"]}
    after = {"spec": {"flavor": "large"}, "tags": ["a", "b"]}
    assert [str(change) for change in changes(before, after)] == [
        "~ spec.flavor: 'small' -> 'large'",
        "- spec.image: 'i'",
        "+ tags[1]: 'b'",
    ]
    assert list(changes(before, before)) == []
    assert next(iter(changes({}, {"a": 1}))) == FieldChange("a", None, 1)
