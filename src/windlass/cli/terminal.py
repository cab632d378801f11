"""Who is at the other end: a person at a terminal, or a program."""

import os
import sys
from collections.abc import Mapping
from typing import TextIO

import click


def colourful(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether colour is welcome: on a terminal, unless NO_COLOR (https://no-color.org) or TERM=dumb says otherwise."""
    return stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def can_ask() -> bool:
    """Whether there is a person who can answer a question."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def paint(text: str, colour: str | None, *, on: bool) -> str:
    """`text` in `colour` (a name that click knows) if colours are `on`."""
    return click.style(text, fg=colour) if on and colour else text
