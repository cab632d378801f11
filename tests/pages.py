"""The commands that pages tell people to type: lines of blocks and code in sentences, continued lines joined."""

import re
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
