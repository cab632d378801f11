"""Authority in CEL: conditions that several policies share."""

from typing import Final

from windlass.capability.manifests.cel import literal

CHANGES_AUTHORITY: Final = "object.?spec.?authoritativeAPI != oldObject.?spec.?authoritativeAPI"
"""Condition: the user asks for another authority, or takes such a request back."""


def authority_is(authority: str) -> str:
    """Condition on an object of the Machine API: this API is its authority, and has been."""
    return f"oldObject.?status.?authoritativeAPI.orValue('') == {literal(authority)}"
