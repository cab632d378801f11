"""Reads Kubernetes objects from files, without a cluster.

    documents, problems = read_inputs(["backup.yaml", "must-gather/", "-"], stdin=sys.stdin.buffer, interest=MACHINES)
    machine = documents[0].decode(capi.Machine)

| module | holds |
|---|---|
| `archive` | tar archives, unpacked while they are read |
| `reading` | files and streams, read into documents |
| `must_gather` | selects the files of a must-gather that a capability needs |
| `insights` | finds objects in an archive of the Insights Operator |
| `unknown` | fields that a kind does not have |
| `yaml_dialect` | the YAML of kubectl, within the limits of `windlass.kube.yaml_composer` |

`read_inputs` reads several of them, of which a later one overrides an earlier one.
"""

from collections.abc import Sequence
from typing import Any, BinaryIO

from msgspec import Struct, structs

from windlass.capability.documents.archive import STDIN, Input, open_inputs
from windlass.capability.documents.must_gather import Interest
from windlass.capability.documents.reading import Document, Undecodable, UnreadableInput, read, read_path, read_stream

__all__ = [
    "STDIN",
    "ConversionOutcome",
    "Document",
    "Input",
    "Interest",
    "Undecodable",
    "UnreadableInput",
    "open_inputs",
    "read",
    "read_inputs",
    "read_opened",
    "read_path",
    "read_stream",
]


# Reads several inputs in layers: a later input overrides an earlier one.
#
# A user who names a directory and then a file with a change wants the change, as with other tools. Within one input,
# such as a must-gather that has an object twice, the order means nothing.


def read_inputs(inputs: Sequence[str], *, stdin: BinaryIO, interest: Interest) -> tuple[list[Document], list[str]]:
    """The documents of files, directories, tar archives and (`-`) standard input, and the problems of unreadable ones.

    `layer` of a document counts the inputs from 0. `interest`: the part of a must-gather that is read.
    """
    with open_inputs(inputs) as opened:
        return read_opened(opened, stdin=stdin, interest=interest)


def read_opened(inputs: Sequence[Input], *, stdin: BinaryIO, interest: Interest) -> tuple[list[Document], list[str]]:
    """The same of inputs that are open."""
    documents: list[Document] = []
    problems: list[str] = []
    for layer, one in enumerate(inputs):
        if one.problem:
            problems.append(one.problem)
            continue
        try:
            reading = (
                read_stream(stdin) if one.path is None else read_path(one.path, interest=interest, shown=one.shown)
            )
            found = list(reading)
        except UnreadableInput as problem:
            problems.append(str(problem))
        else:
            documents += [structs.replace(document, layer=layer) for document in found] if layer else found
    return documents, problems


# The outcome of the conversion of one object among documents.


class ConversionOutcome(Struct, frozen=True):
    """The outcome for one object; `object` is `<kind>/<name>`.

    Either there are `results` or there are `errors`. A result is an object of one of our types, or a tree. `notes` are
    remarks about how the documents were put together.
    """

    object: str
    results: tuple[Any, ...] = ()
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
