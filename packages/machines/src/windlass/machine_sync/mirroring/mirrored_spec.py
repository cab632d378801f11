"""The record of what conversion wrote to an infra machine or template, and when a spec of another conversion stays.

The record is an annotation, `item=value,...`: a digest of each field that was written, the version of the conversion
that wrote them (`Platform.conversion`), and a digest of the provider spec that they were converted from.

A release of Windlass may convert the same provider spec differently. That alone recreates nothing:

| record | the mirror's spec |
|---|---|
| of the present version | compared, field by field |
| of another version, earlier or later; from the present provider spec | stays |
| of another version; from another provider spec | compared, field by field: the user changed it |
| of another version that recorded no provider spec; the mirror is synchronized | stays; the provider spec is recorded |
| of another version that recorded no provider spec; the mirror is not synchronized | compared, field by field |
| any of another version, and authority is to move | compared, field by field: the other API acts on it next |

A record without a version is of version 1. The items of a record that stays are kept, so that the version of Windlass
that wrote them finds its own record if it is installed again.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

import msgspec

from windlass.machine_sync.constants import MACHINE_API
from windlass.machine_sync.mirroring.migration import is_synchronized
from windlass.machine_sync.mirroring.move import Move

_canonical = msgspec.json.Encoder(order="deterministic").encode

_DIGITS: Final = 12
"""Hexadecimal digits of a digest. Two different values of a field have the same digest with a probability of 2**-48."""
_VERSION: Final = "@conversion"
_SOURCE: Final = "@source"
_FIRST: Final = "1"


def digest(value: Any) -> str:
    """The digest of a JSON tree."""
    return sha256(_canonical(value)).hexdigest()[:_DIGITS]


def record(digests: Mapping[str, str], *, conversion: int, source: Any) -> str:
    """The record of the fields with these `digests`, converted from the provider spec `source`."""
    return _written({**digests, _VERSION: str(conversion), _SOURCE: digest(source)})


def read(text: str) -> dict[str, str]:
    """The items of a record. What is malformed is left out."""
    return dict(item.split("=", 1) for item in text.split(",") if "=" in item)


def standing(text: str, *, conversion: int, source: Any, move: Move) -> str | None:
    """The record of a spec that another conversion wrote and that stays; None if the present conversion decides.

    `source` is the present provider spec.
    """
    items, now = read(text), digest(source)
    if items.get(_VERSION, _FIRST) == str(conversion) or {move.spec, move.status or move.spec} != {MACHINE_API}:
        return None
    before = items.get(_SOURCE)
    if before != now and (before is not None or not is_synchronized(move, authority=MACHINE_API)):
        return None
    return _written({**items, _SOURCE: now})


def _written(items: Mapping[str, str]) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted(items.items()))
