"""Objects that are nested too deeply: one object's trouble, on any Python."""

import doctest
import json
import time
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from tests.unit.kube.widgets import Widget, widget
from windlass.kube import nesting
from windlass.kube.control.seen import Unreadable, seen
from windlass.kube.errors import DecodeError
from windlass.kube.nesting import CUT, DEEPEST, cut, is_deep
from windlass.kube.object import Object

trees = st.recursive(
    st.none() | st.integers(0, 9) | st.text(alphabet='ab[]{}"\\\n', max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(alphabet='x]}"\\', max_size=2), inner, max_size=3)
    ),
)


def depth(tree: Any) -> int:
    if not isinstance(tree, dict | list):
        return 0
    return 1 + max(map(depth, tree.values() if isinstance(tree, dict) else tree), default=0)


@given(trees, st.integers(1, 4), st.sampled_from([None, 1]))
def test_what_is_cut_is_json_of_that_depth_and_the_rest_stays(tree: Any, deepest: int, indent: int | None) -> None:
    text = json.dumps(tree, indent=indent).encode()
    left = cut(text, deepest=deepest)
    assert is_deep(text, deepest=deepest) is (depth(tree) > deepest) is (CUT in left)
    assert not is_deep(left, deepest=deepest)
    assert left.count(b"\n") == text.count(b"\n")
    assert _same_but_for_cuts(tree, json.loads(left))


def _same_but_for_cuts(tree: Any, left: Any) -> bool:
    if left == json.loads(CUT):
        return isinstance(tree, dict | list)
    if isinstance(tree, dict):
        return list(tree) == list(left) and all(_same_but_for_cuts(tree[key], left[key]) for key in tree)
    if isinstance(tree, list):
        return len(tree) == len(left) and all(map(_same_but_for_cuts, tree, left))
    return bool(tree == left)


def nested(name: str, levels: int) -> bytes:
    """A Widget with a status, whose `spec.color` is that many lists."""
    tree = {**widget(name), "status": {"phase": "Ready"}, "spec": {"color": "HERE"}}
    return msgspec.json.encode(tree).replace(b'"HERE"', b"[" * levels + b"]" * levels)


@pytest.mark.parametrize("levels", [DEEPEST - 1, 600, 1_100, 10_000])
def test_a_deep_object_is_there_and_unreadable(levels: int) -> None:
    found = Object.parse(Widget, nested("w", levels))
    assert (found.name, found.metadata.name) == ("w", "w")
    with pytest.raises(DecodeError, match=r"^Widget shop/w: nested more than 200 levels deep$"):
        found.decode()
    look = seen(found)
    assert isinstance(look, Unreadable)
    assert look.metadata.name == "w"


def test_what_stands_beside_the_depth_can_be_glimpsed() -> None:
    class Status(Struct):
        phase: str

    class Shape(Struct):
        status: Status

    assert Object.parse(Widget, nested("w", 1_100)).glimpse(Shape) == Shape(Status("Ready"))


def test_many_maps_beside_each_other_are_not_deep() -> None:
    tree = widget("w", size=1) | {"status": {"phase": "", "conditions": [{}] * 1_000}}
    assert Object.of(Widget, tree).decode().spec.size == 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"[" * 700_000 + b"]" * 700_000, id="one column"),
        pytest.param(b"[" + b",".join([b"[" * 9_000 + b"]" * 9_000] * 75) + b"]", id="many columns"),
        pytest.param(b"[[]," * 300_000 + b"1" + b"]" * 300_000, id="with something beside each level"),
        pytest.param(b"[[[],[]]," * 120_000 + b"1" + b"]" * 120_000, id="with more beside each level"),
    ],
)
def test_a_large_object_made_to_be_slow_is_found_quickly(text: bytes) -> None:
    began = time.process_time()
    assert is_deep(text)
    assert time.process_time() - began < 0.2


def test_the_examples_run() -> None:
    assert doctest.testmod(nesting).failed == 0


def test_a_text_that_ends_within_a_string_is_read_once() -> None:
    began = time.process_time()
    assert cut(b"[" * 300 + b'"' + b'\\"' * 200_000).startswith(b"[" * 200 + CUT)
    assert time.process_time() - began < 5
