"""Label selectors, of pools and of PodDisruptionBudgets: as predicates on labels."""

from collections.abc import Callable, Mapping

from windlass.api.meta import LabelSelector, LabelSelectorRequirement
from windlass.kube.labels import is_key, is_value

Selects = Callable[[Mapping[str, str]], bool]


def selects(selector: LabelSelector | None) -> Selects | None:
    """The selector as a predicate on labels; None if Kubernetes would refuse it. No selector selects nothing."""
    if selector is None:
        return lambda _: False
    tests = [_equals(key, value) for key, value in selector.match_labels.items()]
    tests += [_requirement(one) for one in selector.match_expressions]
    known = [test for test in tests if test is not None]
    if len(known) < len(tests):
        return None
    return known[0] if len(known) == 1 else lambda labels: all(test(labels) for test in known)


def as_query(selector: LabelSelector) -> str:
    """The selector, which Kubernetes accepts, as a request names it; "" if it selects everything.

    >>> as_query(LabelSelector(match_labels={"app": "shop"}))
    'app=shop'
    """
    words = [f"{key}={value}" for key, value in selector.match_labels.items()]
    return ",".join((*words, *map(_word, selector.match_expressions)))


def _word(one: LabelSelectorRequirement) -> str:
    if one.operator in ("Exists", "DoesNotExist"):
        return one.key if one.operator == "Exists" else f"!{one.key}"
    return f"{one.key} {one.operator.lower()} ({','.join(one.values)})"


def _equals(key: str, value: str) -> Selects | None:
    return (lambda labels: labels.get(key) == value) if is_key(key) and is_value(value) else None


def _requirement(one: LabelSelectorRequirement) -> Selects | None:
    key, values = one.key, frozenset(one.values)
    if not is_key(key) or not all(map(is_value, values)):
        return None
    match one.operator:
        case "In" if values:
            return lambda labels: labels.get(key) in values
        case "NotIn" if values:
            return lambda labels: labels.get(key) not in values
        case "Exists" if not values:
            return lambda labels: key in labels
        case "DoesNotExist" if not values:
            return lambda labels: key not in labels
    return None
