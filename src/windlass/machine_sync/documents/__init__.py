"""Cluster API machines in files, converted without a cluster.

    documents = [one for path in paths for one in read_path(path)]
    for outcome in convert_to_machine_api(documents):
        print(outcome.object, outcome.machine or outcome.errors)

| module | holds |
|---|---|
| `reading` | files and streams, read into documents |
| `pairing` | which infrastructure machine and cluster belong to a Machine |
| `yaml_dialect` | YAML as kubectl reads it |
| `conversion` | from documents to Machines |
"""

from windlass.machine_sync.documents.conversion import Outcome, convert_to_machine_api
from windlass.machine_sync.documents.reading import Document, Undecodable, Unreadable, read, read_path, read_stream

__all__ = [
    "Document",
    "Outcome",
    "Undecodable",
    "Unreadable",
    "convert_to_machine_api",
    "read",
    "read_path",
    "read_stream",
]
