"""Reads alerts from the answers of Prometheus, as Go decodes JSON.

A field of a wrong type is left out and reading goes on; a malformed time ends it, and what came before it is kept.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

from windlass.capability.documents.yaml_dialect import as_json
from windlass.update_status.sources import Alert, AlertAnnotations, AlertLabels
from windlass.update_status.times import moment

UNREADABLE: Final = "Ignoring alerts in 'Update Health'. Error unmarshaling alerts: %w"
"""The beginning of the line that `oc` prints, with its defect."""


class _Malformed(Exception):
    """A time that is none."""


def read_alerts(body: bytes) -> tuple[tuple[Alert, ...], str]:
    """The alerts of an answer to `/api/v1/alerts`, and the line that says what is wrong with it, or ""."""
    try:
        tree = as_json(json.loads(body, parse_constant=_refuse))
    except (ValueError, RecursionError) as error:
        return (), f"{UNREADABLE} {_shown(error)}"
    trouble = _Trouble()
    data = trouble.typed(trouble.typed(tree, dict, "answer").get("data"), dict, "data")
    return _alerts(trouble.typed(data.get("alerts"), list, "data.alerts"), trouble)


def alerts_of_rules(tree: Any) -> tuple[Alert, ...]:
    """The alerts in an answer to `/api/v1/rules`, which is what a must-gather has."""
    trouble = _Trouble()
    found: list[Any] = []
    for group in _items(_member(tree, "data"), "groups"):
        for rule in _items(group, "rules"):
            found += _items(rule, "alerts")
    return _alerts(found, trouble)[0]


class _Trouble:
    """Remembers the first value of a wrong type."""

    def __init__(self) -> None:
        self.first = ""

    def typed(self, value: Any, kind: type, field: str) -> Any:
        """`value`, or the zero value of `kind`."""
        if isinstance(value, kind):
            return value
        if value is not None and not self.first:
            self.first = f"{field}: expected {_NAMES[kind]}, found {json.dumps(value)[:40]}"
        return kind()


_NAMES: Final[dict[type, str]] = {dict: "an object", list: "a list", str: "a string"}


def _alerts(items: list[Any], trouble: _Trouble) -> tuple[tuple[Alert, ...], str]:
    found: list[Alert] = []
    for index, item in enumerate(items):
        field = f"data.alerts[{index}]"
        given: dict[str, Any] = {}
        try:
            given.update(_fields(trouble.typed(item, dict, field), field, trouble))
        except _Malformed as error:
            found.append(Alert(**given))
            trouble.first = trouble.first or str(error)
            break
        found.append(Alert(**given))
    return tuple(found), f"{UNREADABLE} {trouble.first}" if trouble.first else ""


def _fields(item: dict[str, Any], field: str, trouble: _Trouble) -> Iterator[tuple[str, Any]]:
    """In the order of the JSON: of an alert with a malformed time, what stands before it is kept."""
    for key, value in item.items():
        match key:
            case "labels":
                yield "labels", AlertLabels(**_texts(value, AlertLabels, f"{field}.labels", trouble))
            case "annotations":
                texts = _texts(value, AlertAnnotations, f"{field}.annotations", trouble)
                yield "annotations", AlertAnnotations(**texts)
            case "state":
                yield "state", trouble.typed(value, str, f"{field}.state")
            case "activeAt" if value is not None:
                try:
                    if not isinstance(value, str) or not value:
                        raise ValueError(f"{json.dumps(value)[:40]} is not a time")  # noqa: TRY301
                    moment(value)
                except ValueError as error:
                    raise _Malformed(f"{field}.activeAt: {error}") from None
                yield "active_at", value


def _texts(value: Any, kind: type[AlertLabels] | type[AlertAnnotations], field: str, trouble: _Trouble) -> Any:
    tree = trouble.typed(value, dict, field)
    known = kind.__struct_fields__
    return {key: trouble.typed(text, str, f"{field}.{key}") for key, text in tree.items() if key in known}


def _member(tree: Any, name: str) -> Any:
    return tree.get(name) if isinstance(tree, dict) else None


def _items(tree: Any, name: str) -> list[Any]:
    items = _member(tree, name)
    return items if isinstance(items, list) else []


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _shown(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
