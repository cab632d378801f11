"""The forms of `-o`: what a command prints for people, and as JSON or YAML for programs.

JSON and YAML are shown on terminals too, so what a terminal would obey is escaped as they escape it.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from windlass.kube.foreign import json_text

F = TypeVar("F", bound=Callable[..., Any])


def forms(*names: str, text: str = "How to print it.") -> Callable[[F], F]:
    """Decorator: the option `-o` with these forms, as the argument `form`; the first is the default."""
    return click.option(
        "-o", "--output", "form", type=click.Choice(names), default=names[0], show_default=True, help=text
    )


def document(form: str, value: Any) -> str:
    """`value` as a document of its own, in whole lines. `form`: json or yaml."""
    if form == "json":
        return json_text(value, indent=2) + "\n"
    from windlass.capability.documents.yaml_dialect import dump_all  # slow to import

    return dump_all([value])


def items(form: str, values: Iterable[Any]) -> str:
    """The values as the document that a list prints, without the end of its last line."""
    return document(form, {"items": [*values]}).rstrip("\n")


def one_of_many(form: str, value: Any) -> str:
    """`value` as a watch prints it, without the end of its last line: a line of JSON, or YAML after a separator."""
    if form == "json":
        return json_text(value)
    return f"---\n{document(form, value)}".rstrip("\n")
