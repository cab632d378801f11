"""Finds what is wrong with the user's part of a Containerfile before anything is built, with line numbers.

    lint_user_part("USER core\\nRUNN make\\n")     # (Finding(2, "unknown Dockerfile instruction: RUNN"),)

The rules and texts are the operator's; line numbers are ours. It is not a parser: what a builder could accept is never
wrong. So heredocs are skipped, a text of comments only is right, and one without FROM continues the last stage. CMD and
ENTRYPOINT without arguments are right too, although the operator refuses them: buildah takes them for an empty command.
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

CONFIGS: Final = "configs"
"""The stage before the user's part, which has the configuration."""
_PATHS: Final = "source and destination paths"
_REQUIRED: Final[Mapping[str, str]] = {
    "ADD": _PATHS,
    "ARG": "a name",
    "CMD": "",
    "COPY": _PATHS,
    "ENTRYPOINT": "",
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
"""The arguments that an instruction needs; empty: none."""
_DIRECTIVE: Final = re.compile(r"\s*#\s*([a-zA-Z]+)\s*=\s*(\S+)\s*")
_CONTINUED: Final = re.compile(r"\\[ \t]*$")
_BLANKS: Final = re.compile(r"[ \t\v\f\r]+")
_FLAGS: Final = re.compile(r"(--\S+\s*)*")
_HEREDOC: Final = re.compile(r"""(?:^|\s)\d*<<(-?)((?:[^\s<'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+)(?=\s|$)""")
_WITH_HEREDOC: Final = re.compile(r"(ONBUILD\s+)?(RUN|COPY|ADD)\s", re.IGNORECASE)


class Finding(Struct, frozen=True):
    """Something wrong with the instruction that begins in this line, counted from 1."""

    line: int
    text: str


def lint_user_part(text: str) -> tuple[Finding, ...]:
    """What is wrong with a text that another Containerfile ends with."""
    found = list(_wrong(text))
    line, escape = _directives(text).get("escape", (0, "\\"))
    if found and escape != "\\":
        what = "the directive `escape` has no effect, because this text does not begin the Containerfile: use \\"
        found.insert(0, Finding(line, what))
    return tuple(found)


def lint_stages(text: str) -> tuple[Finding, ...]:
    """An image whose last stage does not continue `configs` lacks the configuration, and nodes would boot it."""
    bases: dict[str, str] = {}
    last = 0, CONFIGS
    for line, word, rest in _instructions(text):
        if word != "FROM":
            continue
        base, *name = _FLAGS.sub("", rest, count=1).split()[:3] or [""]
        last = line, _origin(base, bases)
        if len(name) == 2 and name[0].upper() == "AS":
            bases[name[1].lower()] = last[1]
    line, origin = last
    if origin == CONFIGS or "$" in origin:
        return ()
    why = f"the image is that of the last stage, which continues {origin[:200]} and so lacks the pool's configuration"
    return (Finding(line, f"{why}: begin the last stage with FROM {CONFIGS} AS final"),)


def _origin(base: str, bases: Mapping[str, str]) -> str:
    """What a stage continues in the end, by the stages before it."""
    return bases.get(base.lower(), CONFIGS if base.lower() == CONFIGS else base)


def _wrong(text: str) -> Iterator[Finding]:
    for line, word, rest in _instructions(text):
        arguments = _FLAGS.sub("", rest, count=1).strip()
        if word not in _REQUIRED:
            yield Finding(line, f"unknown Dockerfile instruction: {word[:40]}")
        elif (needs := _REQUIRED[word]) and (not arguments or (needs == _PATHS and not _has_paths(arguments))):
            yield Finding(line, f"{word} instruction requires {needs}")
        elif word in ("ENV", "LABEL") and "=" not in arguments and not _BLANKS.search(arguments):
            # Two words are the older form: KEY VALUE.
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
        instruction = "".join(parts).strip()
        word, *rest = _BLANKS.split(instruction, maxsplit=1)
        if word:
            yield number, word.upper(), "".join(rest)
        for dash, end in _HEREDOC.findall(instruction) if _WITH_HEREDOC.match(instruction) else ():
            for _, line in lines:
                if (line.lstrip("\t") if dash else line) == _unquoted(end):
                    break


def _unquoted(word: str) -> str:
    return "".join(shlex.split(word))


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
