"""Whether the API server would take a value: by the constraints that its type declares."""

import re

import msgspec
from msgspec import Struct

from windlass.kube import decoding

# Python's `$` also matches before a final newline; the API server's does not.
_ENDS_A_LINE = re.compile(rb'"(?:name|namespace|group|resource|version|reference)":"[^"]*\\n"')


def trouble(value: Struct) -> str:
    """Why the API server would refuse it, or ""."""
    try:
        encoded = msgspec.json.encode(value)
        decoding.decode(encoded, type(value))
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        return str(error)
    return "A name ends with a newline" if _ENDS_A_LINE.search(encoded) else ""


def holds(value: Struct) -> bool:
    return not trouble(value)
