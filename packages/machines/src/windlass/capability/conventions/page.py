"""Lays out pages about one object: headings, facts and indented lines. `Table` makes lists of conditions and Events."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import click

from windlass.kube.foreign import harmless

INDENT: Final = "  "


def heading(title: str, rest: str = "", *, colour: bool) -> tuple[str, str]:
    """A blank line, and the title of a part; `rest` is the whole part if one line says it."""
    bold = click.style(title, bold=True) if colour else title
    return "", f"{bold}: {rest}" if rest else f"{bold}:"


def facts(facts: Mapping[str, str]) -> Iterator[str]:
    """One line for each that is not empty."""
    known = {name: value for name, value in facts.items() if value}
    width = max(map(len, known), default=0) + 1
    return (f"{name + ':':<{width}}  {harmless(value)}" for name, value in known.items())


def indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"{INDENT}{line}" for line in lines)
