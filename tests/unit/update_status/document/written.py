"""Finds insights in a status that was written."""

from windlass.api.update import ControlPlaneEntry, UpdateStatusStatus, WorkerPoolEntry
from windlass.api.update_insights import HealthInsight, NodeInsight


def entries(status: UpdateStatusStatus) -> dict[str, ControlPlaneEntry | WorkerPoolEntry]:
    assert status.control_plane is not None
    found: list[ControlPlaneEntry | WorkerPoolEntry] = []
    for informer in status.control_plane.informers:
        found += informer.insights
    for pool in status.worker_pools:
        for source in pool.informers:
            found += source.insights
    return {entry.uid: entry for entry in found}


def the_node(status: UpdateStatusStatus) -> NodeInsight:
    (found,) = [entry.insight.node for entry in entries(status).values() if entry.insight.node]
    return found


def the_health(status: UpdateStatusStatus) -> HealthInsight:
    (found,) = [entry.insight.health for entry in entries(status).values() if entry.insight.health]
    return found
