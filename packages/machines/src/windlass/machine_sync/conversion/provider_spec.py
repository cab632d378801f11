"""Decodes the platform's part of a Machine API Machine: provider spec and provider status.

Errors have OpenShift's texts. Fields that a type does not have are losses: warnings that name them.
"""

from typing import Any, Final, TypeVar

from windlass.capability.goquote import quote
from windlass.machine_sync.conversion.field_errors import FieldError, dropped, internal
from windlass.machine_sync.conversion.gojson import as_given
from windlass.machine_sync.conversion.unmarshal import GoNames, tree_of, unmarshal

T = TypeVar("T")

PATH: Final = "spec.providerSpec.value"
"""The path of provider specs in errors, also in those of MachineSets."""


def provider_spec(raw: Any, kind: type[T], names: GoNames) -> tuple[T | None, list[FieldError]]:
    """`raw` (a tree, or bytes of JSON or YAML) as `kind` with its losses, or None with the error."""
    if isinstance(raw, kind):
        return raw, []
    try:
        tree = tree_of(raw)
    except ValueError as problem:
        return None, [FieldError(PATH, "Invalid value", f"error unmarshalling providerSpec: {problem}")]
    read = unmarshal(tree, kind, names)
    if read.value is None:
        return None, [
            FieldError(PATH, f"Invalid value: {as_given(tree)}", f"error unmarshalling providerSpec: {read.error}")
        ]
    return read.value, [dropped(f"{PATH}.{path}", value, by=kind.__name__) for path, value in read.unknown]


def provider_status(raw: Any, kind: type[T], names: GoNames) -> tuple[T | None, list[FieldError]]:
    """`raw` (a tree) as `kind`, or None with the error. Unknown fields of a status are no loss."""
    if isinstance(raw, kind):
        return raw, []
    read = unmarshal(raw, kind, names)
    if read.value is None:
        detail = f"error unmarshalling providerStatus {quote(as_given(raw))}: {read.error}"
        return None, [internal("status.providerStatus", detail)]
    return read.value, []
