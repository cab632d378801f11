"""Decodes JSON and plain trees into types, and makes each type ready for that once, in one thread at a time.

msgspec makes a type ready when something is decoded into it for the first time. If two threads do so together, the
process ends with SIGSEGV (msgspec 0.22). So nothing else in Windlass asks msgspec for a type.
"""

import threading
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_DECODERS: dict[Any, msgspec.json.Decoder[Any]] = {}
# The same thread comes in again when the garbage collector runs meanwhile and something that it ends decodes.
_ONE_AT_A_TIME = threading.RLock()


def decoder(kind: type[T]) -> "msgspec.json.Decoder[T]":
    """The one decoder of `kind`: building one costs more than using it."""
    found = _DECODERS.get(kind)
    if found is None:
        with _ONE_AT_A_TIME:
            found = _DECODERS.setdefault(kind, msgspec.json.Decoder(kind))
    return found


def decode(data: bytes | msgspec.Raw | str, kind: type[T]) -> T:
    """The value that the JSON `data` gives. Raises msgspec.DecodeError, and UnicodeDecodeError for other bytes."""
    return decoder(kind).decode(data)


def convert(tree: Any, kind: type[T], *, from_attributes: bool = False) -> T:
    """The value of the type `kind` that the plain `tree` (or an object with such attributes) gives. Raises
    msgspec.ValidationError."""
    decoder(kind)
    return msgspec.convert(tree, kind, from_attributes=from_attributes)
