"""Machines and MachineSets in files, converted without a cluster.

    documents = [one for path in paths for one in read_path(path)]
    for outcome in convert_to_machine_api(documents):
        print(outcome.object, outcome.results or outcome.errors)

| module | holds |
|---|---|
| `reading` | files and streams, read into documents |
| `inputs` | several of them, of which a later one overrides an earlier one |
| `pairing` | which infrastructure machine and cluster belong to a Machine |
| `unknown` | fields that a kind does not have |
| `gathered` | which files of a must-gather concern machines |
| `to_machine_api`, `to_cluster_api` | from documents to Machines and MachineSets |
"""

from windlass.machine_sync.documents.inputs import STDIN, read_inputs
from windlass.machine_sync.documents.outcome import Outcome
from windlass.machine_sync.documents.reading import Document, Undecodable, Unreadable, read, read_path, read_stream
from windlass.machine_sync.documents.to_cluster_api import convert_to_cluster_api
from windlass.machine_sync.documents.to_machine_api import convert_to_machine_api

__all__ = [
    "STDIN",
    "Document",
    "Outcome",
    "Undecodable",
    "Unreadable",
    "convert_to_cluster_api",
    "convert_to_machine_api",
    "read",
    "read_inputs",
    "read_path",
    "read_stream",
]
