"""Machines and MachineSets in files, converted without a cluster.

    documents = [one for path in paths for one in read_path(path)]
    for outcome in convert_to_machine_api(documents):
        print(outcome.object, outcome.results or outcome.errors)

| module | holds |
|---|---|
| `reading` | files and streams, read into documents |
| `pairing` | which infrastructure machine and cluster belong to a Machine |
| `gathered` | which files of a must-gather concern machines |
| `to_machine_api`, `to_cluster_api` | from documents to Machines and MachineSets |
"""

from windlass.machine_sync.documents.outcome import Outcome
from windlass.machine_sync.documents.reading import Document, Undecodable, Unreadable, read, read_path, read_stream
from windlass.machine_sync.documents.to_cluster_api import convert_to_cluster_api
from windlass.machine_sync.documents.to_machine_api import convert_to_machine_api

__all__ = [
    "Document",
    "Outcome",
    "Undecodable",
    "Unreadable",
    "convert_to_cluster_api",
    "convert_to_machine_api",
    "read",
    "read_path",
    "read_stream",
]
