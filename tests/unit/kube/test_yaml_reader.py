"""YAML of others: whatever it holds, reading it ends soon, and with an error that tells no secret."""

import time
from contextlib import suppress
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.explore import examples
from windlass.kube import yaml_reader
from windlass.kube.yaml_reader import load, problem_of

LAUGHS = "\n".join(
    ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    + [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, 9)]
)


def refusal(text: str | bytes, **limit: Any) -> str:
    with pytest.raises(yaml.YAMLError) as caught:
        load(text, **limit)
    return problem_of(caught.value)[0]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("- " * 100_000, "nested more than 200 levels deep", id="dashes"),
        pytest.param("{a: " * 100_000, "nested more than 200 levels deep", id="braces"),
        pytest.param("? " * 100_000, "nested more than 200 levels deep", id="question marks"),
        pytest.param("[" * 300 + "]" * 300, "nested more than 200 levels deep", id="300 levels"),
        pytest.param(LAUGHS, "its aliases expand to more than 4 MiB", id="a billion laughs"),
        pytest.param("a: &a [*a]", "an alias stands inside of what it names", id="endless"),
        pytest.param(
            "a: !!int '" + "1:" * 500_000 + "1'", "a number of more than 1000 characters", id="a quoted number"
        ),
        pytest.param("a: " + "1" * 5000, "a number of more than 1000 characters", id="5,000 digits"),
        pytest.param("a: 1\n---\nb: 1\n", "a second document", id="two documents"),
    ],
)
def test_what_would_crash_or_freeze_the_process_is_refused_at_once(text: str, problem: str) -> None:
    began = time.process_time()
    assert refusal(text) == problem
    assert time.process_time() - began < 5


def test_so_are_brackets_whose_depth_libyaml_may_refuse_before_us() -> None:
    """It looks ahead for a colon behind them. PyYAML 6.0.4 has a version that refuses 1,000 levels in its own words."""
    assert "nest" in refusal("[" * 100_000)


@pytest.mark.parametrize(
    "value",
    ["!!int x", "!!int ''", "!!bool x", "!!float x", "!!timestamp x", "!!timestamp 2026-13-45", "!!int {}", "!!map x"],
)
def test_a_value_that_is_not_of_its_type_is_an_error_of_yaml(value: str) -> None:
    assert refusal(f"a: {value}")


@pytest.mark.parametrize("text", ["a: !hunter2", "a: *hunter2", "a: {b: hunter2]", 'a: "hunter2', "a: hunter2: b"])
def test_an_error_does_not_quote_what_may_be_a_password(text: str) -> None:
    assert "hunter2" not in refusal(f"{text}\n")


def test_a_caller_may_limit_the_text_and_what_aliases_add() -> None:
    assert refusal("a: " + "x" * 2**10, longest=2**10) == "it has more than 1 KiB"
    assert refusal(LAUGHS, longest=2**10) == "its aliases expand to more than 1 KiB"


@pytest.mark.parametrize(
    "value", ["2026-01-01", "2026-13-45", "2026-01-01T10:00:00Z", "1:30", "-1:30.5", "1:" * 500_000 + "1"]
)
def test_what_looks_like_a_date_or_a_time_is_text(value: str) -> None:
    assert load(f"a: {value}") == {"a": value}


def test_keys_that_are_set_twice_are_refused_where_it_is_asked_for() -> None:
    assert load("a: 1\na: 2\n") == {"a": 2}
    assert refusal("a: 1\na: 2\n", unique_keys=True) == "'a' is set twice, first on line 1: keep one of them"


@pytest.mark.parametrize("text", ["{a: b}", "[a, b]", "- &a x\n- *a", "!!set {a}", "[[], {}]"])
def test_a_caller_may_limit_the_values_keys_among_them(text: str) -> None:
    assert load(text, most=3) == load(text)
    assert refusal(text, most=2) == "it has more than 2 values"


def test_the_depth_is_that_of_the_deepest_branch() -> None:
    assert len(load(f"[{'[[]], ' * 1000}]")) == 1000


def test_nothing_is_no_document() -> None:
    assert load("") is load("# a comment\n") is None


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)


@given(values, st.booleans())
@examples()
def test_what_people_write_is_read_as_pyyaml_reads_it(value: Any, flow: bool) -> None:
    text = yaml.safe_dump({"one": value, "again": [value, value]}, default_flow_style=flow, allow_unicode=True)
    assert load(text) == yaml.safe_load(text)


@given(st.text(alphabet="ab10:.-_ \n'\"[]{}?&*!%#|>~=<ex"), st.sampled_from(["", "!!int ", "!!timestamp ", "!!set "]))
@examples()
def test_any_text_is_read_or_refused(text: str, tag: str) -> None:
    with suppress(yaml.YAMLError):
        load(f"{tag}{text}")


def test_the_example_in_its_docstring_holds() -> None:
    import doctest

    assert doctest.testmod(yaml_reader) == (0, 1)
