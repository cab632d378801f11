"""Machines and MachineSets in files, converted without a cluster.

    documents, _ = read_inputs(paths, stdin=sys.stdin.buffer, interest=MACHINES)
    for outcome in convert_to_machine_api(documents):
        print(outcome.object, outcome.results or outcome.errors)

| module | holds |
|---|---|
| `interest` | which files of a must-gather concern machines |
| `pairing` | which infra machine and cluster belong to a Machine |
| `to_machine_api`, `to_cluster_api` | from documents to Machines and MachineSets |
"""

from windlass.machine_sync.documents.interest import MACHINES
from windlass.machine_sync.documents.to_cluster_api import convert_to_cluster_api
from windlass.machine_sync.documents.to_machine_api import convert_to_machine_api

__all__ = ["MACHINES", "convert_to_cluster_api", "convert_to_machine_api"]
