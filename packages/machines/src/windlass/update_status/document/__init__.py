"""A report as the status of the UpdateStatus object, and back.

| module | what it does |
|---|---|
| `writing` | `write`: the whole status, with what stood before merged in |
| `sections` | the insights by pool and informer; one that the API server would refuse is quarantined |
| `plane_parts`, `pool_parts`, `health_parts` | each part of a report as the insight of its kind, and back |
| `informed` | what informers of others told, within a budget of its own |
| `uids`, `writer`, `validity` | names, times and texts as the API takes them, and whether it would take them |
| `limits` | what is left out when it is too much |
| `reading` | `read`: the report again; `health_insights`, `informed_of`, `drains_seen` |
"""

from windlass.update_status.document.reading import NothingWritten, drains_seen, health_insights, informed_of, read
from windlass.update_status.document.sections import Settled
from windlass.update_status.document.writing import write

__all__ = ["NothingWritten", "Settled", "drains_seen", "health_insights", "informed_of", "read", "write"]
