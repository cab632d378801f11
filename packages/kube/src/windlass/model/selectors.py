"""Label and field selectors as the list endpoint reads them."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from windlass.api.core import Event, Pod
from windlass.api.meta import KubernetesObject
from windlass.kube.object import Object
from windlass.model.refusals import bad_request

Matches: TypeAlias = Callable[[Mapping[str, str]], bool]
Selects: TypeAlias = Callable[[Object[Any]], bool]

_REQUIREMENT = re.compile(
    r"""\s*(?:
        !(?P<absent>[\w./-]+)
      | (?P<key>[\w./-]+)\s*(?:
            (?P<equals>==?|!=)\s*(?P<value>[\w.-]*)
          | \s(?P<word>in|notin)\s*\((?P<values>[^)]*)\)
        )?
    )\s*(?:,|$)""",
    re.VERBOSE,
)


def label_selector(text: str) -> Matches:
    """`a=b,c!=d,e in (f,g),h,!i` as a predicate on labels. Raises BadRequest if it cannot be read."""
    tests = list(_label_tests(text))
    return lambda labels: all(test(labels) for test in tests)


def _label_tests(text: str) -> Iterator[Matches]:
    position = 0
    while position < len(text):
        found = _REQUIREMENT.match(text, position)
        if found is None or found.end() == position:
            raise bad_request(f"unable to parse requirement: {text[position:]!r}")
        position = found.end()
        yield _label_test(found)


def _label_test(found: re.Match[str]) -> Matches:
    if absent := found["absent"]:
        return lambda labels: absent not in labels
    key = found["key"]
    if found["equals"]:
        wanted, equal = found["value"], found["equals"] != "!="
        return lambda labels: (labels.get(key) == wanted) is equal
    if found["word"]:
        values, inside = {value.strip() for value in found["values"].split(",")}, found["word"] == "in"
        return lambda labels: (key in labels and labels[key] in values) is inside
    return lambda labels: key in labels


def field_selector(text: str, kind: type[KubernetesObject]) -> Selects:
    """`metadata.name=x,metadata.namespace!=y` as a predicate; fields that `kind` has no selector for are refused."""
    selectable = _OF_EVENTS if kind is Event else _OF_PODS if kind is Pod else _OF_ANY_KIND
    tests: list[Selects] = []
    for part in filter(None, text.split(",")):
        path, operator, value = re.split(r"(!=|==|=)", part, maxsplit=1)
        if path not in selectable:
            raise bad_request(f"field label not supported: {path}")
        tests.append(_field_test(path, value, equal=operator != "!="))
    return lambda found: all(test(found) for test in tests)


_OF_ANY_KIND = ("metadata.name", "metadata.namespace")
_OF_PODS = (*_OF_ANY_KIND, "spec.nodeName", "status.phase")
_OF_EVENTS = (
    *(*_OF_ANY_KIND, "involvedObject.kind", "involvedObject.name", "involvedObject.namespace"),
    *("reason", "type"),
)


def _field_test(path: str, value: str, *, equal: bool) -> Selects:
    part, _, key = path.partition(".")

    def written(tree: Mapping[str, Any]) -> Any:
        return tree.get(part, {}).get(key, "") if key else tree.get(part, "")

    return lambda found: (written(found.tree()) == value) is equal
