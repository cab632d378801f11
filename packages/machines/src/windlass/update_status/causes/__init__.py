"""Why an update waits: one cause for each thing that somebody can change, and all that waits for it.

    explain(report, sources, now=now) -> the report with its causes

| module | what it finds |
|---|---|
| `drains` | what holds the drain of a node |
| `holds` | how each of that is told; `names`: of objects in texts; `conditions` |
| `budgets` | whether a PodDisruptionBudget forbids an eviction, and why it does |
| `starts` | why a Pod is not ready: it cannot pull an image, or cannot start |
| `waits` | the nodes in trouble that operators wait for |
| `pauses` | pools that somebody paused |
| `symptoms` | which cause an insight is a symptom of |

All of it is pure, and none of it is `oc`'s, whose text has no causes.
"""

from msgspec import structs

from windlass.update_status.causes.drains import drain_causes, unread_drains
from windlass.update_status.causes.pauses import pause_causes
from windlass.update_status.causes.symptoms import as_bad_as_symptoms
from windlass.update_status.causes.waits import node_causes, with_operators
from windlass.update_status.report import Report
from windlass.update_status.sources import Sources
from windlass.update_status.times import Moment

__all__ = ["explain"]


def explain(report: Report, sources: Sources, *, now: Moment) -> Report:
    """`report` with its causes, those of nodes before pauses. It has none while nothing is updated."""
    if not report.updating:
        return report
    held = with_operators(drain_causes(report, sources.workload, now=now), report)
    found = (*held, *node_causes(report, held, now=now), *pause_causes(report))
    gaps = (*report.gaps, *unread_drains(sources.workload))
    return as_bad_as_symptoms(structs.replace(report, causes=found, gaps=gaps))
