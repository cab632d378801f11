"""Authority in CEL: conditions that several policies share."""

from typing import Final

from windlass.capability.manifests.cel import literal

CHANGES_AUTHORITY: Final = "object.?spec.?authoritativeAPI != oldObject.?spec.?authoritativeAPI"
"""Condition: the user requests another authority, or withdraws such a request."""


def authority_is(authority: str) -> str:
    """Condition on an object of the Machine API: this API is its authority, before and after the change."""
    return f"oldObject.?status.?authoritativeAPI.orValue('') == {literal(authority)}"
