"""Prints label selectors in the form of a MachineSet's `status.selector`, and lists the labels that they name."""

import re
from typing import Final

from windlass.api import capi, mapi

# Kubernetes' rules for the name, the prefix and the value of a label.
_NAME: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_PREFIX: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_LONGEST_PREFIX: Final = 253


def selector_text(selector: capi.LabelSelector) -> str:
    """The selector as Kubernetes prints it, sorted by key; empty if it selects everything or is not valid.

    >>> selector_text(capi.LabelSelector(match_labels={"b": "1", "a": ""}))
    'a=,b=1'
    """
    requirements: list[tuple[str, str]] = []
    for key in sorted(selector.match_labels):
        value = selector.match_labels[key]
        if not (_is_key(key) and _is_value(value)):
            return ""
        requirements.append((key, f"{key}={value}"))
    for expression in selector.match_expressions:
        text = _requirement(expression)
        if text is None:
            return ""
        requirements.append((expression.key, text))
    requirements.sort(key=_key)
    return ",".join(text for _, text in requirements)


def selected_keys(selector: capi.LabelSelector | mapi.LabelSelector) -> set[str]:
    """The labels that decide whether the selector matches."""
    return {*selector.match_labels, *(expression.key for expression in selector.match_expressions)}


def _key(requirement: tuple[str, str]) -> str:
    return requirement[0]


def _requirement(expression: capi.SelectorRequirement) -> str | None:
    key, values = expression.key, expression.values
    if not _is_key(key) or not all(map(_is_value, values)):
        return None
    match expression.operator:
        case "In" if values:
            return f"{key} in ({','.join(sorted(values))})"
        case "NotIn" if values:
            return f"{key} notin ({','.join(sorted(values))})"
        case "Exists" if not values:
            return key
        case "DoesNotExist" if not values:
            return f"!{key}"
    return None


def _is_key(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    if slash and not (len(prefix) <= _LONGEST_PREFIX and _PREFIX.fullmatch(prefix)):
        return False
    return _NAME.fullmatch(name) is not None


def _is_value(value: str) -> bool:
    return not value or _NAME.fullmatch(value) is not None
