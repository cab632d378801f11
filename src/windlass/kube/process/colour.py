"""Whether colour is welcome where text goes."""

import os
from collections.abc import Mapping
from typing import TextIO


def colourful(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether colour is welcome: on a terminal, unless NO_COLOR (https://no-color.org) or TERM=dumb says otherwise."""
    return stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
