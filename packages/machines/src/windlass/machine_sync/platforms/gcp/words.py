"""The words that fields of Google Cloud's machines may say, the same in both APIs."""

from collections.abc import Iterable
from typing import Final

from windlass.machine_sync.conversion.field_errors import FieldError, invalid_json

DISABLED: Final = "Disabled"
MIGRATE: Final = "Migrate"
SPOT: Final = "Spot"
TERMINATE: Final = "Terminate"

MAINTENANCE: Final = frozenset({MIGRATE, TERMINATE})
SWITCH: Final = frozenset({"Enabled", DISABLED})
CONFIDENTIAL_COMPUTE: Final = SWITCH | {
    "AMDEncryptedVirtualization",
    "AMDEncryptedVirtualizationNestedPaging",
    "IntelTrustedDomainExtensions",
}


def examine(fields: Iterable[tuple[str, str | None, frozenset[str]]], errors: list[FieldError], *, below: str) -> None:
    """Add an error for each of the `fields` (name, value, words) that says something else than nothing or a word."""
    for field, value, words in fields:
        if value and value not in words:
            detail = f"unable to convert {field.rpartition('.')[2]}, unknown value"
            errors.append(invalid_json(f"{below}.{field}", value, detail))
