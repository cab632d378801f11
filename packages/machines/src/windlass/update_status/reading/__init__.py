"""Reads the sources of a report: from a cluster, or from files.

| module | what it reads |
|---|---|
| `live` | a cluster, with the requests of `oc adm upgrade status` |
| `mock` | the files of `--mock-clusterversion` |
| `dump` | must-gathers, other dumps and files |
| `alerts` | the answer of Prometheus |
| `workload` | what can hold the drains of nodes |
| `objects` | typed objects from trees of YAML, and their times |
| `building` | the sources, of the objects that any of these read |
| `clock` | the moment at which files are reported |
"""

from typing import Final

from msgspec import Struct

from windlass.update_status.sources import Sources
from windlass.update_status.times import Moment

NO_CLUSTER_VERSION: Final = (
    "no cluster version information available - you must be connected to an OpenShift version 4 server to fetch the "
    "current version"
)
"""The text of the Problem that there is no ClusterVersion `version`."""

HOSTED: Final = (
    "this cluster has a hosted control plane, whose update is not supported: ask the cluster that hosts it, "
    "with `oc get hostedclusters,nodepools -A`"
)
"""The text of the Problem that the control plane is in another cluster."""


class Reading(Struct, frozen=True, kw_only=True):
    """The sources, and the moment that they tell of. `wall`: what ages of conditions of nodes are measured against."""

    sources: Sources
    now: Moment
    wall: Moment
