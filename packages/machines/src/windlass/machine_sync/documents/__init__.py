"""Machines and MachineSets in files, converted without a cluster.

    documents, _ = read_inputs(paths, stdin=sys.stdin.buffer, interest=MACHINES)
    for outcome in convert_to_machine_api(documents):
        print(outcome.object, outcome.results or outcome.errors)

| module | holds |
|---|---|
| `pairing` | which infra machine and cluster belong to a Machine |
| `to_machine_api`, `to_cluster_api` | from documents to Machines and MachineSets |
"""

from typing import Final

from windlass.api import capi, config, mapi
from windlass.capability.documents import Interest
from windlass.machine_sync.documents.to_cluster_api import convert_to_cluster_api
from windlass.machine_sync.documents.to_machine_api import convert_to_machine_api
from windlass.machine_sync.platforms import PLATFORMS

__all__ = ["MACHINES", "convert_to_cluster_api", "convert_to_machine_api"]


# The parts of a must-gather that concern machines: Machines and MachineSets of both APIs, and what these refer to.

MACHINES: Final = Interest(
    groups=frozenset(
        {capi.Machine.RESOURCE.group, mapi.Machine.RESOURCE.group}
        | {platform.infra_machine.RESOURCE.group for platform in PLATFORMS.values()}
    ),
    cluster_scoped=(config.Infrastructure.RESOURCE,),
)
