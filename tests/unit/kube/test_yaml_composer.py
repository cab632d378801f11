"""YAML within limits: what is beyond one is cut, and the rest is read."""

import time
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.explore import examples
from windlass.capability.documents.yaml_dialect import Excessive, as_json, load_all
from windlass.kube.nesting import DEEPEST
from windlass.kube.yaml_composer import LARGEST, Cut

LAUGHS = "\n".join(
    ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    + [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, 9)]
)
"""453 bytes of 9^9 values."""


def cuts(tree: Any) -> set[str]:
    if isinstance(tree, Cut):
        return {str(tree)}
    inner = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    return set().union(*map(cuts, inner))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(LAUGHS, "its aliases expand to more than 4 MiB", id="a billion laughs"),
        pytest.param(
            "\n".join(
                ["a0: &a0 {k0: v}"]
                + [f"a{n}: &a{n}\n  <<: [{', '.join([f'*a{n - 1}'] * 9)}]\n  k{n}: v" for n in range(1, 9)]
            ),
            "its aliases expand to more than 4 MiB",
            id="merges",
        ),
        pytest.param(
            f"a: &a {'x' * 2**20}\nb: [{', '.join(['*a'] * 10)}]",
            "its aliases expand to more than 4 MiB",
            id="a long text many times",
        ),
        pytest.param("a: &a {b: [*a]}", "an alias stands inside of what it names", id="endless"),
        pytest.param("a: " + "[" * 300 + "]" * 300, "nested more than 200 levels deep", id="deep flow"),
        pytest.param(
            "\n".join(" " * n + "a:" for n in range(300)), "nested more than 200 levels deep", id="deep block"
        ),
        pytest.param(
            "a0: &a0 [1]\n" + "\n".join(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 300)),
            "nested more than 200 levels deep",
            id="deep by aliases",
        ),
    ],
)
def test_a_document_beyond_a_limit_is_cut_and_the_next_is_read(text: str, problem: str) -> None:
    began = time.process_time()
    [(_, cut), (_, following)] = load_all(f"{text}\n---\nb: 1\n")
    assert cuts(cut) == {problem}
    assert following == {"b": 1}
    with pytest.raises(Excessive, match=problem):
        as_json(cut)
    assert time.process_time() - began < 5


def test_the_limits_are_far_from_what_people_write() -> None:
    base = "base: &base {" + ", ".join(f"k{n}: {'v' * 20}" for n in range(50)) + "}\n"
    text = base + "\n".join(f"item{n}: {{<<: *base, own: {n}}}" for n in range(200))
    assert len(text) < LARGEST
    [(_, tree)] = load_all(text, unique_keys=True)
    assert tree["item199"]["k49"] == "v" * 20
    assert as_json(tree) == tree


def test_as_deep_as_the_limit_is_not_too_deep() -> None:
    text = "[" * DEEPEST + "]" * DEEPEST
    assert not cuts([tree for _, tree in load_all(f"{text}\n")])


def test_thousands_of_levels_end_the_stream_at_once() -> None:
    with pytest.raises(yaml.MarkedYAMLError, match="nested more than 900 levels deep"):
        list(load_all("a: " + "{b: " * 100_000))


def _is_no_number(text: str) -> bool:
    """PyYAML leaves `0E0` unquoted, as a string; kubectl and we read a number."""
    try:
        float(text)
    except ValueError:
        return True
    return False


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5).filter(_is_no_number),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)


@given(values, st.booleans())
@examples()
def test_documents_are_those_that_pyyaml_composes(value: Any, flow: bool) -> None:
    shared = {"one": value, "again": value, "list": [value, {"x": value}]}
    text = yaml.safe_dump(shared, default_flow_style=flow, allow_unicode=True)
    [(_, tree)] = load_all(text, unique_keys=True)
    assert tree == yaml.safe_load(text)
