"""Puts texts from a cluster into tables so that they can neither break the table nor command the terminal.

A message may have several lines, TABs, escape sequences, or characters that turn the direction of writing.
"""

from collections.abc import Iterable, Sequence
from itertools import zip_longest

from windlass.kube.foreign import harmless
from windlass.update_status.text.table import table


def safe_lines(text: str) -> list[str]:
    r"""The lines of a text; characters that are not printed are escaped. Empty lines at the end are left out.

    >>> safe_lines("one\r\ntwo\tthree\x1b[0m\n")
    ['one', 'two\\tthree\\x1b[0m']
    """
    if text.isprintable():
        return [text]
    return [harmless(line) for line in text.replace("\r\n", "\n").rstrip("\n").split("\n")]


def safe_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose cells may have several lines: each continues in its own column."""
    lines = [header]
    for row in rows:
        lines += zip_longest(*map(safe_lines, row), fillvalue="")
    return "".join(line.rstrip(" ") + "\n" for line in table(*lines).splitlines())
