"""YAML is read as kubectl reads it, and written so that kubectl and PyYAML read back what was meant."""

import doctest
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.explore import examples
from windlass.capability.documents import yaml_dialect
from windlass.capability.documents.yaml_dialect import dump_all, load_all


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2024-01-01", "2024-01-01"),
        ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
        ("12:34:56", "12:34:56"),
        ("1:30", "1:30"),
        ("=", "="),
        ("1e3", 1000.0),
        ("1.5", 1.5),
        (".5", 0.5),
        ("-12", -12),
        ("0x1f", 31),
        ("017", 15),
        ("1_000", 1000),
        ("9223372036854775808", 9223372036854775808),
        ("08", "08"),
        ("1.2.3", "1.2.3"),
        ("v1", "v1"),
        ("yes", True),
        ("off", False),
        ("True", True),
        ("~", None),
        ("null", None),
        ("''", ""),
        ("'1'", "1"),
        ("!!str 1", "1"),
    ],
)
def test_scalars_are_what_they_are_to_kubectl(text: str, value: Any) -> None:
    [(_, read)] = load_all(f"a: {text}")
    assert read == {"a": value}
    assert type(read["a"]) is type(value)


def test_documents_know_their_line() -> None:
    assert list(load_all("# a comment\n\na: 1\n---\n\n# another\nb: 2\n---\n---\nc: 3")) == [
        (3, {"a": 1}),
        (7, {"b": 2}),
        (9, None),
        (10, {"c": 3}),
    ]


def test_anchors_and_merges_are_followed() -> None:
    [(_, tree)] = load_all("base: &base {a: 1}\nderived:\n  <<: *base\n  b: 2\n")
    assert tree["derived"] == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("a: 1\nb: 2\na: 3", 3, "'a' is set twice, first on line 1: keep one of them"),
        ("x:\n- c: {}\n  d: 1\n  c: {}", 4, "'c' is set twice, first on line 2: keep one of them"),
        ("ok: 1\n---\n1: a\n'1': b", 4, "'1' is set twice, first on line 3: keep one of them"),
    ],
)
def test_a_key_that_is_set_twice_is_an_error_if_keys_must_be_unique(text: str, line: int, problem: str) -> None:
    with pytest.raises(yaml.MarkedYAMLError) as caught:
        list(load_all(text, unique_keys=True))
    mark = caught.value.problem_mark
    assert mark is not None
    assert (mark.line + 1, caught.value.problem) == (line, problem)


def test_elsewhere_the_last_value_of_a_key_counts() -> None:
    assert list(load_all("a: 1\na: 2")) == [(1, {"a": 2})]


def test_the_same_key_in_several_mappings_is_no_key_set_twice() -> None:
    text = "a: &a {k: 1}\nb: {k: 2, <<: *a}\nc: {<<: *a, <<: {m: 1}}\nd: [*a, *a]\ne: &e [*e]"
    [(_, tree)] = load_all(text, unique_keys=True)
    assert tree["b"] == {"k": 2}
    assert tree["d"] == [{"k": 1}, {"k": 1}]


@pytest.mark.parametrize("text", ["y", "N", "yes", "1", "0x1f", "017", "1e3", ".5", "null", "~", "2024-01-01", "", "="])
def test_strings_that_could_be_misread_are_quoted(text: str) -> None:
    assert dump_all([text]).strip().strip("-").strip()[:1] in ("'", '"')


def test_equal_parts_are_written_out_each_time() -> None:
    shared = {"x": [1]}
    assert dump_all([{"a": shared, "b": shared}]) == "a:\n  x:\n  - 1\nb:\n  x:\n  - 1\n"


TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)


@pytest.mark.slow
@given(st.lists(TREES, min_size=1, max_size=3))
@examples()
def test_what_is_written_is_read_back(trees: list[Any]) -> None:
    text = dump_all(trees)
    assert [tree for _, tree in load_all(text)] == trees
    assert list(yaml.safe_load_all(text)) == trees


def test_the_examples_run() -> None:
    failed, attempted = doctest.testmod(yaml_dialect)
    assert (failed, attempted > 0) == (0, True)
