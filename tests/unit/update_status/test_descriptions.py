"""Every field of our kinds of updates says in the CRD what it is, and none of them is a boolean."""

from collections.abc import Iterator
from typing import Any

import pytest

from windlass.kube.crd import Owned
from windlass.update_status.installation import OWNED

ENVELOPE = frozenset({".apiVersion", ".kind", ".metadata"})


def fields(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    for name, field in schema.get("properties", {}).items():
        yield f"{path}.{name}", field
        yield from fields(field, f"{path}.{name}")
    if "items" in schema:
        yield from fields(schema["items"], f"{path}[]")


def every_field(owned: Owned) -> dict[str, dict[str, Any]]:
    (version,) = owned.manifest()["spec"]["versions"]
    found = dict(fields(version["schema"]["openAPIV3Schema"]))
    return {path: field for path, field in found.items() if path not in ENVELOPE}


@pytest.mark.parametrize("owned", OWNED, ids=lambda one: one.kind.__name__)
def test_every_field_is_described(owned: Owned) -> None:
    assert [path for path, field in every_field(owned).items() if len(field.get("description", "")) < 8] == []


@pytest.mark.parametrize("owned", OWNED, ids=lambda one: one.kind.__name__)
def test_no_field_is_a_boolean_but_one_that_is_deprecated(owned: Owned) -> None:
    booleans = [field for field in every_field(owned).values() if field.get("type") == "boolean"]
    assert [one for one in booleans if not one["description"].startswith("Deprecated")] == []


@pytest.mark.parametrize("owned", OWNED, ids=lambda one: one.kind.__name__)
def test_every_list_and_text_has_a_limit(owned: Owned) -> None:
    def unlimited(field: dict[str, Any]) -> bool:
        if field.get("type") == "array":
            return "maxItems" not in field
        return field.get("type") == "string" and not field.keys() & {"maxLength", "enum", "format"}

    assert [path for path, field in every_field(owned).items() if unlimited(field)] == []
