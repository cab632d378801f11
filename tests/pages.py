"""The commands that pages tell people to type: lines of blocks and code in sentences, continued lines joined.

`blocks` has them as people type them: a block whole, with its loops and functions, and a command in a sentence alone.
`session` has each command with what the page answers: `tests.shell` types it, `tests.answers` compares.
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


class Turn(Struct, frozen=True):
    """A command after a prompt, its continued lines with it, and the lines that the page answers."""

    command: str
    answer: tuple[str, ...] = ()


def session(page: Path, heading: str) -> list[Turn]:
    """All that is typed below a heading, in the order of the page."""
    text = page.read_text(encoding="utf-8")
    begin = text.index(f"\n{heading}\n")
    end = _HEADING.search(text, begin + len(heading) + 1)
    below = text[begin : end.start() if end else None]
    return [turn for match in _BLOCK.finditer(below) for turn in _turns(textwrap.dedent(match[0]).strip("\n"))]


def _turns(block: str) -> list[Turn]:
    """Of a block, what comes after each prompt; none if the block is no session."""
    found: list[Turn] = []
    for line in block.splitlines():
        last = found[-1] if found else Turn("")
        if line.startswith(_PROMPT):
            found.append(Turn(line.removeprefix(_PROMPT)))
        elif last.command.endswith("\\"):
            found[-1] = Turn(f"{last.command}\n{line}")
        elif found:
            found[-1] = Turn(last.command, (*last.answer, line.rstrip()))
    return found


def _asked(block: str) -> str:
    """Of a session, what was typed after each prompt."""
    return "\n".join(turn.command for turn in _turns(block)) if block.startswith(_PROMPT) else block
