"""Compares versions of releases by Semantic Versioning 2.0.0: 4.16.0-ec.2 is older than 4.16.0-rc.0 and 4.16.0."""

import re
from typing import Final, TypeAlias

_VERSION: Final = re.compile(r"(\d{1,99})\.(\d{1,99})\.(\d{1,99})(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?", re.ASCII)

_Part: TypeAlias = tuple[bool, int, str]
_Precedence: TypeAlias = tuple[int, int, int, bool, tuple[_Part, ...]]


def is_older(version: str, than: str) -> bool:
    """Whether `version` is older than the other. False if one of them is not a version."""
    one, other = _precedence(version), _precedence(than)
    return one is not None and other is not None and one < other


def _precedence(version: str) -> _Precedence | None:
    found = _VERSION.fullmatch(version)
    if found is None:
        return None
    major, minor, patch, pre_release = found.groups()
    parts = tuple(map(_part, pre_release.split("."))) if pre_release else ()
    return int(major), int(minor), int(patch), not parts, parts


def _part(text: str) -> _Part:
    """Numbers come before words; what is too long for a number is a word."""
    return (False, int(text), "") if text.isdecimal() and len(text) < 100 else (True, 0, text)
