"""Several inputs in layers: what a later one holds overrides what an earlier one does.

Whoever names a directory and then a file with a change wants the change, as with the files of other tools. Within one
input, as in a must-gather that has an object twice, no order was meant by anybody.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from msgspec import structs

from windlass.capability.documents.gathered import Interest
from windlass.capability.documents.reading import Document, UnreadableInput, read_path, read_stream

STDIN = "-"


def read_inputs(inputs: Sequence[str], *, stdin: BinaryIO, interest: Interest) -> tuple[list[Document], list[str]]:
    """The documents of files, directories and (`-`) standard input, and what is wrong with those that are unreadable.

    `layer` of a document counts the inputs from 0. `interest`: what is read of a must-gather.
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
