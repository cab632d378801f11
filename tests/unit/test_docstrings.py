"""Docstrings can be read once: they name their nouns instead of pointing at them with pronouns."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.house import ROOT, SOURCES

PRONOUN = re.compile(
    "its?|itself|they|them|theirs?|themselves|this|that|these|those|ones?|which|who|whom|whose|what"
    "|(what|who|which)ever|(no|some|any|every)(body|thing)"
)
MOST = 0.30
"""The greatest share of pronouns among the words of a sentence."""
SHORTEST = 6
"""Words; in a shorter sentence a pronoun stands beside its noun."""


def docstrings() -> Iterator[tuple[str, str]]:
    """The place and the text of each string that documents something, also of those below attributes.

    Not those of `windlass.api`: they are the descriptions in CRDs, and quote upstream's.
    """
    for sources in SOURCES:
        for file in sorted(sources.rglob("*.py")):
            if "api" in file.relative_to(sources).parts[1:2]:
                continue
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                match node:
                    case ast.Expr(value=ast.Constant(value=str() as text)):
                        yield f"{file.relative_to(ROOT)}:{node.lineno}", text


def sentences(text: str) -> Iterator[str]:
    """The sentences of a docstring, without its tables."""
    for paragraph in re.split(r"\n\s*\n", text):
        prose = " ".join(line.strip() for line in paragraph.splitlines() if not line.lstrip().startswith("|"))
        yield from re.split(r"(?<=[.?!])\s+", prose)


def share_of_pronouns(sentence: str) -> float:
    """Code in backticks is one word. `so that` is a conjunction. A short sentence has none."""
    plain = re.sub(r"`[^`]*`", "code", sentence.lower()).replace("so that", "so")
    words = re.findall(r"[a-z][a-z'-]*", plain)
    return sum(PRONOUN.fullmatch(word) is not None for word in words) / len(words) if len(words) >= SHORTEST else 0.0


def test_no_sentence_of_a_docstring_is_mostly_pronouns() -> None:
    found = [
        f"{place}: {sentence}"
        for place, text in docstrings()
        for sentence in sentences(text)
        if share_of_pronouns(sentence) > MOST
    ]
    assert not found, "name the nouns:\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("sentence", "is_clear"),
    [
        ("Those that lead to a port of it are shown below that.", False),
        ("A floating IP of one of the cluster's ports is shown below the port.", True),
        ("An index lists what it knows, so that nobody has to ask the server.", True),
        ("What it has.", True),
    ],
)
def test_a_sentence_is_judged_by_its_share_of_pronouns(sentence: str, is_clear: bool) -> None:
    assert (share_of_pronouns(sentence) <= MOST) is is_clear


def test_docstrings_of_attributes_and_second_sentences_are_read_too() -> None:
    assert list(sentences("First one.\nGoes on? Yes.\n\n| a | table |\n| of it | that |")) == [
        "First one.",
        "Goes on?",
        "Yes.",
        "",
    ]
    assert len(list(docstrings())) > 3000
