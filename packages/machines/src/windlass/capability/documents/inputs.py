"""Reads several inputs in layers: a later input overrides an earlier one.

A user who names a directory and then a file with a change wants the change, as with other tools. Within one input,
such as a must-gather that has an object twice, the order means nothing.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from msgspec import structs

from windlass.capability.documents.must_gather import Interest
from windlass.capability.documents.reading import Document, UnreadableInput, read_path, read_stream

STDIN = "-"


def read_inputs(inputs: Sequence[str], *, stdin: BinaryIO, interest: Interest) -> tuple[list[Document], list[str]]:
    """The documents of files, directories and (`-`) standard input, and the problems of unreadable ones.

    `layer` of a document counts the inputs from 0. `interest`: the part of a must-gather that is read.
    """
    documents: list[Document] = []
    problems: list[str] = []
    for layer, one in enumerate(inputs):
        try:
            found = list(read_stream(stdin) if one == STDIN else read_path(Path(one), interest=interest))
        except UnreadableInput as problem:
            problems.append(str(problem))
        else:
            documents += [structs.replace(document, layer=layer) for document in found] if layer else found
    return documents, problems
