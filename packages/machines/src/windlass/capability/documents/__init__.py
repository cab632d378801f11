"""Reads Kubernetes objects from files, without a cluster.

    documents, problems = read_inputs(["backup.yaml", "must-gather/", "-"], stdin=sys.stdin.buffer, interest=MACHINES)
    machine = documents[0].decode(capi.Machine)

| module | holds |
|---|---|
| `reading` | files and streams, read into documents |
| `inputs` | several of them, of which a later one overrides an earlier one |
| `must_gather` | selects the files of a must-gather that a capability needs |
| `outcome` | what came of the conversion of one of them |
| `unknown` | fields that a kind does not have |
| `yaml_dialect` | the YAML of kubectl, within the limits of `windlass.kube.yaml_composer` |
"""

from windlass.capability.documents.inputs import STDIN, read_inputs
from windlass.capability.documents.must_gather import Interest
from windlass.capability.documents.outcome import ConversionOutcome
from windlass.capability.documents.reading import Document, Undecodable, UnreadableInput, read, read_path, read_stream

__all__ = [
    "STDIN",
    "ConversionOutcome",
    "Document",
    "Interest",
    "Undecodable",
    "UnreadableInput",
    "read",
    "read_inputs",
    "read_path",
    "read_stream",
]
