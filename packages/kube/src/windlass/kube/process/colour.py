"""Decides whether text for a stream may be coloured."""

import os
from collections.abc import Mapping
from typing import TextIO


def colourful(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether to use colour: on a terminal, unless NO_COLOR (https://no-color.org) or TERM=dumb forbids it."""
    return stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
