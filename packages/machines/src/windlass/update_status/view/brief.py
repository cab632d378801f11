"""What the first page says of an update: how far it is, and its causes and insights that need somebody. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from windlass.web.brief import Need, Tone, brief

_TONES: Final[Mapping[str, Tone]] = {"Critical": "bad", "Error": "bad", "Warning": "warn"}
"""By level. An insight of the level Info is left out."""


def in_short(parts: Mapping[str, Any]) -> dict[str, Any]:
    """The part for the first page, from the document's `parts`."""
    update = parts["update"]
    found = [part for key, part in parts.items() if key.startswith(("cause/", "insight/")) and "under" not in part]
    needs = [
        Need(_text(part), _TONES[part["level"]], part.get("started")) for part in found if part.get("level") in _TONES
    ]
    return brief(update["headline"]["text"], needs, tone="busy" if update["updating"] else "good")


def _text(part: Mapping[str, Any]) -> str:
    """Whose word it is, too, if a program of others tells it."""
    return ": ".join(str(part[key]) for key in ("informer", "summary") if part.get(key))
