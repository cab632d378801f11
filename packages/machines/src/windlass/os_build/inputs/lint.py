"""Finds what is wrong with the user's part of a Containerfile before anything is built, with line numbers.

    lint_user_part("USER core\\nRUNN make\\n")     # (Finding(2, "unknown Dockerfile instruction: RUNN"),)

The rules and texts are the operator's; line numbers are ours. It is not a parser: what a builder could accept is never
wrong. So heredocs are skipped, a text of comments only is right, and one without FROM continues the last stage.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

_PATHS: Final = "source and destination paths"
_REQUIRED: Final[Mapping[str, str]] = {
    "ADD": _PATHS,
    "ARG": "a name",
    "CMD": "a command",
    "COPY": _PATHS,
    "ENTRYPOINT": "a command",
    "ENV": "a key=value pair",
    "EXPOSE": "a port",
    "FROM": "a base image",
    "HEALTHCHECK": "NONE or a command",
    "LABEL": "a key=value pair",
    "MAINTAINER": "a name",
    "ONBUILD": "an instruction",
    "RUN": "a command",
    "SHELL": "a command in JSON form",
    "STOPSIGNAL": "a signal",
    "USER": "a user",
    "VOLUME": "a directory path",
    "WORKDIR": "a directory path",
}
"""What each instruction needs."""
_DIRECTIVE: Final = re.compile(r"\s*#\s*([a-zA-Z]+)\s*=\s*(\S+)\s*")
_CONTINUED: Final = re.compile(r"\\[ \t]*$")
_FLAGS: Final = re.compile(r"(--\S+\s*)*")
_HEREDOC: Final = re.compile(r"(?:^|\s)\d*<<(-?)(['\"]?)([^\s<'\"]+)\2(?=\s|$)")


class Finding(Struct, frozen=True):
    """Something wrong with the instruction that begins in this line, counted from 1."""

    line: int
    text: str


def lint_user_part(text: str) -> tuple[Finding, ...]:
    """What is wrong with a text that another Containerfile ends with."""
    found = list(_wrong(text))
    line, escape = _directives(text).get("escape", (0, "\\"))
    if escape != "\\":
        what = "the directive `escape` has no effect, because this text does not begin the Containerfile: use \\"
        found.insert(0, Finding(line, what))
    return tuple(found)


def _wrong(text: str) -> Iterator[Finding]:
    for line, word, rest in _instructions(text):
        arguments = _FLAGS.sub("", rest, count=1).strip()
        if word not in _REQUIRED:
            yield Finding(line, f"unknown Dockerfile instruction: {word[:40]}")
        elif not arguments or (_REQUIRED[word] == _PATHS and not _has_paths(arguments)):
            yield Finding(line, f"{word} instruction requires {_REQUIRED[word]}")
        elif word in ("ENV", "LABEL") and "=" not in arguments:
            yield Finding(line, f"{word} instruction must use key=value form")


def _has_paths(arguments: str) -> bool:
    return arguments.startswith("[") or len(arguments.split()) > 1


def _instructions(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, instruction in capitals and arguments, with continuation lines joined. An open heredoc ends the text."""
    lines = enumerate(text.replace("\r\n", "\n").split("\n"), 1)
    for number, line in lines:
        if _is_comment(line):
            continue
        parts = [line]
        while _CONTINUED.search(parts[-1]):
            parts[-1] = _CONTINUED.sub("", parts[-1])
            # Comments and empty lines do not end an instruction.
            parts.append(next((line for _, line in lines if not _is_comment(line)), ""))
        word, _, rest = "".join(parts).strip().replace("\t", " ").partition(" ")
        if word:
            yield number, word.upper(), rest.strip()
        if word.upper() in ("RUN", "COPY", "ADD"):
            for dash, _, end in _HEREDOC.findall(rest):
                for _, line in lines:
                    if (line.lstrip("\t") if dash else line) == end:
                        break


def _is_comment(line: str) -> bool:
    return line.lstrip()[:1] in ("", "#")


def _directives(text: str) -> dict[str, tuple[int, str]]:
    """The parser directives at the very beginning, with their lines."""
    found = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not (match := _DIRECTIVE.fullmatch(line)):
            break
        found[match[1].lower()] = (number, match[2])
    return found
