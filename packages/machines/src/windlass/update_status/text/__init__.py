"""Renders a report as text for terminals.

`render` prints to the byte what `oc adm upgrade status` prints of the same cluster, except that what a terminal would
obey is escaped; `wide.render_wide` leaves nothing out.

| module | what it renders |
|---|---|
| `control_plane` | the update of the operators |
| `nodes` | pools and their nodes |
| `health` | insights |
| `table` | columns |
| `wide`, `safe` | the report in full, without control characters |
"""

from enum import StrEnum

from windlass.kube.foreign import harmless_lines
from windlass.update_status.constants import MASTER
from windlass.update_status.report import Report
from windlass.update_status.text.control_plane import control_plane, updating_operators
from windlass.update_status.text.health import health, health_in_detail
from windlass.update_status.text.nodes import control_plane_nodes, pool_nodes, worker_pools
from windlass.update_status.times import Moment

NOT_UPDATING = "The cluster is not updating.\n"


class Details(StrEnum):
    """The part of the report that is shown in full."""

    NONE = "none"
    ALL = "all"
    NODES = "nodes"
    HEALTH = "health"
    OPERATORS = "operators"


def render(report: Report, *, now: Moment, details: Details) -> str:
    """The report as it is at `now`, in whole lines."""
    if not report.updating_by_oc:
        return NOT_UPDATING
    every_node = details in (Details.ALL, Details.NODES)
    sections = [control_plane(report.control_plane, now)]
    if details in (Details.ALL, Details.OPERATORS):
        sections.append(updating_operators(report.control_plane, now))
    # Files may have two pools of that name.
    masters = [pool for pool in report.pools if pool.name == MASTER][-1:]
    sections += [control_plane_nodes(pool, every_node=every_node) for pool in masters]
    workers = [pool for pool in report.pools if pool.name != MASTER]
    sections.append(worker_pools(workers))
    sections += [pool_nodes(pool, every_node=every_node) for pool in workers]
    in_detail = details in (Details.ALL, Details.HEALTH)
    sections.append(health_in_detail(report, now) if in_detail else health(report, now))
    first = f"{report.alerts}\n" if report.alerts else ""
    return harmless_lines(first + "\n".join(section for section in sections if section))
