"""Label selectors as Kubernetes prints them."""

from typing import Any

import msgspec
import pytest

from windlass.api.meta import LabelSelector
from windlass.machine_sync.conversion.selector import selector_text


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        ({}, ""),
        ({"matchLabels": {"b": "1", "a": ""}}, "a=,b=1"),
        ({"matchExpressions": [{"key": "k", "operator": "In", "values": ["b", "a"]}]}, "k in (a,b)"),
        ({"matchExpressions": [{"key": "k", "operator": "NotIn", "values": [""]}]}, "k notin ()"),
        ({"matchExpressions": [{"key": "k", "operator": "Exists"}]}, "k"),
        ({"matchExpressions": [{"key": "k", "operator": "DoesNotExist"}]}, "!k"),
        (
            {
                "matchLabels": {"m": "1"},
                "matchExpressions": [{"key": "z", "operator": "Exists"}, {"key": "a", "operator": "DoesNotExist"}],
            },
            "!a,m=1,z",
        ),
        ({"matchLabels": {"example.com/a": "1"}}, "example.com/a=1"),
    ],
    ids=str,
)
def test_a_selector_is_printed_sorted_by_key(selector: dict[str, Any], text: str) -> None:
    assert selector_text(msgspec.convert(selector, LabelSelector)) == text


@pytest.mark.parametrize(
    "selector",
    [
        {"matchExpressions": [{"key": "k", "operator": "Weird", "values": ["b"]}]},
        {"matchExpressions": [{"key": "k", "operator": "In"}]},
        {"matchExpressions": [{"key": "k", "operator": "Exists", "values": ["b"]}]},
        {"matchLabels": {"a b": "1"}},
        {"matchLabels": {"": "1"}},
        {"matchLabels": {"-a": "1"}},
        {"matchLabels": {"Example.com/a": "1"}},
        {"matchLabels": {"/a": "1"}},
        {"matchLabels": {f"{'p' * 254}/a": "1"}},
        {"matchLabels": {"n" * 64: "1"}},
        {"matchLabels": {"a": "v" * 64}},
        {"matchLabels": {"a": "v\n"}},
        {"matchLabels": {"a": "ż"}},
    ],
    ids=str,
)
def test_a_selector_that_is_not_valid_is_empty(selector: dict[str, Any]) -> None:
    whole = {"matchLabels": {"fine": "1", **selector.get("matchLabels", {})}, **selector}
    assert selector_text(msgspec.convert(whole, LabelSelector)) == ""
