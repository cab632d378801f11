"""JSON patches item by item: they make the desired tree of the observed one, and name nothing that did not change."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.explore import examples
from windlass.kube.control.item_patch import NoParent, item_patch
from windlass.kube.control.merge import same
from windlass.model.patch import json_patched

KEYS = st.sampled_from(["a", "uid", "name", "x/y", "~", "~1", ""])
SCALARS = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "a", "b", "c"])
NAMED = st.lists(st.sampled_from(["p", "q", "r", "s"]), unique=True, max_size=4)


def trees(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def named(names: list[str]) -> st.SearchStrategy[Any]:
        return st.lists(inner, min_size=len(names), max_size=len(names)).map(
            lambda values: [{"uid": name, "a": value} for name, value in zip(names, values, strict=True)]
        )

    return st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=3) | NAMED.flatmap(named)


TREES = st.recursive(SCALARS, trees, max_leaves=20)


@pytest.mark.slow
@given(st.lists(TREES, max_size=4), st.lists(TREES, max_size=4))
@examples(500)
def test_the_patch_makes_the_desired_tree_of_the_observed_one(observed: list[Any], desired: list[Any]) -> None:
    before, after = {"list": observed}, {"list": desired}
    assert same(json_patched(before, item_patch(before, after)), after)


@pytest.mark.slow
@given(st.dictionaries(KEYS, TREES, max_size=4), st.dictionaries(KEYS, TREES, max_size=4))
@examples(500)
def test_so_does_a_patch_of_maps_unless_a_parent_was_not_observed(
    observed: dict[str, Any], desired: dict[str, Any]
) -> None:
    try:
        patch = item_patch(observed, desired)
    except NoParent:
        return
    assert same(json_patched(observed, patch), desired)


@given(TREES, TREES)
@examples(300)
def test_the_patch_is_empty_exactly_if_the_trees_are_the_same(observed: Any, desired: Any) -> None:
    before, after = {"list": [observed]}, {"list": [desired]}
    assert (not item_patch(before, after)) == same(before, after)


def pools(*insights: dict[str, Any]) -> dict[str, Any]:
    return {"status": {"workerPools": [{"name": "worker", "informers": [{"name": "nodes", "insights": [*insights]}]}]}}


INSIGHTS = "/status/workerPools/0/informers/0/insights"
A, B, C = ({"uid": name, "message": "pending", "resource": {"name": name}} for name in "abc")


@pytest.mark.parametrize(
    ("observed", "desired", "operations"),
    [
        pytest.param(
            [A, B, C],
            [A, B | {"message": "draining"}, C],
            [{"op": "add", "path": f"{INSIGHTS}/1/message", "value": "draining"}],
            id="a field of an item",
        ),
        pytest.param([A, B, C], [A, C], [{"op": "remove", "path": f"{INSIGHTS}/1"}], id="an item less"),
        pytest.param([A, C], [A, B, C], [{"op": "add", "path": f"{INSIGHTS}/1", "value": B}], id="an item more"),
        pytest.param(
            [A, B],
            [B | {"message": "done"}, C],
            [
                {"op": "remove", "path": f"{INSIGHTS}/0"},
                {"op": "add", "path": f"{INSIGHTS}/0/message", "value": "done"},
                {"op": "add", "path": f"{INSIGHTS}/1", "value": C},
            ],
            id="all at once",
        ),
        pytest.param([A, B], [], [{"op": "add", "path": INSIGHTS, "value": []}], id="no item left"),
        pytest.param([A, B], [B, A, C], 5, id="another order, by position"),
    ],
)
def test_items_are_aligned_by_their_names(observed: list[Any], desired: list[Any], operations: Any) -> None:
    before, after = pools(*observed), pools(*desired)
    patch = item_patch(before, after)
    assert patch == operations or len(patch) == operations
    assert json_patched(before, patch) == after


def test_without_names_items_are_aligned_by_position() -> None:
    assert item_patch({"a": [1, 2, 3]}, {"a": [1, 4]}) == [
        {"op": "replace", "path": "/a/1", "value": 4},
        {"op": "remove", "path": "/a/2"},
    ]
    assert item_patch({"a": [1]}, {"a": [True, None]}) == [
        {"op": "replace", "path": "/a/0", "value": True},
        {"op": "add", "path": "/a/-", "value": None},
    ]


@pytest.mark.parametrize("observed", [{}, {"status": {}}, {"status": None}])
def test_a_map_that_was_not_observed_is_not_replaced(observed: dict[str, Any]) -> None:
    with pytest.raises(NoParent, match="/status"):
        item_patch(observed, pools(A))


def test_in_a_list_which_was_observed_whole_it_is_added() -> None:
    assert item_patch({"a": [{}]}, {"a": [{"b": {"c": 1}}]}) == [{"op": "add", "path": "/a/0/b", "value": {"c": 1}}]
