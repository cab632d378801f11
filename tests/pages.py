"""The commands that pages tell people to type: lines of blocks and code in sentences, continued lines joined.

`blocks` has them as people type them: a block whole, with its loops and functions, and a command in a sentence alone.
"""

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))


class Typed(Struct, frozen=True):
    """A command without prompt and comment. `block`: a line of a block; `before`: all of the page above it."""

    page: str
    command: str
    comment: str
    block: bool
    before: str

    def __str__(self) -> str:
        return f"{self.page}: {self.command}"


def typed(page: Path) -> Iterator[Typed]:
    text = page.read_text(encoding="utf-8")
    for match in re.finditer(r"^ {4,}(?:\$ )?((?:.*\\\n)*.*)$|(?<!`)`([^`\n]+)`(?!`)", text, re.MULTILINE):
        line = " ".join((match[1] or match[2]).replace("\\\n", " ").split())
        command, _, comment = line.partition(" # ")
        yield Typed(page.name, command.strip(), comment.strip(), match[1] is not None, text[: match.start()])


_BLOCK = re.compile(r"(?:^ {4,}.*\n|^\n(?= {4}))+", re.MULTILINE)
_HEADING = re.compile(r"^##+ .*", re.MULTILINE)
_IN_SENTENCE = re.compile(r"(?<!`)`((?:[^`\n]|\n(?!\n))+)`(?!`)")
_PROMPT = "$ "


class Block(Struct, frozen=True):
    """A block below `heading`, without prompts and what was answered; or a command in a sentence (`block` is False)."""

    page: str
    heading: str
    script: str
    block: bool

    def __str__(self) -> str:
        return f"{self.page}, {self.heading}: {self.script}"


def blocks(page: Path) -> list[Block]:
    """In the order of the page."""
    text = page.read_text(encoding="utf-8")
    found = [(match.start(), _asked(textwrap.dedent(match[0]).strip()), True) for match in _BLOCK.finditer(text)]
    sentences = _BLOCK.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    found += [(match.start(), " ".join(match[1].split()), False) for match in _IN_SENTENCE.finditer(sentences)]
    headings = [(match.start(), match[0].lstrip("# ")) for match in _HEADING.finditer(text)]
    return [
        Block(page.name, next((name for start, name in reversed(headings) if start < at), ""), script, block)
        for at, script, block in sorted(found)
    ]


def _asked(block: str) -> str:
    """Of a session, what was typed after each prompt."""
    if not block.startswith(_PROMPT):
        return block
    typed: list[str] = []
    for line in block.splitlines():
        if line.startswith(_PROMPT):
            typed.append(line.removeprefix(_PROMPT))
        elif typed and typed[-1].endswith("\\"):
            typed[-1] += f"\n{line}"
    return "\n".join(typed)
