"""Prints label selectors in the form of a MachineSet's `status.selector`, and lists the labels that they name."""

from windlass.api.meta import LabelSelector, LabelSelectorRequirement
from windlass.kube.labels import is_key, is_value


def selector_text(selector: LabelSelector) -> str:
    """The selector as Kubernetes prints it, sorted by key; empty if it selects everything or is not valid.

    >>> selector_text(LabelSelector(match_labels={"b": "1", "a": ""}))
    'a=,b=1'
    """
    requirements: list[tuple[str, str]] = []
    for key in sorted(selector.match_labels):
        value = selector.match_labels[key]
        if not (is_key(key) and is_value(value)):
            return ""
        requirements.append((key, f"{key}={value}"))
    for expression in selector.match_expressions:
        text = _requirement(expression)
        if text is None:
            return ""
        requirements.append((expression.key, text))
    requirements.sort(key=_key)
    return ",".join(text for _, text in requirements)


def selected_keys(selector: LabelSelector) -> set[str]:
    """The labels that decide whether the selector matches."""
    return {*selector.match_labels, *(expression.key for expression in selector.match_expressions)}


def _key(requirement: tuple[str, str]) -> str:
    return requirement[0]


def _requirement(expression: LabelSelectorRequirement) -> str | None:
    key, values = expression.key, expression.values
    if not is_key(key) or not all(map(is_value, values)):
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
