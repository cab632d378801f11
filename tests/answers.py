"""Compares what a program printed with what a page says it prints.

| on the page | what the program may print |
|---|---|
| a line `...` | any lines, or none |
| `...` in a line | any text |
| an age, such as `4s` or `2m` | any age |
| `(265 more characters)` | any number |
| a digest, or its first digits | any other, but the same one wherever the page has the same |
| several spaces | as many as the table needs |
| anything else | the same |
"""

import re
from collections.abc import Sequence
from typing import Final

_ELLIPSIS: Final = "..."
_VARIES: Final = re.compile(
    r"(?P<any>\.\.\.)|(?P<digest>\b(?=[0-9a-f]*\d)[0-9a-f]{8,64}\b)|(?P<age>\b(?:\d+(?:ms|[smhd]))+\b)"
    r"|(?P<more>\d+(?= more characters))|(?P<space>\s+)"
)
_DIGITS: Final = 8
"""Of a digest, which tell it from others."""


class Answers:
    """The answers of one session. Digests that the page tells apart have to differ."""

    def __init__(self) -> None:
        self._digests: dict[str, str] = {}

    def differ(self, page: Sequence[str], said: Sequence[str]) -> str:
        """Where what was said differs from the page; empty if it does not."""
        groups, said = _groups(_stripped(page)), _stripped(said)
        at = 0
        known = dict(self._digests)
        for number, group in enumerate(groups):
            last = number == len(groups) - 1
            starts = [at] if number == 0 else [len(said) - len(group)] if last else range(at, len(said) + 1)
            found = next((start for start in starts if start >= at and self._fits(group, said[start:], known)), None)
            if found is None:
                return f"nothing that was printed is like {group}" if number else f"the beginning is not {group}"
            at = found + len(group)
        if len(groups) == 1 and at != len(said):
            return f"the page does not have {said[at:]}"
        self._digests = known
        return ""

    def _fits(self, group: Sequence[str], said: Sequence[str], known: dict[str, str]) -> bool:
        """`known` gets the digests of lines that fit."""
        if len(said) < len(group):
            return False
        new = dict(known)
        for line, other in zip(group, said, strict=False):
            names: list[str] = []
            match = re.fullmatch(_pattern(line, names), other)
            if match is None:
                return False
            for name, digest in zip(names, match.groups(), strict=True):
                if new.setdefault(name, digest[:_DIGITS]) != digest[:_DIGITS]:
                    return False
        if len({*new.values()}) != len(new):
            return False
        known |= new
        return True


def _stripped(lines: Sequence[str]) -> list[str]:
    """Without spaces at the ends of lines, and without empty lines at the end."""
    return "\n".join(line.rstrip() for line in lines).rstrip("\n").split("\n")


def _groups(page: Sequence[str]) -> list[list[str]]:
    """The lines between the lines that stand for any others."""
    found: list[list[str]] = [[]]
    for line in page:
        if line.strip() == _ELLIPSIS:
            found.append([])
        else:
            found[-1].append(line)
    return found


def _pattern(line: str, names: list[str]) -> str:
    """A pattern with a group for each digest; `names` gets their first digits."""

    def of(match: re.Match[str]) -> str:
        match match.lastgroup:
            case "any":
                return ".*"
            case "digest":
                names.append(match[0][:_DIGITS])
                return f"([0-9a-f]{{{len(match[0])}}})"
            case "age":
                return r"(?:\d+(?:ms|[smhd]))+"
            case "more":
                return r"\d+"
        return r"\s+"

    at, found = 0, ""
    for match in _VARIES.finditer(line):
        found += re.escape(line[at : match.start()]) + of(match)
        at = match.end()
    return found + re.escape(line[at:])
